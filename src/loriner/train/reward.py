"""The reward of a completion: the revised program is run, and scored by what it answers.

Text in, numbers out; no trainer is imported here and no group is known. All completions in a context meet
the same grade questions with the same solver seeds and settings, and equal candidates share one evaluation,
so that what tells two of them apart is their program. Our own faults give no reward at all, never a low one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from loriner.errors import ConfigError, InfrastructureError, ModelError
from loriner.evaluation.evaluator import Evaluator, gathered, together
from loriner.propose.proposer import Completion, parsed, read
from loriner.records import Evaluation, Harness, Question, Rollout
from loriner.tasks.base import Task
from loriner.train.exercise import Exercise

PARSED = 0.05
APPLIED = 0.10
COMPLETED = 0.15
"""Weights of the validity bonus. Source: arXiv 2609.35738 as summarised; read as additive,
docs/training.md.
"""
VALID = PARSED + APPLIED + COMPLETED
"""The bonus of a program that runs, as one that is to be revised does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """The reward of one completion, in its parts: that it ran and that it ran well stay apart."""

    score: float
    """J: mean score over the grade questions, in [0, 1]; 0 when there is no candidate."""
    parsed: bool
    """It held well-formed edit blocks."""
    applied: bool
    """They made a candidate."""
    completion_rate: float
    """Share of the trials that returned non-empty text, in [0, 1]."""

    @property
    def validity(self) -> float:
        """The validity bonus, in [0, 0.3]."""
        return PARSED * self.parsed + APPLIED * self.applied + COMPLETED * self.completion_rate

    @property
    def total(self) -> float:
        """In [0, 1.3]."""
        return self.score + self.validity


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A completion, what became of it, and its reward."""

    rollout: Rollout
    reward: Reward | None
    """None when it could not be scored through our fault."""
    before: float | None = None
    """Mean score of the context's own program on the same grade questions; None when not scored, or not asked
    for.
    """

    @property
    def complete(self) -> bool:
        """Whether the completion and the program that it revises were both scored."""
        return self.reward is not None and self.before is not None


@dataclass(slots=True, kw_only=True)
class Rewarder:
    """Scores completions by running their candidates."""

    lab: Evaluator
    tasks: Mapping[str, Task]
    """By name: every task that an exercise can come from."""
    deadline_s: float = 900.0
    """Wall time of one `reward`. Beyond it the machine is at fault (each trial has limits of its own)."""
    _questions: dict[str, dict[str, Question]] = field(default_factory=dict)

    async def reward(self, exercise: Exercise, completion: str) -> Reward | None:
        """The reward, or None when infrastructure failed or the deadline passed.

        Raises:
            BudgetReached: a cap of the run is reached.
            ConfigError: the exercise names a task or a question that is not here.
        """
        return (await self.scored(exercise, completion)).reward

    async def scored(self, exercise: Exercise, completion: str, index: int = 0) -> Scored:
        """As `reward`, with the rollout that the completion makes."""
        rollout = read(exercise.context, index, Completion(completion))
        if rollout.candidate is None:
            reward = Reward(score=0.0, parsed=parsed(rollout), applied=False, completion_rate=0.0)
            return Scored(rollout=rollout, reward=reward)
        evaluation = await self.evaluate(exercise, rollout.candidate)
        return Scored(rollout=rollout, reward=None if evaluation is None else _reward(evaluation))

    async def scored_all(
        self, exercises: Sequence[Exercise], completions: Sequence[str], indices: Sequence[int]
    ) -> list[Scored]:
        """Each completion in its exercise, scored together and beside its program; the order is kept."""
        rows = zip(exercises, completions, indices, strict=True)
        distinct = {each.context.id: each for each in exercises}
        async with together() as group:
            parents = group.create_task(self.unrevised(list(distinct.values())))
            scored = [group.create_task(self.scored(*row)) for row in rows]
        before = dict(zip(distinct, parents.result(), strict=True))
        return [
            replace(each.result(), before=before[exercise.context.id])
            for each, exercise in zip(scored, exercises, strict=True)
        ]

    async def unrevised(self, exercises: Sequence[Exercise]) -> list[float | None]:
        """Mean scores of the exercises' own programs on their grade questions; None as in `evaluate`."""
        found = await gathered(self.evaluate(each, each.context.harness) for each in exercises)
        return [None if each is None else each.mean_score for each in found]

    async def evaluate(self, exercise: Exercise, harness: Harness) -> Evaluation | None:
        """A program on the exercise's grade questions; None unless every one of them was scored."""
        task, questions = self.graders(exercise)
        try:
            async with asyncio.timeout(self.deadline_s):
                found = await self.lab.evaluate(task, harness, questions, purpose="grade")
        except (InfrastructureError, ModelError, TimeoutError):
            return None
        except asyncio.CancelledError:
            # An equal candidate's deadline ended the evaluation that this one shared; we were not cancelled.
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise
            return None
        return None if found.n_infra_errors else found

    def graders(self, exercise: Exercise) -> tuple[Task, list[Question]]:
        """The task of an exercise and its grade questions.

        Raises:
            ConfigError: this machine's task is not the one that the exercise was drawn from.
        """
        lacking = self.lacking(exercise)
        if lacking:
            raise ConfigError(
                f"{exercise.context.task} has no grade question {lacking[0]}: draw the contexts anew"
            )
        name = exercise.context.task
        return self.tasks[name], [self._questions[name][each] for each in exercise.grade]

    def lacking(self, exercise: Exercise) -> list[str]:
        """Ids of the exercise's grade questions that this machine's task does not have.

        Raises:
            ConfigError: the task is not here at all.
        """
        name = exercise.context.task
        if name not in self.tasks:
            raise ConfigError(f"contexts of the task {name}, but the suite has {', '.join(self.tasks)}")
        if name not in self._questions:
            self._questions[name] = {each.id: each for each in self.tasks[name].questions("grade")}
        return [each for each in exercise.grade if each not in self._questions[name]]


def _reward(evaluation: Evaluation) -> Reward:
    return Reward(
        score=evaluation.mean_score or 0.0,
        parsed=True,
        applied=True,
        completion_rate=evaluation.completion_rate,
    )
