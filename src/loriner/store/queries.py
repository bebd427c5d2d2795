"""What is asked of the store, as records: trials, rollouts, usage, counts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from loriner.errors import ConfigError
from loriner.models.base import ModelReply
from loriner.records import Harness, Rollout, Status, Trial, Usage
from loriner.store.packing import unpack
from loriner.store.reader import Reader
from loriner.store.rows import PARTS, Part, Row, read_calls, read_reply, read_rollout, read_trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many trials of a harness ended alike."""

    harness_id: str
    task: str
    purpose: str
    status: Status
    n: int
    score: float
    """The sum of their scores."""
    seconds: float
    """The sum of their seconds."""


_STANDING = """
SELECT h.id, k.id, t.purpose, q.id, t.sample, t.id, t.status, t.detail, t.score, t.seconds, t.cpu_s,
       t.started, p.body, p.calls
FROM trials t CROSS JOIN harnesses h ON h.n = t.harness CROSS JOIN tasks k ON k.n = t.task
CROSS JOIN questions q ON q.n = t.question CROSS JOIN payloads p ON p.trial = t.id
WHERE {where} ORDER BY t.attempt = 0, t.attempt
"""
"""CROSS JOIN keeps SQLite from starting at the far end. The trial that counts comes last."""


def find_trials(
    reader: Reader,
    run: int,
    *,
    harness_id: str | None,
    task: str | None,
    purpose: str | None,
    with_calls: bool,
) -> list[Trial]:
    """The standing trials: of each (harness, task, purpose, question, sample) the scored one, or the last."""
    of_harness = "t.harness = (SELECT n FROM harnesses WHERE id = ?)"
    of_task = "t.task = (SELECT n FROM tasks WHERE id = ?)"
    asked = {"t.run = ?": run, of_harness: harness_id, of_task: task, "t.purpose = ?": purpose}
    where, values = _where(asked)
    standing = {row[:5]: row[5:] for row in reader.rows(_STANDING.format(where=where), values)}
    figures = figures_of(reader, "trials", "solver", where, values) if with_calls else {}
    trials = []
    for (harness, name, _, question, sample), (number, *row, texts) in sorted(standing.items()):
        calls = read_calls(texts, figures.get(number, ())) if with_calls else ()
        trials.append(read_trial((harness, name, question, sample, *row), calls))
    return trials


def find_rollouts(reader: Reader, run: int, context_id: str | None, index: int | None) -> list[Rollout]:
    """The rollouts of a run, or the one of a place in a context; by context and place."""
    where, values = _where({"t.run = ?": run, "t.context = ?": context_id, "t.place = ?": index})
    rows = reader.rows(
        "SELECT t.id, t.calls, t.context, t.place, t.candidate, t.code, t.body FROM rollouts t "
        f"WHERE {where} ORDER BY t.context, t.place",
        values,
    )
    figures = figures_of(reader, "rollouts", "proposer", where, values)
    harnesses = {row[4]: _harness(reader, row[4]) for row in rows if row[4] is not None}
    return [
        read_rollout(row, harnesses.__getitem__, read_calls(texts, figures.get(number, ())))
        for number, texts, *row in rows
    ]


def _where(conditions: dict[str, Any]) -> tuple[str, tuple[Any, ...]]:
    """SQL for the conditions that are asked, and their values."""
    asked = {sql: value for sql, value in conditions.items() if value is not None}
    return " AND ".join(asked), tuple(asked.values())


def figures_of(
    reader: Reader, owners: str, part: Part, where: str, values: tuple[Any, ...]
) -> dict[int, list[Row]]:
    """The figures of the calls of these owners, by owner, in order."""
    by_owner: dict[int, list[Row]] = defaultdict(list)
    sql = f"""
    SELECT c.owner, c.kind, c.finish_reason, c.prompt_tokens, c.completion_tokens, c.usd, c.seconds, c.cached,
           c.started
    FROM {owners} t CROSS JOIN calls c ON c.run = t.run AND c.part = {PARTS.index(part)} AND c.owner = t.id
    WHERE {where} ORDER BY c.owner, c.position
    """
    for owner, *row in reader.rows(sql, values):
        by_owner[owner].append(row)
    return by_owner


def _harness(reader: Reader, n: int) -> Harness:
    row = reader.row("SELECT source FROM harnesses WHERE n = ?", (n,))
    assert row is not None
    return Harness(unpack(row[0]))


def find_harness(reader: Reader, id_prefix: str) -> Harness | None:
    """The harness whose id begins so; None when there is none or its source was never recorded.

    Raises:
        ConfigError: several ids begin so.
    """
    rows = reader.rows(
        "SELECT id, source FROM harnesses WHERE id >= ? AND id < ? AND source IS NOT NULL LIMIT 3",
        (id_prefix, id_prefix + "\U0010ffff"),
    )
    if len(rows) > 1 and rows[0][0] != id_prefix:
        several = ", ".join(row[0][:16] for row in rows)
        raise ConfigError(f"{id_prefix!r} begins more than one harness id ({several}, …): write more of it")
    return Harness(unpack(rows[0][1])) if rows else None


def find_usage(reader: Reader, run: int, part: Part | None) -> Usage:
    """What the model calls of a run, or of a part of it, came to; those of a judge are only in the whole. A
    reply from the cache was not spent and does not count.
    """
    kinds = "kind IN ('model', 'judge')" if part is None else "kind = 'model'"
    parts = "" if part is None else f" AND part = {PARTS.index(part)}"
    row = reader.row(
        "SELECT count(*), sum(prompt_tokens), sum(completion_tokens), sum(usd), count(usd), sum(seconds) "
        f"FROM calls WHERE run = ? AND {kinds} AND NOT cached{parts}",
        (run,),
    )
    if row is None or not row[0]:
        return Usage()
    calls, prompt_tokens, completion_tokens, usd, n_priced, seconds = row
    return Usage(
        calls=calls,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        usd=usd if n_priced == calls else None,
        seconds=seconds,
    )


def find_tallies(reader: Reader, run: int) -> list[Tally]:
    """The trials of a run counted by harness, task, purpose and status, every infra_error included."""
    rows = reader.rows(
        "SELECT h.id, k.id, t.purpose, t.status, t.n, t.score, t.seconds FROM (SELECT harness, task, "
        "purpose, status, count(*) AS n, coalesce(sum(score), 0.0) AS score, sum(seconds) AS seconds "
        "FROM trials WHERE run = ? GROUP BY harness, task, purpose, status) t "
        "JOIN harnesses h ON h.n = t.harness JOIN tasks k ON k.n = t.task ORDER BY t.harness, k.id",
        (run,),
    )
    return [
        Tally(
            harness_id=harness,
            task=task,
            purpose=purpose,
            status=Status(status),
            n=n,
            score=score,
            seconds=seconds,
        )
        for harness, task, purpose, status, n, score, seconds in rows
    ]


def find_reply(reader: Reader, key: str) -> ModelReply | None:
    """The reply that is kept under a key, or None."""
    row = reader.row("SELECT body FROM cache WHERE key = ?", (key,))
    return read_reply(row[0]) if row else None
