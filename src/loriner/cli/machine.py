"""`doctor` and `init`: what this machine can do, and a first settings file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loriner.cli.globals import Globals
from loriner.errors import ConfigError

if TYPE_CHECKING:
    from loriner.config import Settings
    from loriner.runtime.doctor import SandboxReport

TEMPLATE = """\
# Settings of loriner; every key has a default (docs/configuration.md).

[adapt]
task = "{task}"
solver = "{solver}"
proposer = "catalogue"
rounds = 10
candidates = 2

# Your own endpoint: name it here, then give --solver small
# [models.small]
# base_url = "http://localhost:8000/v1"
# model = "Qwen3.5-4B"
# api_key_env = "MY_KEY"
# price = {{ input = 0.05, output = 0.20 }}  # USD per million tokens
"""


def init(
    context: typer.Context,
    task: Annotated[str, typer.Option(help="The task to adapt to.")] = "primes",
    solver: Annotated[str, typer.Option(help="The frozen model.")] = "qwen2.5-coder-0.5b",
    whole: Annotated[
        bool, typer.Option("--all", help="Write every setting, with its default and a description.")
    ] = False,
) -> None:
    """Writes loriner.toml in this folder."""
    from loriner.config import FILE_NAME
    from loriner.setting_docs import as_toml

    given: Globals = context.obj
    path = given.config or Path(FILE_NAME)
    if path.exists():
        raise ConfigError(f"{path} already exists; remove it, or name another with --config")
    path.write_text(as_toml() if whole else TEMPLATE.format(task=task, solver=solver), encoding="utf-8")
    step = (
        "name a task and a solver under [adapt]" if whole else f"loriner tasks check {task} && loriner adapt"
    )
    typer.echo(f"wrote {path}\nnext: {step}")


def doctor(
    context: typer.Context,
    require: Annotated[int, typer.Option(min=0, max=4, help="The level that must be reached.")] = 2,
    endpoint: Annotated[str | None, typer.Option(help="Also ask this model for one token.")] = None,
) -> None:
    """Tests what the sandbox blocks here, and checks the machine. Exits with 3 below the required level."""
    from loriner.cli import documents, render

    given: Globals = context.obj
    settings = given.settings()
    report = asyncio.run(_probe(settings))
    rows: list[list[Any]] = [[each.name, each.state, each.reason, each.fix] for each in report.rows]
    rows += [
        [name, "ok" if ok else "FAILS", found, "" if ok else fix]
        for name, ok, found, fix in _surroundings(given, endpoint)
    ]
    if given.json:
        documents.emit(
            {
                "level": report.level,
                "required": require,
                "system": report.system,
                "landlock_abi": report.landlock_abi,
                "notes": list(report.notes),
                "rows": [dict(zip(("name", "state", "reason", "fix"), row, strict=True)) for row in rows],
            }
        )
    else:
        title = f"{report.system}: sandbox level {report.level} ({report.name}), required {require}"
        render.table(title, ["what", "state", "why", "fix"], rows)
        for note in report.notes:
            typer.echo(note)
    if report.level < require or any(row[1] == "FAILS" for row in rows):
        raise typer.Exit(3)


async def _probe(settings: Settings) -> SandboxReport:
    from loriner.runtime.doctor import probe
    from loriner.runtime.host import LocalRuntime

    runtime = LocalRuntime(settings.isolation)
    try:
        await runtime.start()
        return await probe(runtime)
    finally:
        await runtime.close()


def _surroundings(given: Globals, endpoint: str | None) -> list[tuple[str, bool, str, str]]:
    """Python, disk, store, registry and, if asked, the endpoint: name, fine, what was found, what to do."""
    import shutil
    import sys

    settings = given.settings()
    home = settings.home.absolute()
    free = shutil.disk_usage(next(each for each in (home, *home.parents) if each.exists())).free / 2**30
    rows = [
        ("python", sys.version_info >= (3, 11), sys.version.split()[0], "install Python 3.11 or newer"),
        ("disk", free > 1, f"{free:.1f} GiB free", f"free some space on the disk of {settings.home}"),
        _store(settings.home),
    ]
    if endpoint is not None:
        rows.append(asyncio.run(_endpoint(given, endpoint)))
    return rows


def _store(home: Path) -> tuple[str, bool, str, str]:
    from loriner.errors import StoreError
    from loriner.store.check import check

    try:
        found = check(home)
    except StoreError as error:
        return ("store", False, str(error), "loriner store check")
    return (
        "store and registry",
        not found.problems,
        "; ".join(found.problems) or "whole",
        "loriner store check",
    )


async def _endpoint(given: Globals, name: str) -> tuple[str, bool, str, str]:
    from loriner.errors import LorinerError
    from loriner.models.base import Message, ModelRequest
    from loriner.models.named import open_model

    settings = given.settings()
    try:
        model = open_model(name, specs=settings.models, models_dir=settings.weights, offline=settings.offline)
        try:
            reply = await model.complete(ModelRequest(messages=(Message("user", "Say yes."),), max_tokens=1))
        finally:
            await model.close()
    except LorinerError as error:
        return ("endpoint", False, str(error), "start the server, or correct the URL and the model's name")
    price = "unpriced" if reply.usd is None else f"USD {reply.usd:.6f}"
    counted = "usage reported" if reply.counted else "no usage field: tokens are estimated"
    return ("endpoint", True, f"answered in {reply.seconds:.1f} s, {counted}, {price}", "")
