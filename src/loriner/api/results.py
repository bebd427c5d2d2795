"""What an adaptation comes to, as a caller holds it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loriner.events import Name, Reason, Round, Standing
from loriner.records import Harness
from loriner.search.history import Adaptation
from loriner.statistics import Interval, interval


@dataclass(frozen=True, slots=True)
class Scored:
    """A harness with its scores."""

    harness: Harness
    grade: Interval
    test: Interval | None
    standing: Standing

    @property
    def source(self) -> str:
        return self.harness.source

    def diff(self, other: Scored) -> str:
        """What changed from `other` to this one, as a unified diff."""
        lines = difflib.unified_diff(
            other.source.splitlines(), self.source.splitlines(), "before", "after", lineterm=""
        )
        return "\n".join(lines)

    def save(self, path: str | Path) -> None:
        """Writes the program."""
        Path(path).write_text(self.source, encoding="utf-8")

    def __str__(self) -> str:
        shown = f"{self.harness.id[:12]}: grade {self.grade}"
        return shown if self.test is None else f"{shown}, test {self.test}"


@dataclass(frozen=True, slots=True)
class Run:
    """What an adaptation came to."""

    id: str
    seed: Scored
    best: Scored
    history: tuple[Round, ...]
    candidate: Scored | None = None
    """What led and was not confirmed; `candidate.standing.reason` says what was missing."""
    stopped: Reason = "rounds"
    """Why the search ended; after `budget`, `adapt(…, resume=run.id)` goes on with a larger cap."""
    why: str = ""
    """The figures behind the reason, in words."""
    missing: tuple[str, ...] = ()
    """What a cap kept from being scored, in words."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison of search modes came to."""

    id: str
    document: dict[str, Any]
    """Every figure of the report, as `loriner report RUN --json` prints it."""


def as_run(found: Adaptation) -> Run:
    return Run(
        id=found.run_id,
        seed=_scored(found, "seed", found.seed),
        best=_scored(found, "best", found.best),
        history=found.rounds,
        candidate=None if found.candidate is None else _scored(found, "candidate", found.candidate),
        stopped=found.stopped.reason,
        why=found.stopped.why,
        missing=found.stopped.missing,
    )


def _scored(found: Adaptation, name: Name, each: Standing) -> Scored:
    test = interval(list(each.test.values())) if each.test else None
    return Scored(found.programs[name], interval(list(each.grade.values())), test, each)
