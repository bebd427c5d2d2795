"""The versions of a store: rows that are never changed, and the names that lead to them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from loriner.errors import StoreError
from loriner.records import Harness
from loriner.store.commit_message import Evidence, VersionEntry
from loriner.store.packing import pack, unpack

_ENTRY = """
SELECT v.sha, v.parents, h.id, v.subject, v.at, v.run, v.round, v.parent, v.reverts_to, v.score, v.evidence
FROM versions v JOIN harnesses h ON h.n = v.harness
"""
_INSERT = """
INSERT INTO versions (sha, parents, harness, subject, at, run, round, parent, reverts_to, score, evidence,
                      commit_text)
VALUES (?, ?, (SELECT n FROM harnesses WHERE id = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_HARNESS = """
INSERT INTO harnesses (id, source) VALUES (?, ?)
ON CONFLICT (id) DO UPDATE SET source = excluded.source WHERE source IS NULL
"""


class Versions:
    """The versions as one transaction sees them."""

    def __init__(self, connection: sqlite3.Connection, known: dict[str, VersionEntry]) -> None:
        self._connection = connection
        self._known = known
        """Entries read before, by commit."""
        self.pointed: dict[str, str] = {}
        """The names that were made to lead elsewhere, each with its commit."""

    def find(self, name: str) -> VersionEntry | None:
        """The version that a name leads to, if there is one."""
        sql = "SELECT v.sha FROM version_names n JOIN versions v ON v.id = n.version WHERE n.name = ?"
        row = self._connection.execute(sql, (name,)).fetchone()
        return None if row is None else self.entry(row[0])

    def names(self, below: str) -> list[str]:
        """The names below a prefix, without it, sorted."""
        sql = "SELECT name FROM version_names WHERE substr(name, 1, ?) = ? ORDER BY name"
        rows = self._connection.execute(sql, (len(below), below))
        return [row[0].removeprefix(below) for row in rows]

    def led_to(self) -> dict[str, str]:
        """Every name with the commit that it leads to."""
        sql = "SELECT n.name, v.sha FROM version_names n JOIN versions v ON v.id = n.version ORDER BY v.id"
        return dict(self._connection.execute(sql).fetchall())

    def has(self, sha: str) -> bool:
        """Whether there is a version of that commit."""
        row = self._connection.execute("SELECT 1 FROM versions WHERE sha = ?", (sha,)).fetchone()
        return row is not None

    def count(self) -> int:
        n: int = self._connection.execute("SELECT count(*) FROM versions").fetchone()[0]
        return n

    def entry(self, sha: str) -> VersionEntry:
        if sha not in self._known:
            row = self._connection.execute(f"{_ENTRY} WHERE v.sha = ?", (sha,)).fetchone()
            if row is None:
                raise StoreError(f"the store has no version {sha[:10]}, which another one refers to")
            self._known[sha] = _read(row)
        return self._known[sha]

    def solver_of(self, entry: VersionEntry) -> str:
        """The model that a version was scored with; empty where neither it nor its run tells."""
        if entry.evidence.solver:
            return entry.evidence.solver
        sql = """SELECT json_extract(e.data, '$.solver') FROM events e JOIN runs r ON r.n = e.run
        WHERE r.id = ? AND e.kind = 'start' ORDER BY e.id LIMIT 1"""
        row = self._connection.execute(sql, (entry.run,)).fetchone()
        return (row and row[0]) or ""

    def source(self, sha: str) -> str:
        """The program of a version."""
        sql = "SELECT h.source FROM versions v JOIN harnesses h ON h.n = v.harness WHERE v.sha = ?"
        source: str = unpack(self._connection.execute(sql, (sha,)).fetchone()[0])
        return source

    def commit_text(self, sha: str) -> bytes | None:
        """The commit as git has it, where it was not written from its row."""
        row = self._connection.execute("SELECT commit_text FROM versions WHERE sha = ?", (sha,)).fetchone()
        return None if row is None else row[0]

    def history(self, head: VersionEntry | None) -> Iterator[VersionEntry]:
        """A task's versions from one back to its first."""
        while head is not None:
            yield head
            head = self.entry(head.parents[-1]) if head.parents else None

    def add(self, harness: Harness, entry: VersionEntry, commit_text: bytes | None = None) -> None:
        """Records a version; no name leads to it yet. One that is there already stays as it is."""
        if self.has(entry.sha):
            return
        self._connection.execute(_HARNESS, (harness.id, pack(harness.source)))
        values = (
            entry.sha,
            json.dumps(entry.parents),
            harness.id,
            entry.subject,
            entry.when,
            entry.run,
            entry.round,
            entry.parent_id,
            entry.reverts_to,
            entry.score,
            json.dumps(asdict(entry.evidence)),
            commit_text,
        )
        self._connection.execute(_INSERT, values)

    def point(self, name: str, sha: str) -> None:
        """Makes a name lead to a version."""
        self._connection.execute(
            "INSERT OR REPLACE INTO version_names SELECT ?, id FROM versions WHERE sha = ?", (name, sha)
        )
        self.pointed[name] = sha
        self.mark("")

    def shown_at(self) -> str:
        """How the repository stood when it showed all of this; empty where it may not."""
        state: str = self._connection.execute("SELECT state FROM projection").fetchone()[0]
        return state

    def mark(self, state: str) -> None:
        """Notes how the repository stands that shows all of this."""
        self._connection.execute("UPDATE projection SET state = ?", (state,))


def _read(row: tuple[Any, ...]) -> VersionEntry:
    sha, parents, harness, subject, at, run, number, parent, reverts_to, score, evidence = row
    return VersionEntry(
        sha=sha,
        parents=tuple(json.loads(parents)),
        subject=subject,
        when=at,
        run=run,
        round=number,
        parent_id=parent,
        harness_id=harness,
        reverts_to=reverts_to,
        score=score,
        evidence=Evidence(**json.loads(evidence)),
    )
