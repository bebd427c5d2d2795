"""The root command and its verbs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loriner import __version__
from loriner.cli import (
    adapting,
    comparing,
    diagnosing,
    evaluating,
    harnesses,
    machine,
    models,
    proposers,
    runs,
    stores,
    tasks,
    training,
)
from loriner.cli.globals import Globals

app = typer.Typer(
    name="loriner",
    help="Adapt a frozen language model to a task by rewriting the program around it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _version(context: typer.Context, asked: bool) -> None:
    if asked:
        if context.params.get("json"):  # read before, as it is eager too and stands in front
            from loriner.cli import documents

            documents.emit({"version": __version__})
        else:
            typer.echo(f"loriner {__version__}")
        raise typer.Exit


@app.callback(epilog="Global options may stand anywhere on the line. Exit codes: docs/cli.md.")
def root(
    context: typer.Context,
    home: Annotated[Path | None, typer.Option(help="Where all state lives (default .loriner/).")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (default loriner.toml).")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="A.B=C", help="One setting, as in loriner.toml.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", is_eager=True, help="One JSON document on stdout.")] = False,
    seed: Annotated[int | None, typer.Option(help="Seed of every draw.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Fetch nothing.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Errors only.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Tell more.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
) -> None:
    """Reads the options that every verb takes."""
    context.obj = Globals(
        home=home,
        config=config,
        assignments=tuple(set_ or ()),
        json=json,
        seed=seed,
        offline=True if offline else None,
        verbosity=int(verbose) - int(quiet),
    )


for part in (adapting, comparing, proposers, evaluating, harnesses, runs, diagnosing, machine):
    part.register(app)
for name, group in (
    ("models", models.app),
    ("tasks", tasks.app),
    ("train", training.app),
    ("store", stores.app),
    ("runs", runs.app),
):
    app.add_typer(group, name=name)
