"""An open run for a framework that has a search of its own: it evaluates and proposes when it likes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from loriner import api as lo
from loriner import config
from loriner.api.given import Given, Solver, Writer
from loriner.concurrency import Door
from loriner.config import Settings
from loriner.events import silent
from loriner.propose.proposer import Proposer
from loriner.records import Harness
from loriner.tasks.base import Task
from loriner.verbs.stage import Stage, closing, running
from loriner.verbs.workspace import Workspace


@dataclass(frozen=True, slots=True)
class OpenStage:
    """A run under way, with what it was opened for."""

    stage: Stage
    task: Task
    proposer: Proposer
    seed: Harness


@contextmanager
def open_stage(
    command: str, task: Task | str, solver: Solver, proposer: Writer, *, home: str | Path
) -> Iterator[Door[OpenStage]]:
    """A run of the store that lasts as long as the block; raises as `lo.adapt`."""
    given = Given()
    named = {
        "task": given.task(task),
        "solver": given.model(solver),
        "proposer": given.proposer(proposer),
    }
    with lo.open(home) as lab:
        base = lab.door.inside.settings
        settings = config.changed(base, adapt=named, models={**base.models, **given.specs})
        with lab.door.entered(partial(_opened, given=given, settings=settings, command=command)) as door:
            yield door


@asynccontextmanager
async def _opened(lab: Workspace, given: Given, settings: Settings, command: str) -> AsyncIterator[OpenStage]:
    lab = replace(lab, lent=given.lent).fresh(settings, "adapting")
    async with closing(lab.task()) as task:
        lab, seed = await lab.pinned(task)
        with running(lab, command, lab.solver, silent) as stage:
            stage.summary["task"] = task.name
            yield OpenStage(stage, task, lab.proposer(settings.adapt.proposer), seed)
