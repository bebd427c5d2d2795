"""`compare`: search modes at equal cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from loriner.config import Settings
from loriner.events import Note, Observer, silent
from loriner.records import Harness
from loriner.search.estimate import Estimate, of_adaptation, of_comparison
from loriner.search.plan import Plan
from loriner.tasks.base import Task
from loriner.tasks.suites import spelt_out
from loriner.verbs.arms import SeededTask, Terms, run_arms
from loriner.verbs.earlier import FRESH, Earlier
from loriner.verbs.stage import running, tasks_of
from loriner.verbs.workspace import NOTHING, Lent, Workspace, named, task_of


async def compare(
    lab: Workspace, settings: Settings, observe: Observer = silent, *, earlier: Earlier = FRESH
) -> str:
    """The id of the run of a comparison, whose outcome is in the store.

    Raises:
        ConfigError: the terms are unequal, or a cap fits nothing.
        LorinerError: as `run_arms`; the run can be resumed.
    """
    lab, terms = lab.fresh(settings, "comparing"), _terms(settings)
    solver = lab.solver
    async with tasks_of(lab.task, names_of(settings)) as tasks:
        _expected(settings, terms, tasks)
        seeded_tasks = [SeededTask(task, _seed(lab, task)) for task in tasks]
        names = ", ".join(task.name for task in tasks)
        with running(lab, "compare", solver, observe, resume=earlier.resume) as run:
            run.summary["task"] = names
            run.observe(Note(text=f"run {run.run_id}: {names}, solver {solver.name} (frozen)"))
            await run_arms(lab, seeded_tasks, solver, terms, run_id=run.run_id, observe=run.observe)
    return run.run_id


async def estimate(settings: Settings, lent: Lent = NOTHING) -> Estimate:
    """What a comparison would take. Raises as `compare`."""
    named(settings.adapt.solver, "solver", "--solver")
    async with tasks_of(partial(task_of, settings, lent=lent), names_of(settings)) as tasks:
        return _expected(settings, _terms(settings), tasks)


def names_of(settings: Settings) -> tuple[str, ...]:
    """The tasks that are compared: those given, suites spelt out, or the one of `adapt`."""
    given = settings.compare.tasks or [named(settings.adapt.task, "task", "TASK")]
    return spelt_out(given, settings.suites)


def _terms(settings: Settings) -> Terms:
    plan = Plan.of(settings.adapt, revise="current", oracle=False, allowance=None)  # the modes set these
    return Terms.of(settings.compare, plan=plan)


def _expected(settings: Settings, terms: Terms, tasks: Sequence[Task]) -> Estimate:
    """What the comparison would take. Refuses terms that are unequal, and caps that fit nothing."""
    terms.require_fair(cached=settings.cache)
    episodes = [of_adaptation(settings, task, terms.plan) for task in tasks]
    found = of_comparison(episodes, n_arms=len(terms.modes) * terms.seeds)
    hopeless = terms.never_tells(tasks)
    return replace(found, warnings=(hopeless, *found.warnings)) if hopeless else found


def _seed(lab: Workspace, task: Task) -> Harness:
    return lab.harness(lab.settings.adapt.harness or f"library:{task.seed_harness}", task.name)
