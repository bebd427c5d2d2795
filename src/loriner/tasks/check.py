"""Whether a task keeps its promises: right answers score 1; and what an empty or a constant answer earns."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loriner.errors import TaskError
from loriner.records import Question
from loriner.tasks.base import SPLITS, Split, Task
from loriner.tasks.format_varied import VariedTask


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongGold:
    """A right answer that does not score 1."""

    question_id: str
    score: float
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """What a check found."""

    task: str
    n: Mapping[Split, int]
    """Questions of each split."""
    n_checked: int
    """Questions whose right answer was scored."""
    wrong_gold: tuple[WrongGold, ...]
    empty_score: float
    """What the scorer says of an empty answer. In a run it is not asked: an empty answer counts 0."""
    constant_answer: str
    """The right answer seen most often on the feedback questions."""
    constant_score: float
    """The mean score on the checked questions of always giving it."""
    median_question_length: int
    """In characters."""

    @property
    def passed(self) -> bool:
        """Whether right answers score 1 (there was one at least) and an empty one 0."""
        return not self.wrong_gold and self.n_checked > 0 and self.empty_score == 0.0


async def check(task: Task, *, limit: int | None = None) -> TaskReport:
    """The report on a task, from at most `limit` questions of each split. The task is closed afterwards.

    Raises:
        TaskError: the task has no question, or its scorer breaks its contract.
    """
    try:
        return await _check(task, limit)
    finally:
        await task.close()


async def _check(task: Task, limit: int | None) -> TaskReport:
    by_split = {split: _questions(task, split) for split in SPLITS}
    picked = [question for questions in by_split.values() for question in questions[:limit]]
    if not picked:
        raise TaskError(f"task {task.name} has no question")
    golds = [(question, _right_reply(task, question)) for question in picked]
    scored = [(question, gold) for question, gold in golds if gold is not None]
    wrong = [each for question, gold in scored if (each := await _wrong(task, question, gold)) is not None]
    constant = _constant(by_split["feedback"][:limit] or picked)
    return TaskReport(
        task=task.name,
        n={split: len(questions) for split, questions in by_split.items()},
        n_checked=len(scored),
        wrong_gold=tuple(wrong),
        empty_score=(await task.score(picked[0], "")).value,
        constant_answer=constant,
        constant_score=await _mean_score(task, picked, constant) if constant else 0.0,
        median_question_length=round(statistics.median(len(question.text) for question in picked)),
    )


def gold_text(question: Question) -> str | None:
    """A right answer as text: the target or the first of several; None where it is something else."""
    target = question.target
    if isinstance(target, list | tuple) and target:
        target = target[0]
    if isinstance(target, int | float) and not isinstance(target, bool):
        target = str(target)
    return target if isinstance(target, str) and target.strip() else None


def _right_reply(task: Task, question: Question) -> str | None:
    return task.right_reply(question) if isinstance(task, VariedTask) else gold_text(question)


def _questions(task: Task, split: Split) -> Sequence[Question]:
    try:
        return task.questions(split)
    except TaskError:  # an empty split: its n says so
        return []


async def _wrong(task: Task, question: Question, gold: str) -> WrongGold | None:
    score = await task.score(question, gold)
    if score.value == 1.0:
        return None
    return WrongGold(question_id=question.id, score=score.value, detail=score.detail)


def _constant(questions: Sequence[Question]) -> str:
    counts = Counter(gold for question in questions if (gold := gold_text(question)) is not None)
    return counts.most_common(1)[0][0] if counts else ""


async def _mean_score(task: Task, questions: Sequence[Question], answer: str) -> float:
    return statistics.fmean([(await task.score(question, answer)).value for question in questions])
