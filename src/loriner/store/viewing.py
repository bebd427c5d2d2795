"""Trials as a viewer asks for them: filtered, one page at a time, each under its number in the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from loriner.records import Status, Trial
from loriner.store.queries import figures_of
from loriner.store.reader import Reader
from loriner.store.rows import Row, read_calls, read_trial

_RIGHT = (Status.OK, Status.INFRA_ERROR)
"""What is not wrong: the first is right, the second is not scored."""

_FROM = """
FROM trials t JOIN harnesses h ON h.n = t.harness JOIN tasks k ON k.n = t.task
JOIN questions q ON q.n = t.question
WHERE t.run = ? AND (t.attempt = 0 OR NOT EXISTS (
    SELECT 1 FROM trials o WHERE o.run = t.run AND o.harness = t.harness AND o.task = t.task
    AND o.purpose = t.purpose AND o.question = t.question AND o.sample = t.sample
    AND (o.attempt = 0 OR o.attempt > t.attempt)))
"""
"""The standing trials: of each place the one that counts or, where there is none, the last infra_error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which trials of a run; what is None or empty does not matter."""

    wrong: bool = False
    harness_ids: Sequence[str] | None = None
    task: str | None = None
    purpose: str | None = None
    question_id: str | None = None
    sample: int | None = None
    number: int | None = None

    @property
    def sql(self) -> tuple[str, tuple[Any, ...]]:
        """The conditions after `_FROM`, with their values."""
        equal = {
            "k.id": self.task,
            "t.purpose": self.purpose,
            "q.id": self.question_id,
            "t.sample": self.sample,
            "t.id": self.number,
        }
        asked: list[tuple[str, tuple[Any, ...]]] = [
            (f"{column} = ?", (value,)) for column, value in equal.items() if value is not None
        ]
        if self.harness_ids is not None:
            asked.append((f"h.id IN ({_marks(self.harness_ids)})", tuple(self.harness_ids)))
        if self.wrong:
            asked.append((f"t.status NOT IN ({_marks(_RIGHT)})", tuple(map(str, _RIGHT))))
        values = tuple(value for _, found in asked for value in found)
        return "".join(f" AND {condition}" for condition, _ in asked), values


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewed:
    """A trial with its calls, as the store knows it."""

    number: int
    """Its number in the store, by which it can be asked for again."""
    purpose: str
    trial: Trial


@dataclass(frozen=True, slots=True)
class Numbered:
    """A trial by its number, without its texts."""

    number: int
    harness_id: str
    task: str
    question_id: str
    sample: int
    score: float | None


def find_viewed(reader: Reader, run: int, wanted: Wanted, *, after: int, limit: int) -> list[Viewed]:
    """The trials with numbers above `after`, in the order in which they were recorded."""
    conditions, values = wanted.sql
    rows = reader.rows(
        "SELECT t.id, t.purpose, h.id, k.id, q.id, t.sample, t.status, t.detail, t.score, t.seconds, "
        f"t.cpu_s, t.started {_FROM}{conditions} AND t.id > ? ORDER BY t.id LIMIT ?",
        (run, *values, after, limit),
    )
    texts = _texts(reader, [row[0] for row in rows])
    return [_viewed(row, *texts[row[0]]) for row in rows]


def count_viewed(reader: Reader, run: int, wanted: Wanted) -> int:
    """How many trials `find_viewed` has in all."""
    conditions, values = wanted.sql
    row = reader.row(f"SELECT count(*) {_FROM}{conditions}", (run, *values))
    return int(row[0]) if row else 0


def find_numbers(reader: Reader, run: int, purpose: str) -> list[Numbered]:
    """The trials of a purpose without their texts."""
    rows = reader.rows(
        f"SELECT t.id, h.id, k.id, q.id, t.sample, t.score {_FROM} AND t.purpose = ? ORDER BY t.id",
        (run, purpose),
    )
    return [Numbered(*row) for row in rows]


def _viewed(row: Row, body: bytes, calls: bytes | None, figures: Sequence[Row]) -> Viewed:
    number, purpose, *facts = row
    return Viewed(
        number=number, purpose=purpose, trial=read_trial((*facts, body), read_calls(calls, figures))
    )


def _texts(reader: Reader, numbers: Sequence[int]) -> dict[int, tuple[bytes, bytes | None, list[Row]]]:
    """What the program and the model said, and the figures of the calls, by the number of the trial."""
    where, values = f"t.id IN ({_marks(numbers)})", tuple(numbers)
    figures = figures_of(reader, "trials", "solver", where, values)
    sql = f"SELECT p.trial, p.body, p.calls FROM payloads p WHERE p.trial IN ({_marks(numbers)})"
    return {
        number: (body, calls, figures.get(number, [])) for number, body, calls in reader.rows(sql, values)
    }


def _marks(values: Iterable[Any]) -> str:
    return ", ".join("?" for _ in values)
