"""`transfer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from loriner import config
from loriner.cli.flags import settled
from loriner.cli.globals import Globals
from loriner.config import Settings

if TYPE_CHECKING:
    from loriner.verbs.transfer import Rescored, Transfer


@settled("adapt.task", "evaluate.split", "evaluate.limit", "evaluate.samples", "budget", "cache")
def transfer(
    given: Globals,
    settings: Settings,
    to: Annotated[str, typer.Option(help="The solver to score them with.")],
    take: Annotated[
        bool, typer.Option("--take", help="Make the highest the best version for this solver.")
    ] = False,
) -> None:
    """Scores the versions of a task with another solver, before anything is searched for it."""
    from loriner.cli import documents
    from loriner.cli.session import carried_out
    from loriner.verbs.transfer import transfer as verb

    settings = config.changed(settings, adapt={"solver": to})
    found = carried_out(given, settings, verb, take=take)
    if given.json:
        documents.emit(found.as_json())
    else:
        _show(found, to)


def _show(found: Transfer, to: str) -> None:
    from loriner.cli import render

    columns = ["version", "what", "made for", "scored there", "score, 95 % interval", "less the first", "n"]
    title = f"Versions of {found.task}, {found.split} questions, solver {found.solver}"
    render.table(title, columns, [_row(each) for each in found.programs])
    if found.taken is not None:
        typer.echo(f"best@{found.task} for {found.solver} is {found.taken[:10]}")
        return
    best = found.best
    if len(found.programs) > 1:
        typer.echo("The highest of several is a little too high: it was chosen by these questions.")
    typer.echo(f"To use {best.version.sha[:10]} as best@{found.task} with this solver:")
    typer.echo(f"  loriner transfer {found.task} --to {to} --take")
    typer.echo(
        f"To search from it: loriner adapt {found.task} --solver {to} --harness {best.version.sha[:10]}"
    )


def _row(each: Rescored) -> list[object]:
    from loriner.cli import render

    version = each.version
    there = None if version.score is None else f"{version.score:.2f}"
    difference = each.against_seed.difference
    less = f"{difference.mean:+.2f} [{difference.low:+.2f}, {difference.high:+.2f}]"
    score = render.interval_text(each.score)
    return [version.sha[:10], version.subject, each.solver or None, there, score, less, each.score.n]
