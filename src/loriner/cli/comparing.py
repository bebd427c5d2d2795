"""`compare`, `report` and `serve`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loriner.cli.flags import settled
from loriner.cli.globals import Globals
from loriner.cli.spending import DryRun, earlier, print_estimate
from loriner.config import Settings

if TYPE_CHECKING:
    from loriner.search.compare import Entry, Terms
    from loriner.search.estimate import Estimate
    from loriner.tasks.base import Task
    from loriner.workspace import Workspace


@settled("compare", "adapt", "sinks", "budget", "cache", "allow_reduced", without=("adapt.task",))
def compare(
    given: Globals,
    settings: Settings,
    dry_run: DryRun = False,
    resume: Annotated[str | None, typer.Option(help="Go on with a comparison that was stopped.")] = None,
) -> None:
    """Compares search modes at equal cost, with paired confidence intervals."""
    settings = earlier(settings, "compare", resume, None)
    if dry_run:
        print_estimate(given, asyncio.run(_estimate(settings)))
        return
    run_id = asyncio.run(_compare(settings, given, resume))
    _print_comparison(given, run_id)


async def _estimate(settings: Settings) -> Estimate:
    from loriner.workspace import named

    named(settings.adapt.solver, "solver", "--solver")
    tasks = [_task(settings, name) for name in _names(settings)]
    try:
        return _expected(settings, _terms(settings), tasks)
    finally:
        for task in tasks:
            await task.close()


def _expected(settings: Settings, terms: Terms, tasks: Sequence[Task]) -> Estimate:
    """What the comparison would take. Refuses terms that are unequal, and caps that fit nothing."""
    from loriner.search.estimate import of_adaptation, of_comparison

    terms.require_fair(cached=settings.cache)
    episodes = [of_adaptation(settings, task, terms.plan) for task in tasks]
    found = of_comparison(episodes, n_arms=len(terms.modes) * terms.seeds)
    hopeless = terms.never_tells(tasks)
    return replace(found, warnings=(hopeless, *found.warnings)) if hopeless else found


def _terms(settings: Settings) -> Terms:
    from loriner.search.compare import Terms
    from loriner.search.episode import Plan

    return Terms.of(settings.compare, plan=Plan.of(settings.adapt))


async def _compare(settings: Settings, given: Globals, resume: str | None) -> str:
    from loriner.cli.progress import watching
    from loriner.events import Note
    from loriner.report.sinks.telling import chosen, sinking
    from loriner.runtime.levels import NEEDED
    from loriner.search.compare import compare as run_comparison
    from loriner.workspace import named, workspace

    sinks, terms = chosen(settings.sinks), _terms(settings)
    async with workspace(settings, "comparing", needed_level=NEEDED) as opened:
        solver = opened.model(named(settings.adapt.solver, "solver", "--solver"))
        entries = [_entry(opened, settings, name) for name in _names(settings)]
        try:
            _expected(settings, terms, [each.task for each in entries])
            with opened.run("compare", resume=resume) as (run_id, summary), ExitStack() as stack:
                watch = stack.enter_context(watching(given.verbosity))
                observe = stack.enter_context(sinking(sinks, run_id, watch, home=settings.home))
                names = ", ".join(each.task.name for each in entries)
                observe(Note(text=f"run {run_id}: {names}, solver {solver.name} (frozen)"))
                await run_comparison(opened, entries, solver, terms, run_id=run_id, observe=observe)
                summary |= {"task": names}
        finally:
            for each in entries:
                await each.task.close()
        return run_id


def _names(settings: Settings) -> tuple[str, ...]:
    """The tasks that are compared: those given, suites spelt out, or the one of `adapt`."""
    from loriner.tasks.suites import spelt_out
    from loriner.workspace import named

    given = settings.compare.tasks or [named(settings.adapt.task, "task", "TASK")]
    return spelt_out(given, settings.suites)


def _task(settings: Settings, name: str) -> Task:
    from loriner.config import changed
    from loriner.workspace import task_of

    return task_of(changed(settings, adapt={"task": name}))


def _entry(opened: Workspace, settings: Settings, name: str) -> Entry:
    from loriner.search.compare import Entry

    task = _task(settings, name)
    seed = opened.harness(settings.adapt.harness or f"library:{task.seed_harness}", task.name)
    return Entry(task, seed)


def _print_comparison(given: Globals, run_id: str) -> None:
    from loriner.cli import documents, render
    from loriner.report.document import document
    from loriner.report.pages import facts_of, page_of

    with given.store() as store:
        found = facts_of(store, run_id)
    if given.json:
        documents.emit(document(found))
        return
    page = page_of(found)
    typer.echo("\n".join([page.verdict, *page.remarks]))
    for section in page.sections[:2]:
        for figure in section.figures:
            render.table(figure.caption, figure.table.columns, figure.table.rows)
    typer.echo(f"Run {run_id}: loriner report {run_id} -o report.html")


def report(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="An adaptation or a comparison, by its id or a part of it.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The file to write.")] = Path("report.html"),
) -> None:
    """Writes one self-contained HTML file on a run; it can be made while the run works."""
    from loriner.cli import documents
    from loriner.report.document import document
    from loriner.report.page import html
    from loriner.report.pages import facts_of, page_of

    given: Globals = context.obj
    with given.store() as store:
        found = facts_of(store, run)
    if given.json:
        documents.emit(document(found))
        return
    page = page_of(found)
    out.write_text(html(page), encoding="utf-8")
    typer.echo(f"{page.verdict}\nwrote {out}")


def ui(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
) -> None:
    """Shows the reports in a browser on this machine, refreshed while runs work; reads only."""
    from loriner.report.serve import serve as run_server

    given: Globals = context.obj
    with given.store() as store:
        asyncio.run(run_server(store, port=port, say=_say))


def _say(text: str) -> None:
    typer.echo(text)


serve = ui
