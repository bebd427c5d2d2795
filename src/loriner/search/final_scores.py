"""The final scores of an episode: its programs on the sealed questions, and once more on the grade questions.

A cap that is reached on the way does not stop them: what it left unscored is noted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from loriner.errors import BudgetReached
from loriner.evaluation.evaluator import Evaluator
from loriner.events import End, Name
from loriner.records import Evaluation, Harness, Question
from loriner.search.episode_record import EpisodeRecord, Graded
from loriner.tasks.base import Task


@dataclass(slots=True)
class FinalScores:
    """Scores the final programs of an episode, and notes what a cap left out."""

    task: Task
    lab: Evaluator
    record: EpisodeRecord
    grade: Sequence[Question]
    test: Sequence[Question]
    stop: End

    async def scored(self, shown: Mapping[Name, Graded]) -> None:
        """Keeps how the programs of these names stand: first as chosen, then with their sealed scores, and
        last with their grade questions afresh.
        """
        sealed: dict[Name, Evaluation | None] = {}
        for name, each in shown.items():
            await self.record.standing(name, each)
            sealed[name] = await self._sealed(name, each.harness)
            await self.record.standing(name, each, sealed[name])
        for name, each in shown.items():
            fresh = await self._afresh(each)
            self.lab.observe(await self.record.standing(name, each, sealed[name], fresh))

    async def test_all(self, candidates: Iterable[Harness]) -> None:
        """Scores every candidate on the test questions, for the record alone."""
        for harness in dict.fromkeys(candidates):
            await self._sealed("a candidate", harness)

    def miss(self, what: str, reached: BudgetReached | None = None) -> None:
        """Notes what a cap left unscored."""
        if self.stop.reason != "budget":
            self.stop = replace(self.stop, reason="budget", why=str(reached))
        self.stop = replace(self.stop, missing=(*self.stop.missing, what))

    async def _sealed(self, name: str, harness: Harness) -> Evaluation | None:
        """Its trials on the sealed questions, up to a cap; None if there are none."""
        if not self.test:
            return None
        try:
            return await self.lab.evaluate(self.task, harness, self.test, purpose="test")
        except BudgetReached as reached:
            found = self.lab.so_far(self.task, harness, self.test, purpose="test")
            n = len(self.test)
            self.miss(f"{n - len(found.trials)} of the {n} sealed questions of {name}", reached)
            return found if found.trials else None

    async def _afresh(self, graded: Graded) -> Evaluation | None:
        """The grade questions that it was scored on, sampled once more; None once a cap is reached."""
        if self.stop.reason == "budget":
            return None
        known = {trial.question_id for trial in graded.grade.trials}
        asked = [each for each in self.grade if each.id in known]
        try:
            both = await self.lab.evaluate(self.task, graded.harness, asked, purpose="grade", samples=2)
        except BudgetReached as reached:
            self.miss("the second sample of the grade questions", reached)
            return None
        return replace(both, trials=tuple(trial for trial in both.trials if trial.sample == 1))
