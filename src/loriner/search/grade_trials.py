"""Grade trials: the current program and a round's candidates on ever more of the grade questions.

All programs are scored on the questions in one fixed order, each up to some place. So any two programs
share the questions of the one that has fewer. Scores are kept: a later round asks only for new ones.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from loriner.records import Evaluation, Harness, Question
from loriner.search.acceptance import Ruling, Schedule, ruling_on

Evaluate = Callable[[Harness, Sequence[Question]], Awaitable[Evaluation]]
"""The trials of a program on some grade questions. Stored ones cost nothing."""


@dataclass(frozen=True, slots=True)
class RuledLeader:
    """The leader of a round, and the ruling on it."""

    leader: Harness
    ruling: Ruling


@dataclass(slots=True)
class GradeTrials:
    """All grade trials of an episode, and the rule by which they decide."""

    pool: Sequence[Question]
    plan: Schedule
    evaluate: Evaluate
    spent: Callable[[], bool]
    """Whether the search has used more than its allowance."""
    known: dict[str, Evaluation] = field(default_factory=dict)
    """The trials of each program so far, by its id."""
    scored: dict[str, tuple[Evaluation, Mapping[str, float]]] = field(default_factory=dict)
    """The scores of each program, with the evaluation that they were computed from."""
    n_confirmations: int = 0
    """Confirmations that began since the last acceptance."""

    def begin(self, rounds: int) -> None:
        """Begins a further stretch of so many rounds, with the whole error level."""
        self.plan, self.n_confirmations = replace(self.plan, rounds=rounds), 0

    async def grade(self, harness: Harness, n_stages: int = 1) -> Evaluation:
        """The trials of a program on the questions of the first stages, at least."""
        end = self.plan.stages[n_stages - 1].end
        known = self.known.get(harness.id)
        if known is None or len(known.trials) < end:
            self.known[harness.id] = await self.evaluate(harness, self.pool[:end])
        return self.known[harness.id]

    async def contest(self, current: Harness, candidates: Sequence[Harness]) -> RuledLeader | None:
        """The best candidate with the ruling on it; None without candidates.

        Each stage scores fewer candidates on more questions. Nothing is accepted once the allowance is
        exceeded.
        """
        outcome: RuledLeader | None = None
        for number, stage in enumerate(self.plan.stages, 1):
            candidates = self._best(candidates, stage.n_candidates, number - 1)
            for each in (current, *candidates):
                await self.grade(each, number)
            if not (leading := self._best(candidates, 1, number)):
                return None
            outcome = RuledLeader(leading[0], self.ruling_on(current, leading[0], number))
            if outcome.ruling.state != "more" or self.spent():
                break
        if outcome is not None:
            self._count(outcome.ruling)
        return outcome

    def ruling_on(self, current: Harness, candidate: Harness, n_stages: int) -> Ruling:
        """The ruling on a candidate after so many stages."""
        return self._ruling(self._scores(current.id), self._scores(candidate.id), n_stages)

    def closed(self, current: Harness) -> bool:
        """Whether the rule would refuse even a candidate that is right on every question of the pool."""
        known = self._scores(current.id)
        before = {each.id: known.get(each.id, 0.0) for each in self.pool}
        after = dict.fromkeys(before, 1.0)
        states = (self._ruling(before, after, n + 1).state for n in range(len(self.plan.stages)))
        return next((state for state in states if state != "more"), "more") != "accept"

    def _ruling(self, before: Mapping[str, float], after: Mapping[str, float], n_stages: int) -> Ruling:
        asked = [
            [question.id for question in self.pool[stage.start : stage.end]]
            for stage in self.plan.stages[:n_stages]
        ]
        return ruling_on(self.plan, asked, before, after, confirmation=self.n_confirmations + 1)

    def lead(self, candidate: str, current: str) -> float | None:
        """The mean difference over the questions that both programs have scores on; None without any."""
        after, before = self._scores(candidate), self._scores(current)
        both = after.keys() & before.keys()
        return fmean(after[each] - before[each] for each in sorted(both)) if both else None

    def mean_beside(self, harness: str, other: str) -> float | None:
        """The mean score of one program on the questions that the other has a score on too."""
        own, others = self._scores(harness), self._scores(other)
        shared = [own[each] for each in sorted(own.keys() & others.keys())]
        return fmean(shared) if shared else None

    def perfect(self, harness: Harness) -> bool:
        """Whether every trial so far is right."""
        return self.known[harness.id].mean_score == 1.0

    def _scores(self, harness: str) -> Mapping[str, float]:
        """The scores of a program by question."""
        known = self.known[harness]
        if harness not in self.scored or self.scored[harness][0] is not known:
            self.scored[harness] = known, known.scores
        return self.scored[harness][1]

    def _best(self, candidates: Iterable[Harness], n: int, n_stages: int) -> list[Harness]:
        """The `n` with the best mean so far, the earlier of equals first; before any trial, all."""
        if not n_stages:
            return list(candidates)
        scored = [each for each in candidates if self.known[each.id].mean_score is not None]
        return sorted(scored, key=lambda each: -(self.known[each.id].mean_score or 0.0))[:n]

    def _count(self, ruling: Ruling) -> None:
        if ruling.state == "accept":
            self.n_confirmations = 0
        elif ruling.began:
            self.n_confirmations += 1
