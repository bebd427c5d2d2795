"""The plan of an episode: its settings, and what follows from them. The search modes are plans (`modes`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loriner.config import SearchSettings
from loriner.search.acceptance import Schedule, never_accepts, schedule


class Plan(SearchSettings):
    """How an episode searches: its settings, and what follows from them."""

    earlier: tuple[tuple[int, int], ...] = ()
    """A pair for each time it was given more rounds: the rounds made and the rounds planned by then."""

    def further(self, made: int, rounds: int) -> Plan:
        """The plan with more rounds. The `made` rounds stay as they were decided."""
        return self.model_copy(update={"rounds": rounds, "earlier": (*self.earlier, (made, self.rounds))})

    @property
    def stretches(self) -> dict[int, int]:
        """The rounds made before each stretch of the search, and the rounds that it may make.

        Each stretch has the whole level of acceptance, as a further run from its program would have.
        """
        begins, ends = [0], []
        for made, planned_ in self.earlier:
            begins.append(made)
            ends.append(planned_)
        return {begin: end - begin for begin, end in zip(begins, [*ends, self.rounds], strict=True)}

    @property
    def n_looks(self) -> int:
        """Candidates that may be tried in all."""
        return self.rounds * self.candidates

    def schedule(self, n_grade: int) -> Schedule:
        """The stages in which so many grade questions are asked, for the rounds of the first stretch."""
        return schedule(self.accept, n_grade, rounds=self.stretches[0], candidates=self.candidates)

    def never_accepts(self, n_grade: int) -> str:
        """The warning that no candidate can be accepted on so many grade questions; empty where one can."""
        hopeless = never_accepts(self.schedule(n_grade)) if n_grade else ""
        return f"nothing will be accepted: {hopeless} (--grade, --rounds, --accept)" if hopeless else ""


def planned(fields: Mapping[str, Any]) -> Plan:
    """The plan that a run began with, of its `Start`."""
    return Plan.model_validate(dict(fields))
