"""What `train` and `compare-proposers` work in: a suite's tasks and an evaluator of the solver."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from loriner.evaluation.evaluator import Evaluator
from loriner.events import Observer, silent
from loriner.seeding import derive
from loriner.tasks.base import Task
from loriner.train.contexts import DrawPlan
from loriner.train.settings import ContextsTable
from loriner.train.suites import open_suite
from loriner.verbs.stage import running
from loriner.verbs.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Laboratory:
    """An open workspace, the tasks by their own names, and where trials run."""

    lab: Workspace
    tasks: dict[str, Task]
    names: dict[str, str]
    """The name that opens each task, by the task's own."""
    evaluator: Evaluator

    @property
    def run_id(self) -> str:
        return self.evaluator.run_id


@asynccontextmanager
async def laboratory(
    lab: Workspace,
    suite: ContextsTable,
    command: str,
    observe: Observer = silent,
    *,
    training: bool = True,
    resume: str | None = None,
) -> AsyncIterator[Laboratory]:
    """Everything that trials need, closed afterwards; the run row says how it ended.

    `training` opens Reasoning Gym families in their training splits.
    """
    by_name = open_suite(suite.tasks, suite.settings, home=lab.settings.home, training=training)
    tasks = {task.name: task for task in by_name.values()}
    names = {task.name: name for name, task in by_name.items()}
    try:
        with running(lab, command, lab.solver, observe, resume=resume) as run:
            run.summary["tasks"] = sorted(tasks)
            yield Laboratory(lab, tasks, names, run.evaluator)
    finally:
        for task in by_name.values():
            await task.close()


def draw_plan(table: ContextsTable, n: int, seed: int, epoch: int = 0) -> DrawPlan:
    """The plan for drawing `n` contexts in an epoch."""
    return DrawPlan(
        n=n,
        pool=table.pool,
        feedback=table.feedback,
        grade=table.grade,
        max_prompt_tokens=table.max_prompt_tokens,
        seed=derive(seed, "epoch", epoch) if epoch else seed,
    )
