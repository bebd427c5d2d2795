"""Runs: one command and its record, over one or more sessions."""

from __future__ import annotations

import difflib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from loriner.errors import ConfigError
from loriner.store.connection import now, steady
from loriner.store.reader import Reader
from loriner.store.writer import Batch, Fact

STATUSES = ("running", "done", "failed", "interrupted", "budget")
"""How a run stands, as it is recorded. A process that was killed leaves `running`."""
KILLED = "killed"
"""How a run stands that is recorded as running while no process works on it."""
RESUMABLE = ("adapt", "evaluate", "compare")
"""The commands whose runs `--resume` goes on with."""
_LETTERS = "23456789abcdefghjkmnpqrstvwxyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run as the store knows it."""

    id: str
    command: str
    status: str
    """One of `STATUSES`, or `KILLED`."""
    config: Mapping[str, Any]
    """The resolved configuration it was started with."""
    seed: int
    parent: str | None
    started: str
    """UTC, ISO 8601."""
    finished: str | None
    summary: Mapping[str, Any]
    """What the command said of itself at its end."""
    n_sessions: int
    seconds: float
    """Wall time, summed over the sessions; one that works counts up to now, one that was
    killed up to its last recorded row."""


def new_run_id() -> str:
    """An id that sorts by time: `20261129-182403-k3f9x7mb` (UTC, then eight letters of chance).

    Runs of older releases have four letters.
    """
    chance = "".join(secrets.choice(_LETTERS) for _ in range(8))
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{chance}"


def start_fact(run_id: str, command: str, config: Mapping[str, Any], seed: int, parent: str | None) -> Fact:
    """Records a new run with its first session. False where the id is taken."""
    text = json.dumps(dict(config), default=str)

    def fact(batch: Batch) -> bool:
        if batch.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,)).fetchone():
            return False
        batch.execute(
            "INSERT INTO runs (id, command, status, config, seed, parent, started) "
            "VALUES (?, ?, 'running', ?, ?, ?, ?)",
            (run_id, command, text, seed, parent, now()),
        )
        _open_session(batch, batch.run(run_id))
        return True

    return fact


def resume_fact(run_id: str) -> Fact:
    """Records that a run goes on in a new session."""

    def fact(batch: Batch) -> None:
        run = batch.run(run_id)
        batch.execute("UPDATE runs SET status = 'running', finished = NULL WHERE n = ?", (run,))
        batch.execute("UPDATE sessions SET finished = seen WHERE run = ? AND finished IS NULL", (run,))
        _open_session(batch, run)

    return fact


def finish_fact(run_id: str, status: str, summary: Mapping[str, Any]) -> Fact:
    """Records how a run ended."""
    if status not in STATUSES[1:]:
        raise ValueError(f"a run ends as one of {', '.join(STATUSES[1:])}, not as {status!r}")
    text, at = json.dumps(dict(summary), default=str), steady()

    def fact(batch: Batch) -> None:
        run = batch.run(run_id)
        batch.execute(
            "UPDATE runs SET status = ?, finished = ?, summary = ? WHERE n = ?", (status, now(), text, run)
        )
        batch.execute("UPDATE sessions SET finished = ? WHERE run = ? AND finished IS NULL", (at, run))

    return fact


def _open_session(batch: Batch, run: int) -> None:
    at = steady()
    batch.execute("INSERT OR REPLACE INTO sessions (run, started, seen) VALUES (?, ?, ?)", (run, at, at))


_SELECT = """
SELECT r.id, r.command, r.status, r.config, r.seed, r.parent, r.started, r.finished, r.summary,
       count(s.run), coalesce(sum(max(coalesce(s.finished, s.seen) - s.started, 0)), 0)
FROM runs r LEFT JOIN sessions s ON s.run = r.n
"""


def list_runs(reader: Reader, limit: int) -> list[RunRow]:
    """The latest runs, newest first. The arms of a comparison stand below it and are left out."""
    rows = reader.rows(
        f"{_SELECT} LEFT JOIN runs p ON p.id = r.parent WHERE p.command IS NOT 'compare' "
        "GROUP BY r.n ORDER BY r.started DESC, r.n DESC LIMIT ?",
        (limit,),
    )
    return [_read(row) for row in rows]


def list_below(reader: Reader, run_id: str) -> list[str]:
    """The ids of the runs below a run, oldest first."""
    return [row[0] for row in reader.rows("SELECT id FROM runs WHERE parent = ? ORDER BY n", (run_id,))]


def silence(reader: Reader, run_id: str) -> float:
    """Seconds since the last row of a run that works: they count, though nothing is recorded of them yet."""
    row = reader.row(
        "SELECT max(s.seen) FROM sessions s JOIN runs r ON r.n = s.run WHERE r.id = ? AND s.finished IS NULL",
        (run_id,),
    )
    return max(0.0, steady() - row[0]) if row and row[0] is not None else 0.0


def find_run(reader: Reader, name: str) -> RunRow:
    """The run whose id is `name`, or the only one whose id begins or ends with it.

    Raises:
        ConfigError: none, with the nearest ids; or several, with their ids.
    """
    ids = [row[0] for row in reader.rows("SELECT id FROM runs ORDER BY n DESC")]
    exact = [run_id for run_id in ids if run_id == name]
    found = exact or [each for each in ids if name and (each.startswith(name) or each.endswith(name))]
    if len(found) != 1:
        raise ConfigError(_not_one(name, found, ids))
    rows = reader.rows(f"{_SELECT} WHERE r.id = ? GROUP BY r.n", (found[0],))
    return _read(rows[0])


def _not_one(name: str, found: list[str], ids: list[str]) -> str:
    if found:
        return f"{len(found)} runs match {name!r}: {', '.join(found[:5])}: write more letters of the id"
    if not ids:
        return f"no run {name!r}: this --home holds no run yet"
    near = difflib.get_close_matches(name, ids, n=3, cutoff=0.3) or ids[:3]
    return f"no run {name!r}; nearest: {', '.join(near)}. `loriner runs list` shows all"


def _read(row: tuple[Any, ...]) -> RunRow:
    run_id, command, status, config, seed, parent, started, finished, summary, n_sessions, seconds = row
    return RunRow(
        id=run_id,
        command=command,
        status=status,
        config=json.loads(config),
        seed=seed,
        parent=parent,
        started=started,
        finished=finished,
        summary=json.loads(summary),
        n_sessions=n_sessions,
        seconds=seconds,
    )
