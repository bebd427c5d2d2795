"""Scores without a model: one answer for all questions, or the answer of the nearest feedback item."""

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
    """Scores of always giving it."""
    copied_scores: Mapping[str, float]
    """Scores of copying the answer of the nearest feedback item; empty for a task without feedback items."""


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
    """The score of copying the answer of the nearest feedback item, by question.

    The tool `examples` finds the nearest item.

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
