"""What the questions of a task give away without a model: one answer for all, or that of the nearest item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loriner.evaluation.constant_baseline import constant_baseline
from loriner.evaluation.examples import feedback_examples
from loriner.records import Question
from loriner.tasks.base import Task, is_judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Baselines:
    """What two programs without a model earn on each question, by id."""

    constant: str | None
    """The commonest right answer of the feedback questions."""
    constant_scores: Mapping[str, float]
    """Of giving it always."""
    copied_scores: Mapping[str, float]
    """Of copying the answer of the nearest feedback item; empty for a task without any."""


async def baselines(task: Task, known: Sequence[Question], asked: Sequence[Question]) -> Baselines:
    """Both baselines on the questions `asked`; the constant answer is that of the questions `known`.

    Raises:
        TaskError: the task's scorer breaks its contract.
    """
    if is_judged(task):  # what always giving one answer earns is not worth a call for each question
        return Baselines(constant=None, constant_scores={}, copied_scores={})
    constant, scores = await constant_baseline(task, known, asked)
    copied = await nearest_baseline(task, asked)
    return Baselines(constant=constant, constant_scores=scores, copied_scores=copied)


async def nearest_baseline(task: Task, asked: Sequence[Question]) -> dict[str, float]:
    """What copying the answer of the nearest feedback item earns on each question. Nearness is that of the
    tool `examples`.

    Raises:
        TaskError: the task's scorer breaks its contract.
    """
    index = feedback_examples(task)
    nearest = {each.id: index.find(each.text, 1, without=each.text) for each in asked}
    return {
        each.id: (await task.score(each, found[0]["answer"])).value
        for each in asked
        if (found := nearest[each.id])
    }
