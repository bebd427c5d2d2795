"""Whether a store is whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from loriner.errors import StoreError
from loriner.records import Harness
from loriner.store.connection import FILE_NAME, migrations
from loriner.store.packing import unpack
from loriner.store.reader import Reader

MOST_PROBLEMS = 100
"""A damaged file can have thousands; these are enough to know it by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReport:
    """What a check found."""

    problems: tuple[str, ...]
    """In words; empty for a sound store."""
    counts: Mapping[str, int]
    """Rows by kind, as far as they can be counted."""


def check(home: Path) -> StoreReport:
    """What is wrong with the store of a folder. Reads everything, changes nothing."""
    if not (home / FILE_NAME).exists():
        return StoreReport(problems=(), counts={"runs": 0})
    problems: list[str] = []
    counts: dict[str, int] = {}
    try:
        reader = Reader(home / FILE_NAME)
        try:
            _count(reader, counts)
            for problem in _problems(reader):
                problems.append(problem)
                if len(problems) == MOST_PROBLEMS:
                    break
        finally:
            reader.close()
    except StoreError as error:
        problems.append(str(error))
    return StoreReport(problems=tuple(problems), counts=counts)


_TABLES = {
    "runs": "runs",
    "trials": "trials",
    "calls": "calls",
    "harnesses": "harnesses",
    "rollouts": "rollouts",
    "versions": "versions",
    "events": "events",
    "cached replies": "cache",
}


def _count(reader: Reader, counts: dict[str, int]) -> None:
    for name, table in _TABLES.items():
        counts[name] = reader.rows(f"SELECT count(*) FROM {table}")[0][0]


def _problems(reader: Reader) -> Iterator[str]:
    yield from _schema(reader)
    for (line,) in reader.rows(f"PRAGMA integrity_check({MOST_PROBLEMS})"):
        if line != "ok":
            yield f"the file is damaged: {line}"
    for table, row, parent, _ in reader.rows("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} refers to a row of {parent} that is not there"
    yield from _loose_ends(reader)
    yield from _harnesses(reader)


def _schema(reader: Reader) -> Iterator[str]:
    version, known = reader.rows("SELECT max(version) FROM schema_version")[0][0], len(migrations())
    if version > known:
        yield f"schema {version} is of a newer release (this one knows up to {known}): upgrade loriner"


_LOOSE = {
    "trials without their payload": (
        "SELECT count(*) FROM trials t LEFT JOIN payloads p ON p.trial = t.id WHERE p.trial IS NULL"
    ),
    "calls without their trial": (
        "SELECT count(*) FROM calls c LEFT JOIN trials t ON t.id = c.owner WHERE c.part = 0 AND t.id IS NULL"
    ),
    "calls without their rollout": (
        "SELECT count(*) FROM calls c LEFT JOIN rollouts t ON t.id = c.owner WHERE c.part AND t.id IS NULL"
    ),
}


def _loose_ends(reader: Reader) -> Iterator[str]:
    for what, sql in _LOOSE.items():
        n = reader.rows(sql)[0][0]
        if n:
            yield f"{n} {what}"


def _harnesses(reader: Reader) -> Iterator[str]:
    for harness_id, source in reader.stream("SELECT id, source FROM harnesses WHERE source IS NOT NULL"):
        try:
            sound = Harness(unpack(source)).id == harness_id
        except (ValueError, sqlite3.Error, OSError) as error:
            yield f"the source of harness {harness_id[:12]} cannot be read: {error}"
        else:
            if not sound:
                yield f"the source of harness {harness_id[:12]} is not what its id says"
