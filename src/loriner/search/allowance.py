"""How much the search of an episode has used, and how much it may use.

A reply from the cache counts as if it had been paid for, so that it does not matter which of several episodes
asked first. Sealed test trials do not belong to the search and are not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import get_args

from loriner.models.meter import Allowance, Unit
from loriner.records import Call, Evaluation, Trial, Usage

UNITS: tuple[Unit, ...] = get_args(Unit)


@dataclass(slots=True)
class Bill:
    """What a search has used. Each trial and completion is counted once."""

    solver: Usage = field(default_factory=Usage)
    proposer: Usage = field(default_factory=Usage)
    _entered: set[tuple[str, ...]] = field(default_factory=set)

    def add_trials(self, evaluation: Evaluation) -> None:
        """Enters the calls of an evaluation; a second entry for the same trial changes nothing."""
        for trial in evaluation.trials:
            place = (evaluation.purpose, trial.harness_id, trial.question_id, str(trial.sample))
            if self._enter("trial", *place):
                self.solver += usage_of(trial.calls)

    def add_completion(self, context_id: str, index: int, calls: Iterable[Call]) -> None:
        """Enters the calls of a completion; a second entry for the same one changes nothing."""
        if self._enter("completion", context_id, str(index)):
            self.proposer += usage_of(calls)

    def used(self, unit: Unit) -> float:
        """How much of `unit` the search has used; infinite if a price is unknown."""
        return used(unit, self.solver, self.proposer)

    def reaches(self, allowance: Allowance | None) -> bool:
        """Whether nothing is left of the allowance."""
        return allowance is not None and self.used(allowance.unit) >= allowance.amount

    def exceeds(self, allowance: Allowance | None) -> bool:
        """Whether more was used than the allowance."""
        return allowance is not None and self.used(allowance.unit) > allowance.amount

    def _enter(self, *key: str) -> bool:
        new = key not in self._entered
        self._entered.add(key)
        return new


def used(unit: Unit, solver: Usage, proposer: Usage | None = None) -> float:
    """The total of these in `unit`; infinite if a price is unknown."""
    if unit == "calls":
        return solver.calls
    both = solver + (proposer or Usage())
    if unit == "tokens":
        return both.prompt_tokens + both.completion_tokens
    return float("inf") if both.usd is None else both.usd


def calls_a_question(trials: Sequence[Trial]) -> float | None:
    """Solver calls of the trials by their questions; None without any."""
    questions = {trial.question_id for trial in trials}
    n_calls = usage_of(call for trial in trials for call in trial.calls).calls
    return n_calls / len(questions) if questions else None


def usage_of(calls: Iterable[Call]) -> Usage:
    """The total usage of model calls, with those that the cache answered."""
    total = Usage()
    for call in calls:
        if call.kind == "model":
            total += Usage(
                calls=1,
                prompt_tokens=call.prompt_tokens,
                completion_tokens=call.completion_tokens,
                usd=call.usd,
                seconds=call.seconds,
            )
    return total
