"""What an episode is made of: its plan, the attempts of each round, how seed and best stand.

Records only; `adapt` is the walk that fills them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from loriner.config import SearchSettings
from loriner.events import End, Start
from loriner.records import Evaluation, Fault, Harness, Rollout
from loriner.search.acceptance import Schedule, never_accepts, schedule
from loriner.search.allowance import Allowance, Bill
from loriner.statistics import Decision


class Plan(SearchSettings):
    """How an episode searches: its settings, and what makes one mode of a comparison differ from another."""

    revise: Literal["current", "seed"] = "current"
    """What a round revises: the version accepted last, or always the seed, with no memory of other rounds."""
    allowance: Allowance | None = None
    """What the search may use: then no round begins, and a candidate that went beyond does not count."""
    oracle: bool = False
    """Score every candidate on the test questions too, to report the best of them; it decides nothing."""

    @property
    def n_looks(self) -> int:
        """Candidates that may be tried in all."""
        return self.rounds * self.candidates

    def schedule(self, n_grade: int) -> Schedule:
        """The order in which so many grade questions are asked."""
        return schedule(self.accept, n_grade, rounds=self.rounds, candidates=self.candidates)

    def never_accepts(self, n_grade: int) -> str:
        """The warning that no candidate can be accepted on so many grade questions; empty where one can."""
        hopeless = never_accepts(self.schedule(n_grade)) if n_grade else ""
        return f"nothing will be accepted: {hopeless} (--grade, --rounds, --accept)" if hopeless else ""

    @property
    def mode(self) -> str:
        """Its name in reports."""
        if self.revise == "current":
            return "sequential"
        return "best-of-n" if self.oracle else "independent"


def planned(told: Mapping[str, Any]) -> Plan:
    """The plan that a run told of when it began."""
    return Plan.model_validate(dict(told))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One rollout of a round with what its candidate scored."""

    rollout: Rollout
    grade: Evaluation | None
    """Its trials on grade questions up to this round; None when there was no candidate."""
    before: float | None = None
    """Mean score of the current program on the same questions."""
    decision: Decision | None = None
    """None when there was no candidate, or another of the round scored better."""
    considered: bool = True
    """Whether it was new and came within the allowance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one round tried and what it changed."""

    number: int
    attempts: tuple[Attempt, ...]
    accepted: Harness | None
    grade: float | None
    """Mean grade score of the current harness after the round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A harness with its scores and faults."""

    harness: Harness
    grade: Evaluation
    """The scores by which it was chosen."""
    test: Evaluation | None
    faults: Counter[Fault]
    """Among the grade trials."""
    fresh: Evaluation | None = None
    """The grade questions once more, with other sampling seeds: without the luck of the draw."""
    reason: str = ""
    """For a candidate that was not accepted: why not, and what would confirm it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptation:
    """An episode from its seed to its best version."""

    run_id: str
    task: str
    proposer: str
    start: Start
    seed: Standing
    best: Standing
    candidate: Standing | None = None
    """The program furthest ahead of the best one on grade questions of those that were not accepted."""
    rounds: tuple[Round, ...]
    stopped: End
    bill: Bill = field(default_factory=Bill)
    """What the search used."""
