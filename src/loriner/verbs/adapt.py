"""`adapt`: the search for a better program."""

from __future__ import annotations

from typing import Any

from loriner.config import Settings
from loriner.events import Observer, silent
from loriner.report.figures import standing, stop
from loriner.search import adapt as search
from loriner.search.estimate import Estimate, of_adaptation
from loriner.search.history import Adaptation, History, history
from loriner.search.plan import Plan, planned
from loriner.verbs.earlier import FRESH, Earlier
from loriner.verbs.stage import closing, running
from loriner.verbs.workspace import NOTHING, Lent, Workspace, named, task_of


async def adapt(
    lab: Workspace, settings: Settings, observe: Observer = silent, *, earlier: Earlier = FRESH
) -> Adaptation:
    """The outcome of adapting to the task of `settings.adapt`, as a run.

    `settings` are those of the earlier run, if there is one (`as_begun`).

    Raises:
        ConfigError: no task or solver is named, or a cap fits nothing.
        LorinerError: as `search.adapt.adapt`; the run can be resumed.
    """
    lab = lab.fresh(settings, "adapting")
    async with closing(lab.task()) as task:
        plan, begun_with = _plan(lab, earlier)
        of_adaptation(settings, task, plan)  # refuses caps that cannot be kept or fit nothing
        parent = None if earlier.replay is None else lab.replay(earlier.replay)
        solver, proposer = lab.solver, lab.proposer(settings.adapt.proposer)
        lab, start = await lab.pinned(task, begun_with)
        with running(lab, "adapt", solver, observe, resume=earlier.resume, parent=parent) as run:
            run.summary["task"] = task.name
            found = await search.adapt(task, start, run.evaluator, proposer, plan=plan, registry=lab.registry)
            run.summary.update(_summary(found))
    return found


async def estimate(settings: Settings, lent: Lent = NOTHING) -> Estimate:
    """What an adaptation would take. Raises as `adapt`."""
    named(settings.adapt.solver, "solver", "--solver")
    async with closing(task_of(settings, lent=lent)) as task:
        return of_adaptation(settings, task, Plan.of(settings.adapt))


def _plan(lab: Workspace, earlier: Earlier) -> tuple[Plan, str | None]:
    """How the search goes and the id of the program that it begins with: as the run to resume has told."""
    told = history(lab.store, lab.store.run(earlier.resume).id) if earlier.resume else History()
    if told.start is None:
        return Plan.of(lab.settings.adapt), None
    plan, rounds = planned(told.start.plan), lab.settings.adapt.rounds
    more = plan.further(len(told.rounds), rounds) if rounds > plan.rounds else plan
    return more, told.start.harness_id


def _summary(found: Adaptation) -> dict[str, Any]:
    return {
        "seed": standing(found.seed),
        "best": standing(found.best),
        "rounds": len(found.rounds),
        "stopped": stop(found.stopped),
    }
