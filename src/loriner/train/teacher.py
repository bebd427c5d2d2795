"""SFT data: a teacher's first revisions, kept when they beat the program they revise and pass the quality
screen.

Any proposer is a teacher. What it writes is run and judged like any candidate; what is dropped is counted by
reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loriner.diagnosis.memorised import check as check_memorised
from loriner.errors import LorinerError
from loriner.evaluation.evaluator import Evaluator, gathered
from loriner.harness.rewrite import make_edits, make_function_edits
from loriner.propose.proposer import Completion, Proposer, propose, read
from loriner.records import Evaluation, Question, Rollout, target_texts
from loriner.seeding import generator
from loriner.statistics import Rule, accepts
from loriner.tasks.base import Task
from loriner.train import jsonl
from loriner.train.exercise import Exercise
from loriner.train.quality import likeness, pattern
from loriner.train.renaming import own_names, renamed

MAX_REWRITE_SHARE = 0.8
"""A function-level variant longer than this share of the program is no edit any more. Source:
docs/edits.md.
"""


class NothingKept(LorinerError):
    """No completion of the teacher passed the screen."""

    exit_code = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TeachPlan:
    """How a teacher's revisions are made and screened."""

    completions: int = 4
    """Asked of the teacher in each context."""
    grade: int = 24
    """Grade questions on which program and candidate are compared."""
    accept: Rule = "paired"
    n_examples: int = 432
    """Rows at most. Source: arXiv 2609.35738 as summarised."""
    max_pattern_share: float = 0.5
    """Of the kept, the share that one pattern may have; a teacher with one pattern only keeps it all."""
    max_chars: int = 6_000
    """Longest completion."""
    max_likeness: float = 0.9
    """A completion this like one that is kept for the same program is a near-duplicate."""
    rename: bool = False
    """Give new names to what the revision adds: for a teacher that always writes the same code."""
    function_level: bool = True
    """Give each lesson with blocks of whole functions too; a small policy learns those badly
    (docs/earlier-runs.md).
    """
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One revision of the teacher and what became of it."""

    exercise: Exercise
    rollout: Rollout
    pattern: str
    """Empty when there is no candidate."""
    before: float | None
    after: float | None
    """Mean scores on the same grade questions; None when not scored."""
    dropped: str
    """Why it is not used: an edit code or a reason of the screen; empty when it is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeachReport:
    """What a teacher came to."""

    teacher: str
    n_contexts: int
    n_completions: int
    n_kept: int
    n_rows: int
    dropped: dict[str, int]
    """By reason."""
    patterns: dict[str, float]
    """Share of the kept by pattern."""
    tasks: dict[str, int]
    """Kept by task."""
    before: float
    after: float
    """Mean scores of the kept, before and after the revision."""


async def teach(
    lab: Evaluator,
    tasks: Mapping[str, Task],
    exercises: Sequence[Exercise],
    teacher: Proposer,
    plan: TeachPlan,
) -> list[Lesson]:
    """Every revision of the teacher in the exercises' contexts, screened in a seeded order.

    Raises:
        ModelError, InfrastructureError, BudgetReached: what stopped the teacher or the trials; replies that
            were paid for are in the cache.
    """
    wanted = [(each, index) for each in exercises for index in range(plan.completions)]
    lessons = await gathered(_lesson(lab, tasks, teacher, plan, *row) for row in wanted)
    generator(plan.seed, "teacher", "order").shuffle(lessons)
    return _screened(lessons, plan)


def rows(lessons: Sequence[Lesson], plan: TeachPlan) -> list[dict[str, Any]]:
    """The kept lessons as chat rows: `prompt` and `completion` messages, and where they come from.

    If the plan asks for it, a lesson also gives its function-level variant, where that differs and is still
    an edit rather than a rewrite.
    """
    kept = [each for each in lessons if not each.dropped]
    written = [row(each, each.rollout.completion, "as_written") for each in kept]
    wanted = kept if plan.function_level else []
    variants = [row(each, text, "function") for each in wanted if (text := _function_level(each))]
    return (written + variants)[: plan.n_examples]


def export(lessons: Sequence[Lesson], plan: TeachPlan, path: Path) -> int:
    """Writes the chat rows as JSONL; returns their number.

    Raises:
        NothingKept: there is none; nothing is written.
    """
    found = rows(lessons, plan)
    if not found:
        dropped = Counter(each.dropped for each in lessons).most_common()
        why = ", ".join(f"{reason} {n}" for reason, n in dropped) or "the teacher was asked for none"
        raise NothingKept(
            f"none of {len(lessons)} completions was kept ({why}), so there is nothing to learn from and "
            f"{path} was not written: take another teacher, more contexts or completions, or a less strict "
            "teacher.accept"
        )
    jsonl.write(path, found)
    return len(found)


def report(teacher: str, lessons: Sequence[Lesson], plan: TeachPlan) -> TeachReport:
    """What was kept and dropped, by reason and by pattern."""
    kept = [each for each in lessons if not each.dropped]
    shares = Counter(each.pattern for each in kept)
    return TeachReport(
        teacher=teacher,
        n_contexts=len({each.exercise.context.id for each in lessons}),
        n_completions=len(lessons),
        n_kept=len(kept),
        n_rows=len(rows(lessons, plan)),
        dropped=dict(Counter(each.dropped for each in lessons if each.dropped).most_common()),
        patterns={name: count / len(kept) for name, count in shares.most_common()},
        tasks=dict(Counter(each.exercise.context.task for each in kept).most_common()),
        before=_mean([each.before for each in kept]),
        after=_mean([each.after for each in kept]),
    )


async def _lesson(
    lab: Evaluator,
    tasks: Mapping[str, Task],
    teacher: Proposer,
    plan: TeachPlan,
    exercise: Exercise,
    index: int,
) -> Lesson:
    rollout = await propose(teacher, exercise.context, index)
    if plan.rename:
        rollout = _under_new_names(exercise, rollout, plan.seed)
    await lab.store.add_rollout(lab.run_id, rollout)
    if rollout.candidate is None:
        code = rollout.failure.code if rollout.failure else "no_candidate"
        return Lesson(exercise=exercise, rollout=rollout, pattern="", before=None, after=None, dropped=code)
    task = tasks[exercise.context.task]
    questions = task.questions("grade")[: plan.grade]
    before = await lab.evaluate(task, exercise.context.harness, questions, purpose="grade")
    after = await lab.evaluate(task, rollout.candidate, questions, purpose="grade")
    return Lesson(
        exercise=exercise,
        rollout=rollout,
        pattern=pattern(exercise.context.harness.source, rollout.candidate.source),
        before=before.mean_score,
        after=after.mean_score,
        dropped=_fault(exercise, rollout, before, after, questions, plan),
    )


def _under_new_names(exercise: Exercise, rollout: Rollout, seed: int) -> Rollout:
    """The same revision with what it adds under other names; the program that it revises keeps its own."""
    if rollout.candidate is None or rollout.revision is None:
        return rollout
    old = exercise.context.harness.source
    draw = generator(seed, "teacher", "names", rollout.context_id, rollout.index)
    new = renamed(rollout.candidate.source, draw, keep=own_names(old))
    text = f"{rollout.revision.note}\n\n{make_edits(old, new)}"
    return replace(read(exercise.context, rollout.index, Completion(text)), calls=rollout.calls)


def _fault(
    exercise: Exercise,
    rollout: Rollout,
    before: Evaluation,
    after: Evaluation,
    questions: Sequence[Question],
    plan: TeachPlan,
) -> str:
    """Why the revision teaches nothing, as far as that can be seen of it alone; empty if it may be kept."""
    assert rollout.candidate is not None
    if before.n_infra_errors or after.n_infra_errors:
        return "unscored"
    if not accepts(plan.accept, before.scores, after.scores).accepted:
        return "not_better"
    if len(rollout.completion) > plan.max_chars:
        return "too_long"
    known = [(text, question.text) for question in questions for text in target_texts(question.target)]
    known += [(trial.target, trial.question) for trial in exercise.context.feedback]
    answers, asked = zip(*known, strict=True)
    source = exercise.context.harness.source
    memorised = check_memorised(rollout.candidate.source, answers, asked, baseline=source)
    return "" if memorised is None else "memorised"


def _screened(lessons: Sequence[Lesson], plan: TeachPlan) -> list[Lesson]:
    """The lessons with near-duplicates, and what a pattern has too much of, dropped; in order."""
    kept: dict[str, list[Lesson]] = {}
    screened: list[Lesson] = []
    for lesson in lessons:
        if not lesson.dropped:
            alike = kept.setdefault(lesson.exercise.context.harness.id, [])
            if any(_like(lesson, other) >= plan.max_likeness for other in alike):
                lesson = replace(lesson, dropped="near_duplicate")
            else:
                alike.append(lesson)
        screened.append(lesson)
    return balanced(screened, plan.max_pattern_share)


def balanced(lessons: Sequence[Lesson], share: float) -> list[Lesson]:
    """The lessons with the later ones of a pattern dropped that has more than its share of the kept."""
    left = Counter(each.pattern for each in lessons if not each.dropped)
    while len(left) > 1 and max(left.values()) > max(1, share * left.total()):
        left[max(left, key=left.__getitem__)] -= 1
    balanced: list[Lesson] = []
    for lesson in lessons:
        if not lesson.dropped:
            left[lesson.pattern] -= 1
            if left[lesson.pattern] < 0:
                lesson = replace(lesson, dropped="pattern_full")
        balanced.append(lesson)
    return balanced


def _like(one: Lesson, other: Lesson) -> float:
    return likeness(one.rollout.completion, other.rollout.completion)


def _function_level(lesson: Lesson) -> str:
    """The variant whose blocks hold whole functions, or empty."""
    old, candidate = lesson.exercise.context.harness.source, lesson.rollout.candidate
    assert candidate is not None and lesson.rollout.revision is not None
    blocks = make_function_edits(old, candidate.source)
    text = f"{lesson.rollout.revision.note}\n\n{blocks}"
    if len(blocks) > MAX_REWRITE_SHARE * len(candidate.source) or text == lesson.rollout.completion:
        return ""
    return text


def row(lesson: Lesson, completion: str, variant: str) -> dict[str, Any]:
    shown = lesson.exercise.messages
    return {
        "prompt": [{"role": each.role, "content": each.content} for each in shown],
        "completion": [{"role": "assistant", "content": completion}],
        "context": lesson.exercise.context.id,
        "task": lesson.exercise.context.task,
        "pattern": lesson.pattern,
        "variant": variant,
        "before": lesson.before,
        "after": lesson.after,
    }


def _mean(values: Sequence[float | None]) -> float:
    known = [each for each in values if each is not None]
    return sum(known) / len(known) if known else 0.0
