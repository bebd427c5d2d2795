"""`evaluate` on many tasks or harnesses at once: what is asked for, the run, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from loriner.cli.globals import Globals

if TYPE_CHECKING:
    from loriner.config import Settings
    from loriner.search.estimate import Estimate
    from loriner.search.scoreboard import Plan, Sheet

WHOLE_LIBRARY = "library"
"""As a harness: each one that ships with the package."""


def asked_for(settings: Settings, *, whole: bool = False) -> tuple[Settings, Plan | None]:
    """The sheet that is asked for. One harness on one task is none (unless `whole`): then the settings
    that come back name both under `adapt`.

    Raises:
        ConfigError: no task is named.
        TaskError: a name that reads like a suite's but is none.
    """
    from loriner.search.scoreboard import OWN_SEED, Plan
    from loriner.tasks.suites import spelt_out, split_names
    from loriner.workspace import named

    wanted, own = settings.evaluate, settings.task.name if settings.task else None
    suite = named(wanted.suite or settings.adapt.task or own, "task", "TASK")
    names = split_names(suite)
    tasks = spelt_out(names, settings.suites)
    harnesses = _harnesses(wanted.harnesses or [settings.adapt.harness or OWN_SEED])
    if not whole and tasks == names and len(tasks) == len(harnesses) == 1:
        return _single(settings, suite, None if harnesses == (OWN_SEED,) else harnesses[0]), None
    return settings, Plan(
        suite=suite,
        tasks=tasks,
        harnesses=harnesses,
        split=wanted.split,
        limit=wanted.limit,
        samples=wanted.samples,
    )


def _single(settings: Settings, task: str, harness: str | None) -> Settings:
    adapt = settings.adapt.model_copy(update={"task": task, "harness": harness})
    evaluate = settings.evaluate.model_copy(update={"suite": None, "harnesses": []})
    return settings.model_copy(update={"adapt": adapt, "evaluate": evaluate})


def _harnesses(given: Sequence[str]) -> tuple[str, ...]:
    """The names with the whole library spelt out, each once."""
    from loriner.harness.contract import library_names

    library = [f"library:{name}" for name in library_names()]
    spelt = [each for name in given for each in (library if name == WHOLE_LIBRARY else [name])]
    return tuple(dict.fromkeys(spelt))


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The run that is gone on with, or done again from its record."""

    resume: str | None
    replay: str | None


def estimate(settings: Settings, plan: Plan) -> Estimate:
    """What the sheet would take.

    Raises:
        TaskError: a task does not open.
        ConfigError: money is capped and the price is unknown.
    """
    from loriner.config import changed
    from loriner.search.estimate import of_evaluation, total
    from loriner.workspace import named, task_of

    named(settings.adapt.solver, "solver", "--solver")
    tasks = [task_of(changed(settings, adapt={"task": name})) for name in plan.tasks]
    parts = [of_evaluation(settings, task.name, task.questions(plan.split)[: plan.limit]) for task in tasks]
    return total([each for each in parts for _ in plan.harnesses])


def evaluate_all(
    settings: Settings,
    given: Globals,
    plan: Plan,
    earlier: Earlier,
    *,
    out: Path | None,
    fail_under: float | None,
) -> None:
    """Fills a sheet as one run and prints it. Ends as the first task that could not be scored says, if one
    could not, and with 1 where a harness has a mean below `fail_under`.
    """
    from loriner.cli import sheets

    sheet = asyncio.run(_fill(settings, given, plan, earlier))
    sheets.show(sheet, json=given.json, trials=given.verbosity > 0)
    if out is not None:
        out.write_text(sheets.markdown(sheet), encoding="utf-8")
        typer.echo(f"wrote {out}", err=True)
    for error in sheet.errors.values():
        raise typer.Exit(error.exit_code)
    means = [found.mean for name in plan.harnesses if (found := sheet.mean(name))]
    if fail_under is not None and (len(means) < len(plan.harnesses) or not min(means) >= fail_under):
        raise typer.Exit(1)


async def _fill(settings: Settings, given: Globals, plan: Plan, earlier: Earlier) -> Sheet:
    from loriner.cli.progress import watching
    from loriner.search.estimate import require_priced
    from loriner.search.scoreboard import fill
    from loriner.workspace import named, workspace

    require_priced(settings)
    async with workspace(settings) as opened:
        parent = None if earlier.replay is None else opened.replay(earlier.replay)
        solver = opened.model(named(settings.adapt.solver, "solver", "--solver"))
        with (
            opened.run("evaluate", resume=earlier.resume, parent=parent) as (run_id, summary),
            watching(given.verbosity) as observe,
        ):
            sheet = await fill(opened, plan, opened.evaluator(run_id, solver, observe))
            summary |= _summary(sheet)
        return sheet


def _summary(sheet: Sheet) -> dict[str, Any]:
    means = {name: found.mean for name in sheet.plan.harnesses if (found := sheet.mean(name))}
    return {"task": sheet.plan.suite, "means": means, "not scored": sorted(sheet.errors)}
