"""The one thread of a process that writes, and commits what has gathered since the last commit at once.

A fact is acknowledged only after its transaction is on the disk. Facts that arrive while a commit runs share
the next one, so many waiting trials cost one flush; a fact that is not urgent waits a moment for others, or
until a flush is asked for. Rows go in many to a statement: each statement hands the
interpreter lock over, and beside a busy event loop every hand-over can cost milliseconds.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from loriner.errors import StoreError
from loriner.store.connection import connect, in_words, is_disk, steady

MOST_FACTS = 2_000
"""Facts in one transaction: bounds its memory and the wait of other processes."""
LINGER_S = 0.05
"""How long a fact that is not urgent waits at most before it is committed."""
CHUNKS = (64, 8, 1)
"""Rows in one statement. Few sizes, so that SQLite's statement cache holds them all."""


@dataclass(frozen=True, slots=True)
class Insert:
    """How rows of `width` values go into a table. A row that is there already is left as it is."""

    table: str
    width: int
    owner: str = ""
    """The table whose row a new row belongs to: a repeated trial brings no payload and no calls."""
    owner_column: int = 0
    """Which of the values, from 1, is the owner's id."""

    def sql(self, n_rows: int) -> str:
        row = f"({','.join('?' * self.width)})"
        rows = f"(VALUES {','.join([row] * n_rows)}) v"
        if self.owner:
            rows += f" CROSS JOIN {self.owner} ON {self.owner}.id = v.column{self.owner_column}"
        return f"INSERT INTO {self.table} SELECT v.* FROM {rows} WHERE true ON CONFLICT DO NOTHING"


INSERTS = {
    "trials": Insert("trials", 14),
    "payloads": Insert("payloads", 3, "trials", 1),
    "trial_calls": Insert("calls", 12, "trials", 3),
    "rollouts": Insert("rollouts", 8),
    "rollout_calls": Insert("calls", 12, "rollouts", 3),
    "cache": Insert("cache", 2),
}
"""In the order in which they are written: owners first."""


class Batch:
    """An open transaction: single statements run at once, rows of `INSERTS` are gathered and written last."""

    def __init__(self, connection: sqlite3.Connection, numbers: dict[tuple[str, str], int]) -> None:
        self._connection = connection
        self._numbers = numbers
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in INSERTS}
        self._last: dict[str, int] = {}
        self._runs: set[int] = set()
        self._moment = 0

    def execute(self, sql: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        return self._connection.execute(sql, values)

    def add(self, name: str, row: tuple[Any, ...]) -> None:
        self._rows[name].append(row)

    def new_id(self, table: str) -> int:
        """The next free id of a table; the write lock makes it ours."""
        if table not in self._last:
            self._last[table] = self.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()[0]
        self._last[table] += 1
        return self._last[table]

    def new_moment(self, table: str) -> int:
        """The present nanosecond, or the next free one, for a table whose id is a moment."""
        self._last[table] = max(time.time_ns(), self.new_id(table))
        return self._last[table]

    def moment(self) -> int:
        """The present nanosecond; each call of a transaction gets a later one."""
        self._moment = max(time.time_ns(), self._moment + 1)
        return self._moment

    def run(self, run_id: str) -> int:
        """The number of a run that exists.

        Raises:
            StoreError: there is no such run.
        """
        n = self._numbers.get(("runs", run_id))
        if n is None:
            row = self.execute("SELECT n FROM runs WHERE id = ?", (run_id,)).fetchone()
            if row is None:
                raise StoreError(f"the store has no run {run_id!r}, so nothing can be recorded for it")
            n = self._numbers["runs", run_id] = row[0]
        self._runs.add(n)
        return n

    def harness(self, harness_id: str) -> int:
        """The number of a harness, given out now if it has none."""
        return self._number("harnesses", harness_id)

    def task(self, name: str) -> int:
        """The number of a task, given out now if it has none."""
        return self._number("tasks", name)

    def question(self, question_id: str) -> int:
        """The number of a question, given out now if it has none."""
        return self._number("questions", question_id)

    def _number(self, table: str, name: str) -> int:
        n = self._numbers.get((table, name))
        if n is None:
            self.execute(f"INSERT OR IGNORE INTO {table} (id) VALUES (?)", (name,))
            n = self.execute(f"SELECT n FROM {table} WHERE id = ?", (name,)).fetchone()[0]
            self._numbers[table, name] = n
        return n

    def flush(self) -> None:
        """Writes the gathered rows, and that the runs concerned were alive."""
        for name, insert in INSERTS.items():
            rows, start = self._rows[name], 0
            for size in CHUNKS:
                while len(rows) - start >= size:
                    values = list(chain.from_iterable(rows[start : start + size]))
                    self._connection.execute(insert.sql(size), values)
                    start += size
        for run in self._runs:
            self.execute(_ALIVE, (steady(), run, run))


_ALIVE = """
UPDATE sessions SET seen = max(seen, ?) WHERE finished IS NULL AND run IN (
    ?, (SELECT p.n FROM runs r JOIN runs p ON p.id = r.parent AND p.command = 'compare' WHERE r.n = ?))
"""
"""A comparison is at work where an arm of it is."""


Fact = Callable[[Batch], Any]
"""Something to record: called with the open transaction, returns what the caller is told."""


Job = tuple[Fact, asyncio.Future[Any] | Future[Any]]
"""A fact, and who waits for it."""


class Writer:
    """Takes facts from any thread or event loop and acknowledges them once they are durable."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = connect(path)
        self._numbers: dict[tuple[str, str], int] = {}
        self._jobs: list[Job] = []
        self._changed = threading.Condition()
        self._closed = False
        self._urgent = False
        self._lingering: asyncio.TimerHandle | None = None
        self._thread = threading.Thread(target=self._work, name="loriner-store-writer", daemon=True)
        self._thread.start()

    def record(self, fact: Fact) -> asyncio.Future[Any]:
        """To be awaited: what the fact returned, once it is durable.

        Raises:
            StoreError: it could not be written; nothing of it is in the store.
        """
        done = asyncio.get_running_loop().create_future()
        self._submit((fact, done))
        self.flush()
        return done

    def linger(self, fact: Fact) -> asyncio.Future[Any]:
        """As `record`, for what is not urgent: committed with the next fact that is, at the next `flush`, or
        after `LINGER_S`.
        """
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self._submit((fact, done))
        if self._lingering is None:
            self._lingering = loop.call_later(LINGER_S, self.flush)
        return done

    def flush(self) -> None:
        """Has everything that waits committed now."""
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None
        with self._changed:
            self._urgent = bool(self._jobs)
            self._changed.notify()

    def record_now(self, fact: Fact) -> Any:
        """As `record`, for callers outside an event loop."""
        done: Future[Any] = Future()
        self._submit((fact, done))
        with self._changed:
            self._urgent = True
            self._changed.notify()
        return done.result()

    def _submit(self, job: Job) -> None:
        with self._changed:
            if self._closed:
                raise StoreError(f"the store {self._path} is closed: nothing more can be recorded")
            self._jobs.append(job)

    def close(self) -> None:
        """Returns when everything submitted is written. Safe to call twice."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while jobs := self._gather():
            for start in range(0, len(jobs), MOST_FACTS):
                self._commit(jobs[start : start + MOST_FACTS])
        self._connection.close()

    def _gather(self) -> list[Job]:
        """All that waits, at least one; nothing once the writer is closed and all is written."""
        with self._changed:
            self._changed.wait_for(lambda: self._urgent or self._closed)
            jobs, self._jobs, self._urgent = self._jobs, [], False
        return jobs

    def _commit(self, jobs: list[Job]) -> None:
        try:
            results = self._transact([fact for fact, _ in jobs])
        except Exception as error:  # noqa: BLE001 - every failure goes to the caller who waits for it
            if len(jobs) == 1 or is_disk(error):
                _settle(jobs, [self._told(error)] * len(jobs))
            else:  # one bad row must not take the others with it
                for job in jobs:
                    self._commit([job])
        else:
            _settle(jobs, results)

    def _transact(self, facts: list[Fact]) -> list[Any]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            batch = Batch(self._connection, self._numbers)
            results = [fact(batch) for fact in facts]
            batch.flush()
            self._connection.execute("COMMIT")
        except BaseException:
            self._numbers.clear()  # numbers given out in this transaction are void
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return results

    def _told(self, error: Exception) -> Exception:
        if isinstance(error, sqlite3.Error):
            return in_words(error, self._path, "recording in the store")
        return error


def _settle(jobs: list[Job], results: list[Any]) -> None:
    """Tells each caller its result: one call into each event loop, however many callers wait there."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for (_, done), result in zip(jobs, results, strict=True):
        if isinstance(done, asyncio.Future):
            loops.setdefault(done.get_loop(), []).append((done, result))
        else:
            _tell(done, result)
    for loop, waiting in loops.items():
        try:
            loop.call_soon_threadsafe(_tell_all, waiting)
        except RuntimeError:  # the loop is closed: nobody waits any more, and the rows are written
            continue


def _tell_all(waiting: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for done, result in waiting:
        if not done.done():  # else its caller was cancelled
            _tell(done, result)


def _tell(done: asyncio.Future[Any] | Future[Any], result: Any) -> None:
    if isinstance(result, BaseException):
        done.set_exception(result)
    else:
        done.set_result(result)
