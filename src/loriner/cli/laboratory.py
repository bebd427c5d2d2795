"""What `train` and `compare-proposers` work in: a workspace with a suite's tasks and an evaluator of the
solver.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import typer

from loriner.cli.globals import Globals
from loriner.evaluation.evaluator import Evaluator
from loriner.events import Event, Note, Observer, silent
from loriner.runtime.levels import NEEDED
from loriner.seeding import derive
from loriner.tasks.base import Task
from loriner.train.contexts import DrawPlan
from loriner.train.settings import ContextsTable
from loriner.train.suites import open_suite
from loriner.workspace import Workspace, workspace


@dataclass(frozen=True, slots=True)
class Laboratory:
    """An open workspace, the tasks by their own names, and where trials run."""

    opened: Workspace
    tasks: dict[str, Task]
    names: dict[str, str]
    """The name that opens each task, by the task's own."""
    lab: Evaluator


@asynccontextmanager
async def laboratory(
    given: Globals,
    suite: ContextsTable,
    solver: str,
    command: str,
    *,
    training: bool = True,
    resume: str | None = None,
) -> AsyncIterator[Laboratory]:
    """Everything that trials need, closed afterwards; the run row says how it ended.

    `training` opens Reasoning Gym families in their training splits.
    """
    settings = given.settings()
    async with workspace(settings, "training", needed_level=NEEDED) as opened:
        by_name = open_suite(suite.tasks, suite.settings, home=settings.home, training=training)
        tasks = {task.name: task for task in by_name.values()}
        names = {task.name: name for name, task in by_name.items()}
        try:
            with opened.run(command, resume=resume) as (run_id, summary):
                summary["tasks"] = sorted(tasks)
                lab = opened.evaluator(run_id, opened.model(solver), _notes(given))
                yield Laboratory(opened, tasks, names, lab)
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


def tell(given: Globals, text: str) -> None:
    """Says a line on stderr, unless told to be quiet."""
    if given.verbosity >= 0:
        typer.echo(text, err=True)


def _notes(given: Globals) -> Observer:
    """An observer of what is worth a line where thousands of trials run."""

    def observe(event: Event, /) -> None:
        if isinstance(event, Note):
            tell(given, event.text)

    return silent if given.verbosity < 0 else observe
