"""What commands that spend have in common: caps, what it would take, going on with a run, replaying one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from loriner.cli.globals import Globals
    from loriner.search.estimate import Estimate, Range

Resume = Annotated[str | None, typer.Option(help="Resume this run.")]
Replay = Annotated[
    str | None, typer.Option(help="Repeat this run from its recorded calls; no model is called.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print an estimate of the cost, and stop.")]


def require_writable(path: Path) -> None:
    """Raises `OSError` where no file could be written at `path`, before anything is paid for."""
    new = not path.exists()
    path.open("a").close()
    if new:
        path.unlink()


def print_estimate(given: Globals, found: Estimate) -> None:
    """Prints an estimate: a table, or a document."""
    from loriner.cli import documents, render
    from loriner.search.estimate import ASSUMED

    if given.json:
        assumed = {name: asdict(each) for name, each in ASSUMED.items()}
        documents.emit({**asdict(found), "assumed": assumed})
        return
    likely = found.likely
    rows: list[list[Any]] = [
        ["trials", likely and likely.trials, found.trials],
        ["model calls", likely and likely.calls, found.calls],
        ["prompt tokens", likely and likely.prompt_tokens, found.prompt_tokens],
        ["completion tokens", likely and likely.completion_tokens, found.completion_tokens],
        ["USD", likely and likely.usd, found.usd],
        ["minutes", likely and likely.minutes, None],
    ]
    render.table(
        "Estimate",
        ["what", "likely", "at least", "at most"],
        [[name, _span(name, each), *_ends(name, bounds)] for name, each, bounds in rows],
    )
    if likely is not None:
        typer.echo(f"Likely assumes {likely.source}.")
        if likely.minutes is None:
            typer.echo("Minutes are unknown until the first calls: a run estimates them after three trials.")
    assumed_words = ", ".join(f"{name} {each.low:g} to {each.high:g}" for name, each in ASSUMED.items())
    typer.echo(f"At least and at most assume: {assumed_words}. No model was called.")
    if found.least is not None:
        least = found.least
        typer.echo(
            f"Smallest caps that allow one revision: --max-trials {least.trials}, --max-calls {least.calls}."
        )
    for warning in found.warnings:
        typer.echo(f"warning: {warning}", err=True)


_FORMS = {"USD": ",.4f", "minutes": ",.2g"}


def _span(name: str, each: Range | None) -> str:
    """Such as `120 to 380`."""
    if each is None:
        return "unpriced" if name == "USD" else "unknown"
    low, high = _ends(name, each)
    return low if low == high else f"{low} to {high}"


def _ends(name: str, each: Range | None) -> tuple[str, str]:
    form = _FORMS.get(name, ",.0f")
    if each is None:
        return ("unpriced", "unpriced") if name == "USD" else ("-", "-")
    return format(each.low, form), format(each.high, form)
