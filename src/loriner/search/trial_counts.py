"""How many trials an episode runs: of a round, and at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loriner.search.plan import Plan


@dataclass(frozen=True, slots=True)
class TrialCounts:
    """The trials of an episode, from its plan and the number of questions that it may use of each split."""

    plan: Plan
    n: Mapping[str, int]
    """Questions of `feedback`, `grade` and `test`."""

    @property
    def window(self) -> int:
        """Feedback trials of a round in which something fails."""
        return min(self.plan.feedback, self.n["feedback"])

    @property
    def first(self) -> int:
        """The fewest grade trials that a program gets."""
        return self.plan.schedule(self.n["grade"]).stages[0].end if self.n["grade"] else 0

    @property
    def chosen(self) -> int:
        """Grade trials of a round whose leader is refused as soon as it is known."""
        stages = self.plan.schedule(self.n["grade"]).stages if self.n["grade"] else ()
        choosing = [each for each in stages if each.n_candidates > 1] or stages[:1]
        return sum((each.end - each.start) * each.n_candidates for each in choosing)

    @property
    def contested(self) -> int:
        """Grade trials of a round whose leader is scored on all questions."""
        stages = self.plan.schedule(self.n["grade"]).stages if self.n["grade"] else ()
        return sum((each.end - each.start) * each.n_candidates for each in stages)

    def ending(self, n_programs: int, n_grade: int) -> int:
        """Trials after the search: each program's sealed questions, and `n_grade` grade questions again."""
        return n_programs * (self.n["test"] + n_grade)

    def ahead(self, n_rounds: int) -> int:
        """Trials of so many rounds and of the end, if each round scores its leader on all questions."""
        rounds = n_rounds * (self.window + self.contested)
        return rounds + self.ending(2, self.n["grade"])
