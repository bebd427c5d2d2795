"""`compare`, `report` and `ui`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from loriner.cli.flags import settled
from loriner.cli.globals import Globals
from loriner.cli.spending import DryRun, print_estimate
from loriner.config import Settings

_OF_MODES = ("adapt.task", "adapt.revise", "adapt.oracle")
"""What `compare` sets itself."""


@settled("compare", "adapt", "sinks", "budget", "cache", "allow_reduced", without=_OF_MODES)
def compare(
    given: Globals,
    settings: Settings,
    dry_run: DryRun = False,
    resume: Annotated[str | None, typer.Option(help="Resume this comparison.")] = None,
) -> None:
    """Compares search modes at equal cost, with paired confidence intervals."""
    from loriner.cli.session import carried_out
    from loriner.verbs.compare import compare as verb
    from loriner.verbs.compare import estimate
    from loriner.verbs.earlier import Earlier, as_begun

    harness = given.flags.get("adapt", {}).get("harness")
    earlier = Earlier(resume=resume, harnesses=(harness,) if harness else (), given=given.told)
    settings = as_begun(settings, "compare", earlier)
    if dry_run:
        print_estimate(given, asyncio.run(estimate(settings)))
        return
    _print_comparison(given, carried_out(given, settings, verb, earlier=earlier))


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
    run: Annotated[str, typer.Argument(help="A run of adapt or compare: its id, or the beginning of it.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The file to write.")] = Path("report.html"),
) -> None:
    """Writes a self-contained HTML report on a run, even while the run works."""
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
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 0,
) -> None:
    """Shows the reports in a browser on this machine, and refreshes them while runs work. Read-only."""
    from loriner.report.serve import serve as run_server

    given: Globals = context.obj
    with given.store() as store:
        asyncio.run(run_server(store, port=port, say=_say))


def _say(text: str) -> None:
    typer.echo(text)
