"""What commands that spend have in common: caps, what it would take, going on with a run, replaying one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from loriner.cli.globals import Globals
    from loriner.config import Settings
    from loriner.search.estimate import Estimate, Range

Resume = Annotated[str | None, typer.Option(help="Go on with a run that was stopped.")]
Replay = Annotated[
    str | None, typer.Option(help="Do a run again from its recorded calls; no model is asked.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what it would take, and stop.")]


def earlier(
    settings: Settings, command: str, resume: str | None, replay: str | None, harness: str | None = None
) -> Settings:
    """The settings of the run that is resumed or replayed, or those given if none is.

    Only home, budget and, for a replay, the harness are taken from now. What else is asked now and was not
    then is told on stderr: it changes nothing.

    Raises:
        ConfigError: no such run, one of another command, or both are asked.
    """
    from loriner.config import Settings, changed
    from loriner.errors import ConfigError
    from loriner.store.database import Store

    if resume is not None and replay is not None:
        raise ConfigError("--resume goes on with a run, --replay does one again: give one of them")
    name = resume or replay
    if name is None:
        return settings
    store = Store.existing(settings.home)
    try:
        row = store.run(name)
        within = row.parent if row.parent and store.run(row.parent).command == "compare" else None
    finally:
        store.close()
    if row.command != command or within:
        fit = f"loriner compare --resume {within}" if within else f"loriner {row.command}"
        raise ConfigError(f"run {row.id} cannot be taken up by `{command}`: it belongs to `{fit}`")
    then = Settings.model_validate(row.config)
    for name in _unheard(settings, then):
        typer.echo(f"note: a run that is taken up keeps its own settings: {name}", err=True)
    then = then.model_copy(update={"home": settings.home, "budget": settings.budget})
    return changed(then, adapt={"harness": harness}) if replay else then


def _unheard(now: Settings, then: Settings) -> list[str]:
    """What is set now and was not then, but for the program, which a run knows by its id."""
    from loriner.config import Settings

    default, was = _leaves(Settings()), _leaves(then)
    if was["evaluate.suite"] is None:  # a run that kept its task where `adapt` does
        was["evaluate.suite"] = was["adapt.task"]
    return [
        f"{name} stays {was.get(name)}, not {value}"
        for name, value in _leaves(now).items()
        if value not in (default.get(name), was.get(name))
        and name.partition(".")[0] not in ("home", "budget", "models", "suites")
        and not name.endswith((".harness", ".harnesses"))
    ]


def _leaves(settings: Settings) -> dict[str, Any]:
    """Each value under its name, such as `adapt.rounds`."""
    return {
        f"{table}.{name}" if name else table: value
        for table, within in settings.as_json().items()
        for name, value in (within.items() if isinstance(within, dict) else [("", within)])
    }


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
        "What it would take",
        ["what", "likely", "at least", "at most"],
        [[name, _span(name, each), *_ends(name, bounds)] for name, each, bounds in rows],
    )
    if likely is not None:
        typer.echo(f"Likely takes {likely.source}.")
        if likely.minutes is None:
            typer.echo("Minutes are unknown until the first calls: a run says them after its first trials.")
    assumed_words = ", ".join(f"{name} {each.low:g} to {each.high:g}" for name, each in ASSUMED.items())
    typer.echo(f"At least and at most assume: {assumed_words}. Nothing was asked.")
    if found.least is not None:
        least = found.least
        typer.echo(f"Caps that fit one revision: --max-trials {least.trials}, --max-calls {least.calls}.")
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
