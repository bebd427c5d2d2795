"""The plan of an episode. What it comes to is in `events` and `history`; `adapt` is the walk between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from loriner.config import SearchSettings
from loriner.search.acceptance import Schedule, never_accepts, schedule
from loriner.search.allowance import Allowance


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


def planned(fields: Mapping[str, Any]) -> Plan:
    """The plan that a run began with, of its `Start`."""
    return Plan.model_validate(dict(fields))
