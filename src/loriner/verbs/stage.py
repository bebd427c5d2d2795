"""What every run stands on: tasks that are closed after it, and a row in the store with an evaluator."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from loriner.evaluation.evaluator import Evaluator
from loriner.events import Observer
from loriner.models.base import Model
from loriner.report.sinks.telling import chosen, sinking
from loriner.tasks.base import Task
from loriner.verbs.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Stage:
    """A run under way."""

    evaluator: Evaluator
    """Its trials belong to the run."""
    summary: dict[str, Any]
    """What the row keeps of the run when it ends."""

    @property
    def run_id(self) -> str:
        return self.evaluator.run_id

    @property
    def observe(self) -> Observer:
        """Tells whoever watches, and the trackers."""
        return self.evaluator.observe


@contextmanager
def running(
    lab: Workspace,
    command: str,
    solver: Model,
    observe: Observer,
    *,
    resume: str | None = None,
    parent: str | None = None,
) -> Iterator[Stage]:
    """A run around the block; its row says how the block ended, the trackers of the settings hear of it.

    Raises:
        MissingExtra: a tracker is not installed.
        ConfigError: the run to resume is not there, or another process works on it.
    """
    sinks = chosen(lab.settings.sinks)
    with (
        lab.run(command, resume=resume, parent=parent) as (run_id, summary),
        sinking(sinks, run_id, observe, home=lab.settings.home) as told,
    ):
        yield Stage(lab.evaluator(run_id, solver, told), summary)


@asynccontextmanager
async def closing(task: Task) -> AsyncIterator[Task]:
    """The task, closed when the block ends."""
    try:
        yield task
    finally:
        await task.close()


@asynccontextmanager
async def tasks_of(open_: Callable[[str], Task], names: Sequence[str]) -> AsyncIterator[list[Task]]:
    """The tasks of these names, open while the block runs.

    Raises:
        TaskError: one of them cannot be opened.
    """
    async with AsyncExitStack() as held:
        found = []
        for name in names:
            found.append(await held.enter_async_context(closing(open_(name))))
        yield found
