"""The root command and what is below it.

Of a command that is not asked for, only the name and the summary are read: the help of the root must not pay
for the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from loriner import __version__
from loriner.cli.globals import Globals

COMMANDS = {
    "demo": "adapting",
    "adapt": "adapting",
    "compare": "comparing",
    "report": "comparing",
    "ui": "comparing",
    "serve": "serve",
    "compare-proposers": "proposers",
    "evaluate": "evaluating",
    "propose": "evaluating",
    "diagnose": "diagnosing",
    "doctor": "machine",
    "init": "machine",
}
"""The module of each command."""
GROUPS = {
    "tasks": ("tasks", "Tasks: questions with a scorer."),
    "models": ("models", "Models: list their names, download pinned weights."),
    "runs": ("runs", "Runs: list, show or watch them."),
    "versions": ("harnesses", "Versions: the seed and the accepted programs of each task."),
    "store": ("stores", "The store of all runs: check, export or merge it."),
    "reward": ("rewards", "Rewards for trainers: serve them over HTTP."),
    "train": ("training", "Train a proposer: contexts, teacher data, trees, SFT, GRPO."),
}
"""The module of each group of commands, which it calls `app`, and what the group is."""
ALIASES = {
    **dict.fromkeys(
        ("log", "show", "diff", "revert", "take", "tag", "blame", "bisect", "export"), "harnesses"
    ),
}
"""Older spellings, in no help: `loriner log` is `loriner versions log`."""


def app_for(asked: str) -> typer.Typer:
    """The root command. What is called `asked` below it can be run; the others are only listed."""
    app = typer.Typer(
        name="loriner",
        help="Adapt a frozen language model to a task by rewriting the program around it.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
    )
    app.callback(epilog="Global options may appear anywhere on the line. Exit codes: docs/cli.md.")(root)
    for name, module in {**COMMANDS, **ALIASES}.items():
        function = name.replace("-", "_")
        command = getattr(_module(module), function) if name == asked else _listed(module, function)
        app.command(name, hidden=name in ALIASES)(command)
    for name, (module, about) in GROUPS.items():
        group = _module(module).app if name == asked else _empty()
        app.add_typer(group, name=name, help=about, no_args_is_help=True)
    return app


def _module(name: str) -> Any:
    return import_module(f"loriner.cli.{name}")


def _listed(module: str, function: str) -> Callable[[], None]:
    """Stands for a command in the help of the root."""

    def listed() -> None:
        raise AssertionError("only its name and help are read: the command itself is loaded by name")

    listed.__doc__ = summary(module, function)
    return listed


def _empty() -> typer.Typer:
    """Stands for a group."""
    group = typer.Typer()
    group.callback()(lambda: None)
    return group


def summary(module: str, function: str) -> str:
    """What a command says of itself, read from its source. Empty where it says nothing."""
    source = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
    found = re.search(rf'^def {function}\(.*?"""(.*?)"""', source, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def _version(context: typer.Context, asked: bool) -> None:
    if asked:
        if context.params.get("json"):  # read before, as it is eager too and stands in front
            from loriner.cli import documents

            documents.emit({"version": __version__})
        else:
            typer.echo(f"loriner {__version__}")
        raise typer.Exit


def root(
    context: typer.Context,
    home: Annotated[Path | None, typer.Option(help="Folder of all state (default .loriner/).")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (default loriner.toml).")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="A.B=C", help="One setting, as in loriner.toml.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", is_eager=True, help="One JSON document on stdout.")] = False,
    seed: Annotated[int | None, typer.Option(help="Seed of all random choices.")] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Download nothing; use no endpoint elsewhere.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print errors only.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Print more.")] = False,
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
