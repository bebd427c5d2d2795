"""The plan of an episode. What it comes to is in `events` and `history`; `adapt` is the walk between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from loriner.search.acceptance import Schedule, never_accepts, schedule
from loriner.search.allowance import Allowance
from loriner.statistics import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How an episode searches."""

    rounds: int = 10
    candidates: int = 1
    """Completions in each round."""
    accept: Rule = "paired"
    revise: Literal["current", "seed"] = "current"
    """What a round revises: the version accepted last, or always the seed, with no memory of other rounds."""
    feedback: int = 16
    """Feedback questions that a round shows: the next ones of the split, and more while all are right."""
    grade: int = 128
    """Grade questions, at most: those that a candidate may be scored on."""
    test: int = 64
    """Test questions, at most; 0 leave the test split sealed."""
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


def planned(fields: Mapping[str, Any]) -> Plan:
    """The plan that a run began with, of its `Start`."""
    allowance = fields.get("allowance")
    return Plan(**{**fields, "allowance": None if allowance is None else Allowance(**allowance)})
