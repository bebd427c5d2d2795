"""The end of an episode: what it shows is scored on the sealed questions, and sampled afresh.

A cap that is reached on the way ends nothing: what it kept from being scored is noted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from loriner.errors import BudgetReached
from loriner.evaluation.evaluator import Evaluator
from loriner.events import End, Name
from loriner.records import Evaluation, Harness, Question
from loriner.search.episode import Round, Standing
from loriner.search.record import Record
from loriner.tasks.base import Task


@dataclass(slots=True)
class Ending:
    """What the last scores of an episode need, and why the search ended."""

    task: Task
    lab: Evaluator
    record: Record
    grade: Sequence[Question]
    test: Sequence[Question]
    stop: End

    async def scored(self, standing: Mapping[Name, Standing]) -> dict[Name, Standing]:
        """The programs of these names with their sealed scores, then with their grade questions afresh."""
        found = dict(standing)
        for name, each in standing.items():
            await self.record.standing(name, each)
            found[name] = replace(each, test=await self._sealed(name, each.harness))
        for name, each in found.items():
            found[name] = replace(each, fresh=await self._afresh(each))
            self.record.stood(name, found[name])
        return found

    async def test_all(self, rounds: Sequence[Round]) -> None:
        """Scores every candidate on the test questions, for the record alone."""
        attempts = (attempt for each in rounds for attempt in each.attempts if attempt.considered)
        for harness in dict.fromkeys(each.rollout.candidate for each in attempts):
            if harness is not None:
                await self._sealed("a candidate", harness)

    def miss(self, what: str, reached: BudgetReached | None = None) -> None:
        """Notes what a cap kept from being scored."""
        if self.stop.reason != "budget":
            self.stop = End(reason="budget", why=str(reached))
        self.stop = replace(self.stop, missing=(*self.stop.missing, what))

    async def _sealed(self, name: str, harness: Harness) -> Evaluation | None:
        """Its trials on the sealed questions, or on those that a cap left; None where those are none."""
        if not self.test:
            return None
        try:
            return await self.lab.evaluate(self.task, harness, self.test, purpose="test")
        except BudgetReached as reached:
            found = self.lab.so_far(self.task, harness, self.test, purpose="test")
            n = len(self.test)
            self.miss(f"{n - len(found.trials)} of the {n} sealed questions of {name}", reached)
            return found if found.trials else None

    async def _afresh(self, standing: Standing) -> Evaluation | None:
        """The grade questions that it was scored on, sampled once more; None once a cap is reached."""
        if self.stop.reason == "budget":
            return None
        known = {trial.question_id for trial in standing.grade.trials}
        asked = [each for each in self.grade if each.id in known]
        try:
            both = await self.lab.evaluate(self.task, standing.harness, asked, purpose="grade", samples=2)
        except BudgetReached as reached:
            self.miss("the second sample of the grade questions", reached)
            return None
        return replace(both, trials=tuple(trial for trial in both.trials if trial.sample == 1))
