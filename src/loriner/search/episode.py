"""The plan of an episode. What it comes to is in `events` and `history`; `adapt` is the walk between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loriner.config import SearchSettings
from loriner.search.acceptance import Schedule, never_accepts, schedule


class Plan(SearchSettings):
    """How an episode searches: its settings, and what follows from them."""

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
        if self.revise == "seed":
            return "best-of-n" if self.oracle else "independent"
        return "tree" if self.revise == "tree" else "sequential"


def planned(fields: Mapping[str, Any]) -> Plan:
    """The plan that a run began with, of its `Start`."""
    return Plan.model_validate(dict(fields))
