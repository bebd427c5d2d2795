"""The feedback store: every run, trial, call, candidate and cost is a row in one SQLite file.

Reads are synchronous and take milliseconds. Writes return once the row is on the disk; those that wait at the
same time share a commit. One that is not to be written `at_once` waits for others, a moment at most or until
`flush`. Any number of processes may read and write one store on one machine.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from loriner.errors import StoreError
from loriner.models.base import ModelReply
from loriner.records import Context, Harness, Rollout, Trial, Usage
from loriner.store.connection import FILE_NAME, connect, is_writable, migrate, migrations, require_store
from loriner.store.contexts import LastContexts, context_fact, find_contexts
from loriner.store.events import Event, event_fact, find_events
from loriner.store.queries import (
    Tally,
    find_harness,
    find_reply,
    find_rollouts,
    find_tallies,
    find_trials,
    find_usage,
)
from loriner.store.reader import Reader
from loriner.store.rows import Part, harness_fact, reply_fact, rollout_fact, trial_fact
from loriner.store.run_lock import HeldElsewhere, Hold, is_held
from loriner.store.runs import (
    KILLED,
    RunRow,
    find_run,
    finish_fact,
    list_below,
    list_runs,
    new_run_id,
    resume_fact,
    silence,
    start_fact,
)
from loriner.store.viewing import Numbered, Viewed, Wanted, count_viewed, find_numbers, find_viewed
from loriner.store.writer import Fact, Writer


class Store:
    """The store of one `--home`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.replies = Replies(self)
        self.reader = Reader(path)
        """For the other modules of this package, which ask in SQL."""
        self._writer: Writer | None = None
        self._holds: dict[str, Hold] = {}
        self._numbers: dict[str, int] = {}
        """Of runs; they never change."""
        self._shown = LastContexts()
        self._closed = False

    @classmethod
    def open(cls, home: Path) -> Store:
        """The store in a folder, which is made if need be; an older store is upgraded.

        Raises:
            StoreError: damaged, of a newer release, not writable, or the disk is full; in words.
        """
        path = home / FILE_NAME
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"making {home} for the store: {error.strerror}: use another --home") from error
        connection = connect(path)
        try:
            migrate(connection, path, migrations())
            return cls(path)
        finally:
            connection.close()

    @classmethod
    def existing(cls, home: Path) -> Store:
        """The store of a folder that has one, to be read: also where it cannot be written.

        Raises:
            ConfigError: the folder has none.
            StoreError: as `open`; or it cannot be written and is of another release.
        """
        require_store(home)
        if is_writable(home):
            return cls.open(home)
        store, known = cls(home / FILE_NAME), len(migrations())
        (found,) = store.reader.rows("SELECT max(version) FROM schema_version")[0]
        if found != known:
            store.close()
            raise StoreError(
                f"{store.path} cannot be written and is of another release (schema {found}, not {known}): "
                "copy it to where it can be upgraded, or use that release"
            )
        return store

    def close(self) -> None:
        """Writes what was submitted and lets go of the file. Safe to call twice."""
        if not self._closed:
            self._closed = True
            self.reader.close()
            if self._writer:  # after the reader: the last writer to go folds SQLite's log into the file
                self._writer.close()
            for run_id in tuple(self._holds):
                self._let_go(run_id)

    def _writing(self) -> Writer:
        if self._closed:
            raise StoreError(f"the store {self.path} is closed: nothing more can be recorded")
        if self._writer is None:
            self._writer = Writer(self.path)
        return self._writer

    async def _record(self, fact: Fact, at_once: bool) -> None:
        writer = self._writing()
        await (writer.record(fact) if at_once else writer.linger(fact))

    def flush(self) -> None:
        """Has everything committed now that is waiting for others."""
        if self._writer is not None:
            self._writer.flush()

    def note(self, run_id: str, kind: str, data: Mapping[str, Any]) -> None:
        """Records that something happened, with the next commit; nobody waits for it."""
        self._writing().linger(event_fact(run_id, kind, data)).add_done_callback(_looked_at)

    def _number(self, run_id: str) -> int:
        if run_id not in self._numbers:
            row = self.reader.row("SELECT n FROM runs WHERE id = ?", (run_id,))
            if row is None:
                return -1
            self._numbers[run_id] = row[0]
        return self._numbers[run_id]

    # Runs. Whoever starts or resumes one holds it until it is finished, or the store or the process ends.

    def start_run(
        self,
        command: str,
        *,
        config: Mapping[str, Any],
        seed: int,
        parent: str | None = None,
        draw: Callable[[], str] = new_run_id,
    ) -> str:
        """The id of a new run, e.g. `20261129-182403-k3f9x7mb`; ids sort by time.

        `draw` is asked again while the id that it gave is recorded here or another process holds it.
        """
        while True:
            run_id = draw()
            try:
                self._take(run_id)
            except HeldElsewhere:
                continue
            if self._writing().record_now(start_fact(run_id, command, config, seed, parent)):
                return run_id
            self._let_go(run_id)

    def resume_run(self, run_id: str) -> RunRow:
        """The run, which now runs again in a new session.

        Raises:
            ConfigError: there is no such run, and the nearest; or another process works on it.
        """
        run = self.run(run_id)
        self._take(run.id)
        self._writing().record_now(resume_fact(run.id))
        return self.run(run.id)

    def finish_run(self, run_id: str, status: str, summary: Mapping[str, Any]) -> None:
        """Records how a run ended: `done`, `failed`, `interrupted` or `budget`."""
        self._writing().record_now(finish_fact(run_id, status, summary))
        self._let_go(run_id)

    def _take(self, run_id: str) -> None:
        self._holds[run_id] = Hold.take(self.path.parent, run_id)

    def _let_go(self, run_id: str) -> None:
        if run_id in self._holds:
            self._holds.pop(run_id).release()

    def _standing(self, run: RunRow) -> RunRow:
        """The row as it stands: `killed`, where it is recorded as running and nobody works on it."""
        if run.status != "running":
            return run
        if is_held(self.path.parent, run.id):
            return replace(run, seconds=run.seconds + silence(self.reader, run.id))
        run = find_run(self.reader, run.id)  # it may have ended between the two looks
        return replace(run, status=KILLED) if run.status == "running" else run

    def runs(self, limit: int = 50) -> list[RunRow]:
        """The latest runs, newest first, without the arms of comparisons."""
        return [self._standing(run) for run in list_runs(self.reader, limit)]

    def runs_below(self, run_id: str) -> list[str]:
        """The ids of the runs below a run, oldest first: the arms of a comparison."""
        return list_below(self.reader, run_id)

    def run(self, run_id_or_prefix: str) -> RunRow:
        """One run, by its id or enough of its beginning or end.

        Raises:
            ConfigError: no run, or more than one, is called so.
        """
        return self._standing(find_run(self.reader, run_id_or_prefix))

    # Trials

    async def add_trial(self, run_id: str, purpose: str, trial: Trial, *, at_once: bool = True) -> None:
        """Records a trial with its calls.

        A second trial of the same (run, harness, task, purpose, question, sample) changes nothing. An
        infra_error is always kept, and never stands in the way of the trial that counts.
        """
        await self._record(trial_fact(run_id, purpose, trial), at_once)

    def trials(
        self,
        run_id: str,
        *,
        harness_id: str | None = None,
        task: str | None = None,
        purpose: str | None = None,
        with_calls: bool = False,
    ) -> list[Trial]:
        """One trial for each (harness, task, purpose, question, sample), in that order.

        It is the one that counts or, where there is none, the last infra_error. Its calls are left out
        unless asked for.
        """
        return find_trials(
            self.reader,
            self._number(run_id),
            harness_id=harness_id,
            task=task,
            purpose=purpose,
            with_calls=with_calls,
        )

    def viewed(
        self, run_id: str, wanted: Wanted | None = None, *, after: int = 0, limit: int = 50
    ) -> list[Viewed]:
        """A page of the standing trials with their calls and numbers, in the order of recording.

        `after` is the number of the last trial of the page before.
        """
        return find_viewed(self.reader, self._number(run_id), wanted or Wanted(), after=after, limit=limit)

    def n_viewed(self, run_id: str, wanted: Wanted | None = None) -> int:
        """How many trials `viewed` has on all pages."""
        return count_viewed(self.reader, self._number(run_id), wanted or Wanted())

    def numbers(self, run_id: str, purpose: str) -> list[Numbered]:
        """The numbers of the standing trials of a purpose, in the order of recording, without their texts."""
        return find_numbers(self.reader, self._number(run_id), purpose)

    def tallies(self, run_id: str) -> list[Tally]:
        """The trials of a run counted by harness, task, purpose and status; every infra_error counts."""
        return find_tallies(self.reader, self._number(run_id))

    # Harnesses and rollouts

    async def add_harness(self, harness: Harness, *, at_once: bool = True) -> None:
        """Records the source of a harness under its id."""
        await self._record(harness_fact(harness), at_once)

    def harness(self, id_prefix: str) -> Harness | None:
        """The harness whose id begins so, or None.

        Raises:
            ConfigError: several ids begin so.
        """
        return find_harness(self.reader, id_prefix)

    async def add_rollout(self, run_id: str, rollout: Rollout, *, at_once: bool = True) -> None:
        """Records a completion, its candidate or failure, and its calls; once for each place in a context."""
        await self._record(rollout_fact(run_id, rollout), at_once)

    def rollout(self, run_id: str, context_id: str, index: int) -> Rollout | None:
        """The rollout at a place in a context, or None."""
        found = find_rollouts(self.reader, self._number(run_id), context_id, index)
        return found[0] if found else None

    def rollouts(self, run_id: str) -> list[Rollout]:
        """All rollouts of a run, by context and index."""
        return find_rollouts(self.reader, self._number(run_id), None, None)

    async def add_context(self, run_id: str, context: Context, *, at_once: bool = True) -> None:
        """Records what a proposer is shown, once for each id."""
        await self._record(context_fact(run_id, context, self._shown), at_once)

    def contexts(self, run_id: str) -> list[Context]:
        """All contexts of a run, in the order in which they were recorded."""
        return find_contexts(self.reader, self._number(run_id))

    # Events and usage

    async def add_event(self, run_id: str, kind: str, data: Mapping[str, Any]) -> None:
        """Records that something happened."""
        await self._writing().record(event_fact(run_id, kind, data))

    def events(self, run_id: str, kind: str | None = None) -> list[Event]:
        """The events of a run in the order in which they were recorded; all kinds, or one."""
        return find_events(self.reader, self._number(run_id), kind)

    def usage(self, run_id: str, part: Part | None = None) -> Usage:
        """What the run spent over all its sessions: in all, or by its `solver` or `proposer` alone.

        Replies from the cache cost nothing and are not counted, nor are tool calls. The seconds are those of
        the calls, added up; calls overlap.
        """
        return find_usage(self.reader, self._number(run_id), part)

    def spent(self, run_id: str) -> Usage:
        """What the run cost, with the runs below it; the seconds are its wall time, as in `run`."""
        below = (self.usage(each) for each in self.runs_below(run_id))
        return replace(sum(below, self.usage(run_id)), seconds=self.run(run_id).seconds)


def _looked_at(done: Future[Any]) -> None:
    """Takes the outcome of what nobody waits for. A store that fails says so to the next one who waits."""
    if not done.cancelled():
        done.exception()


class Replies:
    """The models' replies that are kept for reuse, by key."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, key: str) -> ModelReply | None:
        """The reply under a key, or None."""
        return find_reply(self._store.reader, key)

    async def put(self, key: str, reply: ModelReply) -> None:
        """Keeps a reply under a key; the first one stays."""
        await self._store._writing().record(reply_fact(key, reply))
