"""SFT data from trees: a node, and its best children where the acceptance rule takes them.

What was refused on the way stands in the context's history, as it was: real revisions with their scores.
Later rounds weigh at least as much as the first, and no known revision has more than its share of the rows.
Several rows of a node show different histories, so that no context is learnt with two answers.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loriner.diagnosis.memorised import check as check_memorised
from loriner.errors import ConfigError
from loriner.propose.prompt import messages
from loriner.records import Context, PastRevision, target_texts
from loriner.seeding import derive, generator
from loriner.statistics import Rule, accepts
from loriner.tasks.base import Task
from loriner.train.exercise import Exercise
from loriner.train.gains import expected_gains
from loriner.train.settings import TrainConfig
from loriner.train.teacher import Lesson, balanced, row
from loriner.train.trees import Child, TreeNode, past


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonPlan:
    """How lessons are chosen from trees."""

    accept: Rule = "paired"
    max_share: float = 0.15
    """Of the rows, the share that one entry may have."""
    max_refused: int = 2
    """Refused revisions told of one program, at most."""
    per_program: int = 1
    """Children of a node that become rows, at most: those that can be expected to gain most."""
    min_rows: int = 1
    """Entries with fewer rows are left out: a small policy does not learn their text."""
    later_half: bool = True
    """No more rows of the first round than of all later ones."""
    max_chars: int = 6_000
    max_prompt_tokens: int = 4_096
    seed: int = 0


def plan_of(config: TrainConfig) -> LessonPlan:
    """The plan of a training file."""
    return LessonPlan(
        accept=config.teacher.accept,
        max_share=config.trees.max_share,
        max_refused=config.trees.max_refused,
        per_program=config.trees.per_program,
        min_rows=config.trees.min_rows,
        later_half=config.trees.later_half,
        max_chars=config.teacher.max_chars,
        max_prompt_tokens=config.contexts.max_prompt_tokens,
        seed=derive(config.seed, "trees"),
    )


def lessons(nodes: Sequence[TreeNode], tasks: Mapping[str, Task], plan: LessonPlan) -> list[Lesson]:
    """A lesson for each of the best children of each node, those that are not used with the reason."""
    by_context = {node.context.id: node for node in nodes}
    expected = expected_gains(nodes)
    made = [
        _lesson(node, child, by_context, tasks[node.context.task], plan)
        for node in nodes
        for child in _best(node, expected, plan.per_program)
    ]
    generator(plan.seed, "tree lessons", "order").shuffle(made)
    return weighed(made, plan)


def rows(found: Iterable[Lesson]) -> list[dict[str, Any]]:
    """The kept lessons as chat rows, each with its depth: how many revisions its program already had."""
    kept = [each for each in found if not each.dropped]
    return [row(each, each.rollout.completion, "as_written") | {"depth": depth_of(each)} for each in kept]


def depth_of(lesson: Lesson) -> int:
    """1 for a revision of a task's seed, 2 for one of a program that was revised once, and so on."""
    return 1 + sum(each.accepted for each in lesson.exercise.context.history)


def weighed(found: Sequence[Lesson], plan: LessonPlan) -> list[Lesson]:
    """The lessons with those dropped of which there are too many, of the first round or of one entry, or too
    few.
    """
    before = None
    while before != found:
        before = found
        found = _frequent(balanced(found, plan.max_share), plan.min_rows)
        found = _later_first(found) if plan.later_half else found
    return list(found)


def _frequent(found: Sequence[Lesson], min_rows: int) -> list[Lesson]:
    """The lessons without those of entries that have too few."""
    n_rows = Counter(each.pattern for each in found if not each.dropped)
    return [
        replace(each, dropped="pattern_rare")
        if not each.dropped and n_rows[each.pattern] < min_rows
        else each
        for each in found
    ]


def _later_first(found: Sequence[Lesson]) -> list[Lesson]:
    """The lessons with no more of the first round than of all later ones; those that gain most stay.

    Where there are no later ones at all, nothing is weighed.
    """
    kept = [each for each in found if not each.dropped]
    first = [each for each in kept if depth_of(each) == 1]
    n_later = len(kept) - len(first)
    n_over = len(first) - n_later if n_later else 0
    least = sorted(first, key=lambda each: (each.after or 0.0) - (each.before or 0.0))[: max(0, n_over)]
    over = {id(each) for each in least}
    return [replace(each, dropped="first_round_full") if id(each) in over else each for each in found]


def summary(found: Sequence[Lesson]) -> dict[str, Any]:
    """Rows by depth, by entry and by task, and what was dropped, by reason."""
    kept = [each for each in found if not each.dropped]
    return {
        "n_nodes": len(found),
        "n_rows": len(kept),
        "rows_by_depth": dict(sorted(Counter(map(depth_of, kept)).items())),
        "rows_by_entry": dict(Counter(each.pattern for each in kept).most_common()),
        "rows_by_task": dict(Counter(each.exercise.context.task for each in kept).most_common()),
        "dropped": dict(Counter(each.dropped for each in found if each.dropped).most_common()),
    }


def _best(node: TreeNode, expected: Callable[[TreeNode, Child], float], n: int) -> list[Child]:
    """The child that won all rungs; or, of those that won the first, the n of the highest expected gain."""
    if n == 1:
        return node.finished[:1]
    tried = [each for each in node.children if len(each.scores) > node.first]
    return sorted(tried, key=lambda each: -expected(node, each))[:n]


def _lesson(
    node: TreeNode, child: Child, by_context: Mapping[str, TreeNode], task: Task, plan: LessonPlan
) -> Lesson:
    context = told(node, by_context, plan, child.entry)
    shared = {each for each in node.scores if each in child.scores}
    before = {each: node.scores[each] for each in shared}
    after = {each: child.scores[each] for each in shared}
    exercise, fault = _exercise(context, node, plan)
    return Lesson(
        exercise=exercise,
        rollout=replace(child.rollout, context_id=context.id),
        pattern=child.entry,
        before=sum(before.values()) / len(before),
        after=sum(after.values()) / len(after),
        dropped=fault or _fault(node, child, before, after, task, plan),
    )


def _exercise(context: Context, node: TreeNode, plan: LessonPlan) -> tuple[Exercise, str]:
    """The context as the proposer reads it, and why it cannot be used; empty if it can."""
    grade = tuple(node.chosen_on)
    try:
        shown = messages(context, budget=plan.max_prompt_tokens)
    except ConfigError:
        return Exercise(context=context, messages=(), grade=grade), "prompt_too_long"
    return Exercise(context=context, messages=shown, grade=grade), ""


def _fault(
    node: TreeNode,
    child: Child,
    before: Mapping[str, float],
    after: Mapping[str, float],
    task: Task,
    plan: LessonPlan,
) -> str:
    """Why the child teaches nothing; empty if it may be kept. Fresh questions must bear the choice out."""
    if not accepts(plan.accept, before, after).accepted:
        return "not_better"
    if any(each in child.scores for each in node.fresh) and node.gain(child, node.fresh) <= 0:
        return "not_better_on_fresh"
    if len(child.rollout.completion) > plan.max_chars:
        return "too_long"
    grade = [each for each in task.questions("grade") if each.id in node.scores]
    known = [(text, each.text) for each in grade for text in target_texts(each.target)]
    answers, asked = zip(*known, strict=True)
    source = node.context.harness.source
    found = check_memorised(child.harness.source, answers, asked, baseline=source)
    return "" if found is None else "memorised"


def told(node: TreeNode, by_context: Mapping[str, TreeNode], plan: LessonPlan, entry: str = "") -> Context:
    """The node's context with the history of its branch: on each program some that were refused, then the
    one that was kept. Which were refused is drawn for each entry that is to be learnt.
    """
    history: list[PastRevision] = []
    for step, taken in _branch(node, by_context):
        for refused in _refused(step, plan, entry):
            history.append(past(step, refused, accepted=False, round=len(history) + 1))
        if taken is not None:
            history.append(past(step, taken, accepted=True, round=len(history) + 1))
    seen = "\n".join([node.context.id, *(f"{each.summary} {each.accepted} {each.edit}" for each in history)])
    return replace(
        node.context,
        id=hashlib.sha256(seen.encode()).hexdigest()[:16],
        round=len(history) + 1,
        history=tuple(history),
    )


def _branch(node: TreeNode, by_context: Mapping[str, TreeNode]) -> list[tuple[TreeNode, Child | None]]:
    """The nodes from the seed's to this one, each with the child that was taken; none of the last."""
    steps: list[tuple[TreeNode, Child | None]] = [(node, None)]
    while node.origin is not None and node.origin in by_context:
        above = by_context[node.origin]
        taken = next(each for each in above.children if each.harness.id == node.context.harness.id)
        steps.insert(0, (above, taken))
        node = above
    return steps


def _refused(node: TreeNode, plan: LessonPlan, entry: str) -> list[Child]:
    """Some children that were no better, in an order seeded by the entry that is to be learnt."""
    worse = [each for each in node.children if node.gain(each, node.chosen_on) <= 0]
    draw = generator(plan.seed, "tree lessons", "refused", node.context.id, entry)
    draw.shuffle(worse)
    return worse[: draw.randint(0, plan.max_refused)]
