"""The registry: accepted harnesses as rows of the store, and beside them as an ordinary bare git versions.

Each task is a branch. A version's first parent is the version it was made from, its last parent the task's
previous one; so nothing is ever rewritten, also where a run starts again from the seed. One process writes
at a time. The repository, `registry` in `--home`, is for any git to read; a commit that another git adds to
it is a version too.
"""

from __future__ import annotations

import difflib
import fcntl
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePath

from loriner.errors import ConfigError, StoreError
from loriner.records import Harness, Version
from loriner.store import ref_names
from loriner.store.commit_message import Evidence, VersionEntry, one_line
from loriner.store.connection import FILE_NAME as STORE_NAME
from loriner.store.connection import connect, connect_read_only, holds_store, in_words, is_writable
from loriner.store.database import Store
from loriner.store.git_mirror import FILE_NAME, now_after, opened, sha_of, state
from loriner.store.versions import Versions

FOLDER = "registry"


LOCK_S = 30.0
"""How long a process waits for another one that writes."""


class Registry:
    """The versions of one `--home`. Holds no open file, so there is nothing to close."""

    def __init__(self, home: Path) -> None:
        self.path = home / FOLDER
        """The versions."""
        self._store = home / STORE_NAME
        self._known: dict[str, VersionEntry] = {}

    @classmethod
    def open(cls, home: Path) -> Registry:
        """The registry in a folder, with its store, which are made if need be.

        What an older home holds in its repository alone is recorded, and what a killed process did not write
        there is written.

        Raises:
            StoreError: it cannot be made or read, in words.
        """
        registry = cls(home)
        (Store.open if is_writable(home) or not holds_store(home) else Store.existing)(home).close()
        with registry._reading():
            return registry

    def rebuild(self) -> int:
        """The number of versions in the repository, which is written anew from the store.

        The old one stays beside it, named by the moment.

        Raises:
            StoreError: it cannot be written, or a commit of another git holds more than a row can show.
        """
        with suppress(StoreError):  # of a damaged repository the rows alone are known
            self._keep_up()
        fresh, old = (self.path.with_suffix(f".{each}") for each in ("new", f"{time.time_ns()}"))
        with (
            _locked(self.path),
            closing(connect(self._store)) as connection,
            self._transaction(connection) as versions,
        ):
            shutil.rmtree(fresh, ignore_errors=True)
            with opened(fresh) as git:
                git.show(versions, versions.led_to())
            if self.path.exists():
                self.path.rename(old)
            fresh.rename(self.path)
            versions.mark(state(self.path))
            return versions.count()

    def _keep_up(self) -> None:
        """Brings rows and repository together, where one was written without the other."""
        if is_writable(self.path.parent):
            with self._writing():
                pass

    @contextmanager
    def _reading(self) -> Iterator[Versions]:
        with self._snapshot() as versions:
            shows = self._shows(versions)
        if not shows:
            self._keep_up()
        with self._snapshot() as versions:
            yield versions

    @contextmanager
    def _snapshot(self) -> Iterator[Versions]:
        with closing(connect_read_only(self._store)) as connection, self._in_words("reading"):
            yield Versions(connection, self._known)

    @contextmanager
    def _writing(self) -> Iterator[Versions]:
        """One transaction; the repository shows what it brought before the block is left."""
        with _locked(self.path), opened(self.path) as git, closing(connect(self._store)) as connection:
            with self._transaction(connection) as versions:
                shows = self._shows(versions)
                if not shows:
                    git.read(versions)
                yield versions
            names = versions.pointed if shows else versions.led_to()
            if names or not shows:
                git.show(versions, names)
                with self._transaction(connection) as versions:
                    versions.mark(state(self.path))

    def _shows(self, versions: Versions) -> bool:
        """Whether the repository shows these versions, and nothing else was written there."""
        return versions.shown_at() == state(self.path) != ""

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection) -> Iterator[Versions]:
        with self._in_words("recording in"):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield Versions(connection, self._known)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _in_words(self, doing: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise in_words(error, self._store, f"{doing} the registry") from error

    # Writing

    def commit(
        self, version: Version, harness: Harness, *, task: str, evidence: Evidence, message: str = ""
    ) -> str:
        """The commit of a version of a task: a new one, or the one that already holds it.

        The same (run, round, harness) is committed once, so a resumed run may say it again; a seed that the
        task already has for this solver, from any run, is not committed again. An accepted version gets the
        next `accepted/TASK/NNNN`; the one with the highest score so far for this solver is its best. Without
        a message, the note of the revision says what changed.

        Raises:
            ConfigError: the parent is no version of the task.
            StoreError: the registry cannot be written.
        """
        with self._writing() as versions:
            branch = ref_names.task_ref(task)
            history = list(versions.history(versions.find(branch)))
            known = _same(versions, history, version, evidence.solver)
            entry = known or _add(versions, harness, _entry(history, version, task, evidence, message))
            place = len(history) - 1 - history.index(known) if known else len(history)
            _name(versions, task, version, entry, place)
            if known is None:
                versions.point(branch, entry.sha)
            return entry.sha

    def keep(self, version: Version, harness: Harness, *, task: str, evidence: Evidence) -> str:
        """The commit of a version that led and was not accepted: `candidate/TASK`, until another leads.

        It stands on no branch. The same (run, round, harness) is committed once.

        Raises:
            ConfigError: the parent is no version of the task.
            StoreError: the registry cannot be written.
        """
        with self._writing() as versions:
            ref = ref_names.candidate_ref(task)
            kept = versions.find(ref)
            entry = _same(versions, [] if kept is None else [kept], version, evidence.solver)
            if entry is None:
                history = list(versions.history(versions.find(ref_names.task_ref(task))))
                entry = _add(versions, harness, _entry(history, version, task, evidence, ""))
                versions.point(ref, entry.sha)
            return entry.sha

    def take(self, task: str) -> str:
        """The commit that makes `candidate/TASK` the task's current and best version, on a person's word.

        Raises:
            ConfigError: no such task, or it has no candidate, or the candidate is its best already.
        """
        with self._writing() as versions:
            head, kept = self._head(versions, task), versions.find(ref_names.candidate_ref(task))
            if kept is None:
                raise ConfigError(f"{task} has no candidate: the last search left none that led")
            solver = versions.solver_of(kept)
            best = _known_best(versions, task, solver)
            if best is not None and best.harness_id == kept.harness_id:
                raise ConfigError(f"candidate/{task} is the best version of {task} already: nothing to take")
            place = len(list(versions.history(head)))
            parents = tuple(dict.fromkeys([*kept.parents[:1], head.sha]))
            new = replace(kept, parents=parents, subject=f"Taken unconfirmed: {kept.subject}")
            entry = _add(versions, Harness(versions.source(kept.sha)), new)
            _lead(versions, task, entry, place, solver)
            return entry.sha

    def transfer(self, task: str, sha: str, *, score: float, evidence: Evidence) -> str:
        """The new commit that makes a version the best for the solver of `evidence`, scored with it.

        Raises:
            ConfigError: no such task.
        """
        with self._writing() as versions:
            head, made = self._head(versions, task), versions.entry(sha)
            parents = tuple(dict.fromkeys([*made.parents[:1], head.sha]))
            subject = f"Transferred to {evidence.solver}: {made.subject}"
            new = replace(made, parents=parents, subject=subject, score=score, evidence=evidence)
            entry = _add(versions, Harness(versions.source(sha)), new)
            _lead(versions, task, entry, len(list(versions.history(head))), evidence.solver)
            return entry.sha

    def revert(self, task: str, name: str) -> str:
        """The new commit that makes an earlier version the task's current one again.

        Raises:
            ConfigError: no such task or version.
        """
        target = self.resolve(name, task=task)
        with self._writing() as versions:
            head = self._head(versions, task)
            new = replace(
                target,
                parents=(head.sha,),
                subject=f"Revert to {target.sha[:10]}: {target.subject}",
                parent_id=head.harness_id,
                reverts_to=target.sha,
                evidence=replace(target.evidence, parent_score=head.score),
            )
            entry = _add(versions, Harness(versions.source(target.sha)), new)
            versions.point(ref_names.task_ref(task), entry.sha)
            return entry.sha

    def tag(self, name: str, version: str) -> str:
        """The commit that is now called `name`.

        Raises:
            ConfigError: no such version, or the name is not allowed or taken.
        """
        entry, ref = self.resolve(version), ref_names.tag_ref(name)
        with self._writing() as versions:
            taken = versions.find(ref)
            if taken is not None and taken.sha != entry.sha:
                raise ConfigError(f"the tag {name!r} already names {taken.sha[:10]}: choose another name")
            _require_free(versions, name)
            versions.point(ref, entry.sha)
        return entry.sha

    # Reading

    def tasks(self) -> list[str]:
        """The names of the tasks that have versions."""
        with self._reading() as versions:
            return [ref_names.decoded(name) for name in versions.names("refs/heads/tasks/")]

    def log(self, task: str) -> list[VersionEntry]:
        """The versions of a task, newest first.

        Raises:
            ConfigError: no such task.
        """
        with self._reading() as versions:
            return list(versions.history(self._head(versions, task)))

    def solver_of(self, entry: VersionEntry) -> str:
        """The model that a version was scored with; empty where that is not known."""
        with self._reading() as versions:
            return versions.solver_of(entry)

    def resolve(self, name: str, *, task: str | None = None, solver: str | None = None) -> VersionEntry:
        """The version that `name` means.

        It may be a tag, a branch, a task (its current version), a run (its last version), a harness id or a
        commit, both also shortened to at least four digits. With a task given, also `best` and `seed`. The
        best version, also as `best@TASK` and `best/TASK`, is that for `solver`; without one, the latter and
        `best` are the tag `best/TASK`.

        Raises:
            ConfigError: nothing, or more than one version, is called so; names what is near. Or there is a
                best version for other solvers only, or for several and none is given.
        """
        with self._reading() as versions:
            of = task if name == "best" else ref_names.task_of_best(name)
            if of is not None and versions.find(ref_names.task_ref(of)) is not None:
                tag = versions.find(ref_names.best_ref(of))
                by_tag = solver is None and not name.startswith("best@") and tag is not None
                return tag if by_tag and tag else _best(versions, of, solver)
            if task is not None and name == "seed":
                return list(versions.history(self._head(versions, task)))[-1]
            for ref in ref_names.candidates(name):
                entry = versions.find(ref)
                if entry is not None:
                    return entry
            found = _by_digits(versions, name) if ref_names.DIGITS.fullmatch(name) else []
            if len(found) == 1:
                return found[0]
            raise ConfigError(_not_one(versions, name, found))

    def harness(self, name: str, *, task: str | None = None, solver: str | None = None) -> Harness:
        """The program of a version. Raises as `resolve`."""
        entry = self.resolve(name, task=task, solver=solver)
        with self._reading() as versions:
            return Harness(versions.source(entry.sha))

    def diff(self, old: str, new: str) -> str:
        """How one version's program became another's, as a unified diff; empty for equal programs."""
        before, after = self.resolve(old), self.resolve(new)
        with self._reading() as versions:
            lines = difflib.unified_diff(
                versions.source(before.sha).splitlines(keepends=True),
                versions.source(after.sha).splitlines(keepends=True),
                f"{before.sha[:10]}/{FILE_NAME}",
                f"{after.sha[:10]}/{FILE_NAME}",
            )
            return "".join(lines)

    def lineage(self, name: str) -> list[tuple[VersionEntry, str]]:
        """The versions that led to one, each with its source, from the seed on. Raises as `resolve`.

        A revert stands for the version that it brought back.
        """
        entry: VersionEntry | None = self.resolve(name)
        path: list[tuple[VersionEntry, str]] = []
        with self._reading() as versions:
            while entry is not None:
                if not entry.reverts_to:
                    path.append((entry, versions.source(entry.sha)))
                before = entry.made_from
                entry = None if before is None else versions.entry(before)
        return path[::-1]

    def _head(self, versions: Versions, task: str) -> VersionEntry:
        head = versions.find(ref_names.task_ref(task))
        if head is None:
            raise ConfigError(_not_one(versions, task, []))
        return head


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lets one process at a time write below `path`; the system frees the lock when a process dies.

    Raises:
        StoreError: another process held it too long.
    """
    with path.with_suffix(".lock").open("w") as lock:
        deadline = time.monotonic() + LOCK_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"another process has been writing to {path} for {LOCK_S:.0f} s: see which is stuck"
                    ) from None
                time.sleep(0.02)
        yield


def _add(versions: Versions, harness: Harness, entry: VersionEntry) -> VersionEntry:
    """The entry as recorded now. No name leads to it yet."""
    when = now_after([versions.entry(each) for each in entry.parents])
    dated = replace(entry, when=when, subject=one_line(entry.subject) or "Version")
    added = replace(dated, sha=sha_of(harness, dated))
    versions.add(harness, added)
    return added


def _same(
    versions: Versions, history: list[VersionEntry], version: Version, solver: str
) -> VersionEntry | None:
    """The commit that already holds a version for that solver."""
    for entry in history:
        if versions.solver_of(entry) != solver:
            continue
        if version.harness_id == entry.harness_id and entry.reverts_to is None:
            if version.parent_id is None and entry.parent_id is None:
                return entry
            if (entry.run, entry.round) == (version.episode_id, version.round):
                return entry
    return None


def _entry(
    history: list[VersionEntry], version: Version, task: str, evidence: Evidence, message: str
) -> VersionEntry:
    note = message or (version.revision.note if version.revision else "")
    words = f"Seed of {task}" if version.parent_id is None else f"Round {version.round}"
    return VersionEntry(
        sha="",
        parents=_parents(history, version, task),
        subject=f"{words}: {note}" if note else words,
        when="",
        run=version.episode_id,
        round=version.round,
        parent_id=version.parent_id,
        harness_id=version.harness_id,
        score=version.mean_score,
        evidence=evidence,
    )


def _parents(history: list[VersionEntry], version: Version, task: str) -> tuple[str, ...]:
    """First the version it was made from, preferably of the same run; last the task's current version."""
    head = [entry.sha for entry in history[:1]]
    if version.parent_id is None:
        return tuple(head)
    of_parent = [entry for entry in history if entry.harness_id == version.parent_id]
    if not of_parent:
        raise ConfigError(
            f"the parent {version.parent_id[:12]} is no version of {task!r}: commit the seed before its heirs"
        )
    parent = next((entry for entry in of_parent if entry.run == version.episode_id), of_parent[0])
    return tuple(dict.fromkeys([parent.sha, *head]))


def _name(versions: Versions, task: str, version: Version, entry: VersionEntry, place: int) -> None:
    """Lets the run's branch and the task's tags lead to a version, the task's `place`-th from 0."""
    versions.point(ref_names.run_ref(version.episode_id), entry.sha)
    if version.accepted:
        versions.point(ref_names.accepted_ref(task, place), entry.sha)
        solver = versions.solver_of(entry)
        best = _known_best(versions, task, solver)
        if best is None or _rank(entry) >= _rank(best):
            _point_best(versions, task, entry, solver)


def _lead(versions: Versions, task: str, entry: VersionEntry, place: int, solver: str) -> None:
    """Makes a version the task's current one, accepted, and the best for the solver."""
    versions.point(ref_names.accepted_ref(task, place), entry.sha)
    _point_best(versions, task, entry, solver)
    versions.point(ref_names.task_ref(task), entry.sha)


def _point_best(versions: Versions, task: str, entry: VersionEntry, solver: str) -> None:
    """Makes a version the best for a solver. `best/TASK` stays with the solver that had it first."""
    tag = versions.find(ref_names.best_ref(task))
    if tag is None or versions.solver_of(tag) == solver:
        versions.point(ref_names.best_ref(task), entry.sha)
    if solver:
        versions.point(ref_names.best_for_ref(task, solver), entry.sha)


def _known_best(versions: Versions, task: str, solver: str) -> VersionEntry | None:
    """The best version for a solver. Older releases named one only: then it is the highest of its own."""
    if solver and (named := versions.find(ref_names.best_for_ref(task, solver))) is not None:
        return named
    tag = versions.find(ref_names.best_ref(task))
    if tag is not None and versions.solver_of(tag) == solver:
        return tag
    own = [each for each in _accepted(versions, task) if versions.solver_of(each) == solver]
    return max(own, key=_rank, default=None)


def _accepted(versions: Versions, task: str) -> list[VersionEntry]:
    """The accepted versions of a task, newest first."""
    below = ref_names.accepted_ref(task, 0).removesuffix("0000")
    found = (versions.find(f"{below}{number}") for number in reversed(versions.names(below)))
    return [entry for entry in found if entry is not None]


def _best(versions: Versions, task: str, solver: str | None) -> VersionEntry:
    """The best version for a solver; where none is given, for the only one that there is."""
    accepted = _accepted(versions, task) or list(versions.history(versions.find(ref_names.task_ref(task))))
    solvers = list(dict.fromkeys(versions.solver_of(each) for each in accepted))
    asked = solver if solver is not None else solvers[0]
    found = _known_best(versions, task, asked) if solver is not None or len(solvers) == 1 else None
    if found is None and solvers in ([""], [asked]):
        found = _known_best(versions, task, solvers[0]) or accepted[-1]  # by hand, or no solver was told
    if found is None:
        raise ConfigError(_not_for(versions, task, solver, solvers))
    return found


def _not_for(versions: Versions, task: str, solver: str | None, solvers: list[str]) -> str:
    best = {each: _known_best(versions, task, each) for each in solvers}
    scored = [f"{name or 'an unknown one'} ({_rank(each):.2f})" for name, each in best.items() if each]
    if solver is None:
        return (
            f"best@{task} is one version for each solver, and no solver is given: name one of "
            f"{', '.join(scored)} with --solver, or --set adapt.solver=NAME"
        )
    return (
        f"{task} has no version for the solver {solver}, only for {', '.join(scored)}: `loriner transfer "
        f"{task} --to {solver}` scores those with it, `loriner adapt {task} --solver {solver}` searches anew"
    )


def _require_free(versions: Versions, name: str) -> None:
    """Refuses a tag that would hide a branch, or that git cannot keep beside another tag."""
    for ref in ref_names.candidates(name):
        branch = ref.removeprefix("refs/heads/")
        if ref.startswith("refs/heads/") and versions.find(ref) is not None:
            raise ConfigError(
                f"{name!r} cannot be a tag: it names the branch {branch} already: choose another name"
            )
    for tag in versions.names("refs/tags/"):
        if tag.startswith(f"{name}/") or name.startswith(f"{tag}/"):
            raise ConfigError(
                f"{name!r} cannot be a tag: git keeps none within another, and there is {tag!r}: "
                "choose another name"
            )


def _rank(entry: VersionEntry) -> float:
    return -1.0 if entry.score is None else entry.score


def _by_digits(versions: Versions, digits: str) -> list[VersionEntry]:
    """The commits, and the newest version of each harness, whose id begins so."""
    found: dict[str, VersionEntry] = {}
    for branch in versions.names("refs/heads/"):
        for entry in versions.history(versions.find(ref_names.branch_ref(branch))):
            if entry.sha.startswith(digits):
                found[entry.sha] = entry
            elif entry.harness_id.startswith(digits):
                found[entry.harness_id] = max(found.get(entry.harness_id, entry), entry, key=lambda e: e.when)
    return list(found.values())


def _not_one(versions: Versions, name: str, found: list[VersionEntry]) -> str:
    if found:
        several = ", ".join(f"{entry.sha[:10]} ({entry.subject})" for entry in found[:4])
        return f"{name!r} begins {len(found)} versions: {several}: write more of it"
    known = [ref_names.decoded(task) for task in versions.names("refs/heads/tasks/")]
    known += versions.names("refs/tags/")
    folder = PurePath(name).name  # a task is often named by its folder; its versions are, by its name
    near = [folder] if folder in known else difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    near = near or known[:3]
    return f"the registry has no version {name!r}" + (f"; nearest: {', '.join(near)}" if near else " yet")
