"""The end of an episode: what it shows is scored on the sealed questions, and sampled afresh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from loriner.evaluation.evaluator import Evaluator
from loriner.records import Evaluation, Harness, Question
from loriner.search.episode import Round, Standing
from loriner.search.record import Record
from loriner.tasks.base import Task


@dataclass(frozen=True, slots=True)
class Ending:
    """What the last scores of an episode need."""

    task: Task
    lab: Evaluator
    record: Record
    grade: Sequence[Question]
    test: Sequence[Question]

    async def scored(self, standing: Mapping[str, Standing]) -> dict[str, Standing]:
        """The programs of these names with their sealed scores, then with their grade questions afresh."""
        found = dict(standing)
        for name, each in standing.items():
            await self.record.standing(name, each)
            found[name] = replace(each, test=await self._sealed(each.harness))
        for name, each in found.items():
            found[name] = replace(each, fresh=await self._afresh(each))
            self.lab.observe("stood", name=name, standing=found[name])
        return found

    async def test_all(self, rounds: Sequence[Round]) -> None:
        """Scores every candidate on the test questions, for the record alone."""
        attempts = (attempt for each in rounds for attempt in each.attempts if attempt.considered)
        for harness in dict.fromkeys(each.rollout.candidate for each in attempts):
            if harness is not None:
                await self._sealed(harness)

    async def _sealed(self, harness: Harness) -> Evaluation | None:
        """Its trials on the sealed questions; None where they stay sealed."""
        if not self.test:
            return None
        return await self.lab.evaluate(self.task, harness, self.test, purpose="test")

    async def _afresh(self, standing: Standing) -> Evaluation:
        """The grade questions that it was scored on, sampled once more."""
        known = {trial.question_id for trial in standing.grade.trials}
        asked = [each for each in self.grade if each.id in known]
        both = await self.lab.evaluate(self.task, standing.harness, asked, purpose="grade", samples=2)
        return replace(both, trials=tuple(trial for trial in both.trials if trial.sample == 1))
