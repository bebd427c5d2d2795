"""Trees of revised programs: every revision on the seed, the best few again on those, and so on.

A node is a program on a task with every revision that was tried on it. Its children are compared on shared
grade questions by successive halving; questions that chose nothing are kept apart, and say what a choice is
worth. All of it is in the store: feedback, contexts, completions, trials, and an event for each node, so that
a tree that was stopped goes on without paying twice, and can be read again (`read`).

Layers grow one after another over all tasks, each within its share of the time, so that a stop leaves a
usable set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from statistics import fmean
from time import monotonic
from typing import Any

from loriner.errors import InfrastructureError, ModelError
from loriner.evaluation.evaluator import Evaluator, gathered
from loriner.events import Grown, Note
from loriner.propose.catalogue import offered
from loriner.propose.context import brief_of, edit_of, make_context
from loriner.propose.proposer import Completion, read
from loriner.records import Context, Harness, PastRevision, Question, Rollout
from loriner.seeding import generator
from loriner.store.database import Store
from loriner.tasks.base import Task
from loriner.train.contexts import timeless

Scores = Mapping[str, float]
"""By grade question."""

EVENT = "tree node"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePlan:
    """How trees are grown."""

    depth: int = 3
    beam: int = 3
    """Programs of a task that are revised again in the next layer."""
    rungs: tuple[int, ...] = (4, 8, 16)
    """Grade questions on which children are compared, rung by rung."""
    kept: float = 1 / 3
    """Share of the children that goes on to the next rung."""
    fresh: int = 16
    """Further grade questions, which choose nothing: the best children and their parent meet them."""
    finalists: int = 2
    """Children that meet the fresh questions."""
    feedback: int = 8
    """Feedback questions on which a program is tried before it is revised."""
    shares: tuple[float, ...] = (0.45, 0.35, 0.2)
    """Of the time, by layer."""
    at_once: int = 12
    """Nodes that grow side by side."""
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """One revision of a node's program."""

    entry: str
    """The name of the known revision."""
    rollout: Rollout
    scores: Scores

    @property
    def harness(self) -> Harness:
        assert self.rollout.candidate is not None  # others are no children
        return self.rollout.candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A program on a task, and all that was tried on it."""

    context: Context
    path: tuple[str, ...]
    """The entries that led to it from the task's seed; its length is the node's depth."""
    origin: str | None
    """The context of the node that it is a child of."""
    scores: Scores
    children: tuple[Child, ...]
    """In the order in which they were offered."""
    chosen_on: tuple[str, ...]
    """Grade questions by which children were chosen, in order; the others of `scores` are fresh."""
    first: int
    """So many of these were asked of every child."""

    def gain(self, child: Child, questions: Sequence[str]) -> float:
        """The child's mean score less the program's, on those of the questions that the child was asked."""
        asked = [each for each in questions if each in child.scores and each in self.scores]
        return fmean(child.scores[each] - self.scores[each] for each in asked) if asked else 0.0

    @property
    def fresh(self) -> tuple[str, ...]:
        chosen = set(self.chosen_on)
        return tuple(each for each in self.scores if each not in chosen)

    @property
    def ranked(self) -> list[Child]:
        """The best first: those that got further, then by mean on the questions that chose."""

        def rank(child: Child) -> tuple[int, float]:
            asked = [child.scores[each] for each in self.chosen_on if each in child.scores]
            return -len(asked), -fmean(asked) if asked else 0.0

        return sorted(self.children, key=rank)

    @property
    def finished(self) -> list[Child]:
        """The children that met every question that chooses, the best first."""
        return [each for each in self.ranked if all(one in each.scores for one in self.chosen_on)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeStart:
    """A program that a node is to grow from."""

    task: str
    harness: Harness
    path: tuple[str, ...] = ()
    origin: str | None = None
    history: tuple[PastRevision, ...] = ()
    without: frozenset[str] = frozenset()
    """Entries that did harm above, and are not tried again."""


Offers = Callable[[Context], Iterable[tuple[str, str]]]
"""A name and a completion for each revision that is to be tried in a context."""


def known_revisions(context: Context) -> Iterator[tuple[str, str]]:
    """Every entry of the catalogue that makes a candidate."""
    return ((entry.name, text) for entry, text in offered(context))


@dataclass(slots=True, kw_only=True)
class Grower:
    """Grows the nodes of a run."""

    lab: Evaluator
    tasks: Mapping[str, Task]
    plan: TreePlan
    offers: Offers = known_revisions
    nodes: list[TreeNode] = field(default_factory=list)
    """What is grown, layer by layer."""
    failed: list[str] = field(default_factory=list)
    """Nodes that stopped through no fault of a program, in words."""

    async def grow(self, starts: Sequence[TreeStart], seconds: float | None = None) -> None:
        """Grows the layers from the starts. When a layer's share of the time is over no further node begins;
        what is unfinished when all of it is over is left.

        Raises:
            InfrastructureError: no node of a layer could be grown.
            BudgetReached: a cap of the run is reached.
        """
        begun, layer = monotonic(), list(starts)
        for depth in range(self.plan.depth):
            share = sum(self.plan.shares[: depth + 1]) if depth + 1 < self.plan.depth else 1.0
            until = None if seconds is None else begun + share * seconds
            end = None if seconds is None else begun + seconds
            grown = await self._layer(layer, until, end)
            self.nodes += grown
            layer = self._next(grown)

    async def _layer(
        self, starts: Sequence[TreeStart], until: float | None, end: float | None
    ) -> list[TreeNode]:
        gate, grown = asyncio.Semaphore(self.plan.at_once), list[TreeNode]()
        n_failed = len(self.failed)

        async def one(start: TreeStart) -> None:
            async with gate:
                if until is not None and monotonic() >= until:
                    return
                try:
                    node = await self._node(start)
                except (InfrastructureError, ModelError) as error:
                    self.failed.append(f"{start.task}: {error}")
                    return
                if node is not None:
                    grown.append(node)
                    self.lab.observe(Grown(task=start.task, path=node.path))

        try:
            async with asyncio.timeout(None if end is None else max(0.0, end - monotonic())):
                await gathered(one(each) for each in starts)
        except TimeoutError:
            pass  # what was paid for is in the store
        self.lab.observe(Note(text=f"{len(grown)} of {len(starts)} programs have grown"))
        if starts and len(self.failed) - n_failed == len(starts):
            raise InfrastructureError(f"no program could be revised; {self.failed[-1]}")
        order = {each.harness.id + each.task: number for number, each in enumerate(starts)}
        return sorted(grown, key=lambda node: order[node.context.harness.id + node.context.task])

    async def _node(self, start: TreeStart) -> TreeNode | None:
        """The program with its children tried; None where nothing can be tried on it."""
        task, plan = self.tasks[start.task], self.plan
        context = await self._context(task, start)
        await self.lab.store.add_context(self.lab.run_id, context)
        children = self._children(context, start.without)
        if not children:
            return None
        chosen, fresh = questions_of(task, plan)
        for child in children:
            await self.lab.store.add_rollout(self.lab.run_id, child.rollout)
        tried = await halved(children, self._trying(task), chosen, plan)
        best = sorted(tried, key=lambda each: (-len(each.scores), -_mean(each.scores)))[: plan.finalists]
        before, *ends = await gathered(
            self._scores(task, each, [*chosen, *fresh])
            for each in (context.harness, *(child.harness for child in best))
        )
        final = {each.entry: scores for each, scores in zip(best, ends, strict=True)}
        node = TreeNode(
            context=context,
            path=start.path,
            origin=start.origin,
            scores=before,
            children=tuple(replace(each, scores=final.get(each.entry, each.scores)) for each in tried),
            chosen_on=tuple(each.id for each in chosen),
            first=min(plan.rungs[0], len(chosen)),
        )
        await self._keep(node)
        return node

    async def _context(self, task: Task, start: TreeStart) -> Context:
        questions = list(task.questions("feedback"))
        draw = generator(self.plan.seed, "trees", "feedback", task.name, start.harness.id)
        shown = draw.sample(questions, min(self.plan.feedback, len(questions)))
        found = await self.lab.evaluate(task, start.harness, shown, purpose="feedback")
        found = replace(found, trials=tuple(map(timeless, found.trials)))
        brief = brief_of(task.name, task.description, task.tools)
        round = len(start.history) + 1
        return make_context(brief, start.harness, found, shown, round=round, history=start.history)

    def _children(self, context: Context, without: frozenset[str]) -> list[Child]:
        """A child for each entry that makes a candidate, equal programs once."""
        found: dict[str, Child] = {}
        for index, (entry, text) in enumerate(self.offers(context)):
            rollout = read(context, index, Completion(text))
            if rollout.candidate is not None and entry not in without:
                child = Child(entry=entry, rollout=rollout, scores={})
                found.setdefault(rollout.candidate.id, child)
        return list(found.values())

    def _trying(self, task: Task) -> Trying:
        async def tried(child: Child, questions: Sequence[Question]) -> Child:
            return replace(child, scores=await self._scores(task, child.harness, questions))

        return tried

    async def _scores(self, task: Task, harness: Harness, questions: Sequence[Question]) -> Scores:
        found = await self.lab.evaluate(task, harness, questions, purpose="grade")
        return found.scores

    async def _keep(self, node: TreeNode) -> None:
        """Notes the node in the store, once."""
        known = {each.data["context"] for each in self.lab.store.events(self.lab.run_id, EVENT)}
        if node.context.id not in known:
            await self.lab.store.add_event(self.lab.run_id, EVENT, _as_event(node))

    def _next(self, grown: Sequence[TreeNode]) -> list[TreeStart]:
        """Where the next layer starts: the best of each task first, then the second best of each."""
        by_task: dict[str, list[tuple[float, TreeStart]]] = {}
        for node in grown:
            by_task.setdefault(node.context.task, []).extend(self._better(node))
        ranked = [_once(sorted(each, key=lambda one: -one[0]))[: self.plan.beam] for each in by_task.values()]
        return [each[place] for place in range(self.plan.beam) for each in ranked if place < len(each)]

    def _better(self, node: TreeNode) -> list[tuple[float, TreeStart]]:
        """The finished children that beat the program on the questions that chose, with their means."""
        harmful = [each for each in node.children if node.gain(each, node.chosen_on[: node.first]) < 0]
        without = frozenset(each.entry for each in harmful)
        found = []
        for child in node.finished:
            if node.gain(child, node.chosen_on) > 0:
                start = TreeStart(
                    task=node.context.task,
                    harness=child.harness,
                    path=(*node.path, child.entry),
                    origin=node.context.id,
                    history=(*node.context.history, past(node, child, accepted=True)),
                    without=without,
                )
                found.append((fmean(child.scores[each] for each in node.chosen_on), start))
        return found


Trying = Callable[[Child, Sequence[Question]], Coroutine[Any, Any, Child]]


async def halved(
    children: Sequence[Child], tried: Trying, questions: Sequence[Question], plan: TreePlan
) -> list[Child]:
    """The children with their scores, each on the questions of the rungs that it reached."""
    done = list(children)
    left = list(range(len(done)))
    for rung in sorted({min(each, len(questions)) for each in plan.rungs}):
        found = await gathered(tried(done[each], questions[:rung]) for each in left)
        for each, child in zip(left, found, strict=True):
            done[each] = child
        n_kept = max(plan.finalists, ceil(plan.kept * len(left)))
        left = sorted(left, key=lambda each: -_mean(done[each].scores))[:n_kept]
    return done


def questions_of(task: Task, plan: TreePlan) -> tuple[list[Question], list[Question]]:
    """The grade questions that choose, and the fresh ones."""
    questions = list(task.questions("grade"))
    generator(plan.seed, "trees", "grade", task.name).shuffle(questions)
    n = plan.rungs[-1]
    return questions[:n], questions[n : n + plan.fresh]


def past(node: TreeNode, child: Child, *, accepted: bool, round: int | None = None) -> PastRevision:
    """A child as a later context tells it."""
    asked = [each for each in node.chosen_on if each in child.scores and each in node.scores]
    revision = child.rollout.revision
    return PastRevision(
        round=node.context.round if round is None else round,
        summary=revision.note if revision else "",
        before=fmean(node.scores[each] for each in asked),
        after=fmean(child.scores[each] for each in asked),
        accepted=accepted,
        edit=edit_of(child.rollout),
    )


def read_nodes(store: Store, run_ids: Sequence[str]) -> list[TreeNode]:
    """The nodes that the runs noted, in order; of one that several runs have, the first."""
    found: dict[str, TreeNode] = {}
    for run_id in run_ids:
        contexts = {each.id: each for each in store.contexts(run_id)}
        grades: dict[str, dict[str, dict[str, float]]] = {}
        for event in store.events(run_id, EVENT):
            context = contexts[event.data["context"]]
            if context.task not in grades:
                grades[context.task] = grade_scores(store, run_id, context.task)
            node = _from_event(store, run_id, context, event.data, grades[context.task])
            found.setdefault(context.id, node)
    return list(found.values())


def _as_event(node: TreeNode) -> dict[str, object]:
    return {
        "context": node.context.id,
        "task": node.context.task,
        "path": node.path,
        "origin": node.origin,
        "asked": list(node.scores),
        "chosen_on": node.chosen_on,
        "first": node.first,
        "children": [[each.entry, each.rollout.index, list(each.scores)] for each in node.children],
    }


def _from_event(
    store: Store,
    run_id: str,
    context: Context,
    data: Mapping[str, object],
    grades: Mapping[str, Scores],
) -> TreeNode:
    def child(entry: str, index: int, asked: Sequence[str]) -> Child:
        rollout = store.rollout(run_id, context.id, index)
        assert rollout is not None and rollout.candidate is not None
        known = grades[rollout.candidate.id]
        return Child(entry=entry, rollout=rollout, scores={each: known[each] for each in asked})

    return TreeNode(
        context=context,
        path=tuple(data["path"]),  # type: ignore[arg-type]
        origin=data["origin"],  # type: ignore[arg-type]
        scores={each: grades[context.harness.id][each] for each in data["asked"]},  # type: ignore[attr-defined]
        children=tuple(child(*each) for each in data["children"]),  # type: ignore[attr-defined]
        chosen_on=tuple(data["chosen_on"]),  # type: ignore[arg-type]
        first=data["first"],  # type: ignore[arg-type]
    )


def grade_scores(store: Store, run_id: str, task: str) -> dict[str, dict[str, float]]:
    """The scores of a task's grade trials, by program and question."""
    found: dict[str, dict[str, float]] = {}
    for trial in store.trials(run_id, task=task, purpose="grade"):
        if trial.score is not None:
            found.setdefault(trial.harness_id, {})[trial.question_id] = trial.score
    return found


def _mean(scores: Scores) -> float:
    return fmean(scores.values()) if scores else 0.0


def _once(ranked: Sequence[tuple[float, TreeStart]]) -> list[TreeStart]:
    """The starts, each program once."""
    found: dict[str, TreeStart] = {}
    for _, start in ranked:
        found.setdefault(start.harness.id, start)
    return list(found.values())
