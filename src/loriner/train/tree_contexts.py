"""Training contexts from trees: programs that were revised up to three times, each with its real history.

What a tree tried a program on is taken into the run, so that these trials are not paid for again; without
further questions (`replayed`) no solver is needed at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from loriner.evaluation.evaluator import Evaluator, gathered
from loriner.records import FeedbackTrial, Trial, target_texts
from loriner.tasks.base import Task
from loriner.train.contexts import DrawPlan, State, tried_before
from loriner.train.tree_lessons import LessonPlan, told
from loriner.train.trees import TreeNode, past


def states(nodes: Sequence[TreeNode], plan: LessonPlan, *, depth: int, gain: float = 0.0) -> list[State]:
    """The programs of the trees that had at most `depth` revisions, with their histories: those that were
    revised, and the best revision of each where it is better and was not revised itself. Programs that are
    right on every question are left out, and those whose best revision gained less than `gain`: nothing can
    be gained on them, as far as the trees know.
    """
    by_context = {node.context.id: node for node in nodes}
    found: dict[tuple[str, str], State] = {}
    for node in nodes:
        if len(node.path) <= depth and _open(node, gain):
            history = told(node, by_context, plan).history
            found[node.context.task, node.context.harness.id] = State(
                task=node.context.task, harness=node.context.harness, history=history
            )
    for node in nodes:
        if len(node.path) < depth and (state := _next(node, by_context, plan)) is not None:
            found.setdefault((state.task, state.harness.id), state)
    return list(found.values())


async def take_over(lab: Evaluator, tasks: Mapping[str, Task], nodes: Sequence[TreeNode]) -> int:
    """Brings the feedback trials of the nodes into the run; returns how many. A trial of a question that is
    not here as it was there is left out.
    """
    kept = [
        each
        for node in nodes
        if node.context.task in tasks
        for each in _same_here(tasks[node.context.task], node.context.feedback)
    ]
    await gathered(lab.store.add_trial(lab.run_id, "feedback", each) for each in kept)
    return len(kept)


def replayed(
    lab: Evaluator, tasks: Mapping[str, Task], states: Sequence[State], plan: DrawPlan
) -> tuple[list[State], DrawPlan]:
    """The states that can be shown without another trial, and a plan that asks for none."""
    whole = [
        each for each in states if len(tried_before(lab, tasks[each.task], each.harness)) >= plan.feedback
    ]
    return whole, replace(plan, pool=plan.feedback)


def _open(node: TreeNode, gain: float) -> bool:
    """Whether something can be gained on the node's program, as far as is known."""
    if _perfect([node.scores[each] for each in node.chosen_on]):
        return False
    return not node.finished or node.gain(node.finished[0], node.chosen_on) >= gain


def _next(node: TreeNode, by_context: Mapping[str, TreeNode], plan: LessonPlan) -> State | None:
    """The node's program with its best revision; None where none is better, or nothing is left to gain."""
    best = node.finished[0] if node.finished else None
    if best is None or node.gain(best, node.chosen_on) <= 0:
        return None
    if _perfect([best.scores[each] for each in node.chosen_on]):
        return None
    history = told(node, by_context, plan).history
    step = past(node, best, accepted=True, round=len(history) + 1)
    return State(task=node.context.task, harness=best.harness, history=(*history, step))


def _perfect(scores: Sequence[float]) -> bool:
    return min(scores) >= 1.0


def _same_here(task: Task, feedback: Sequence[FeedbackTrial]) -> list[Trial]:
    """The trials whose question has the same text and target in this machine's task."""
    here = {
        each.id: (each.text, " | ".join(target_texts(each.target))) for each in task.questions("feedback")
    }
    return [
        each.trial for each in feedback if here.get(each.trial.question_id) == (each.question, each.target)
    ]
