"""`store check | export | merge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loriner.cli.globals import Globals
from loriner.errors import StoreError

app = typer.Typer()


@app.command()
def check(
    context: typer.Context,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="First rewrite the git repository from the store.")
    ] = False,
) -> None:
    """Checks the store for damage. Exits with 6 if there is any."""
    from loriner.cli import documents
    from loriner.store.check import check as run_check
    from loriner.store.connection import require_store
    from loriner.store.registry import Registry

    given: Globals = context.obj
    home = given.settings().home
    require_store(home)
    if rebuild:
        Registry(home).rebuild()
    found = run_check(home)
    if given.json:
        documents.emit({"problems": list(found.problems), "counts": dict(found.counts)})
    else:
        typer.echo(
            "\n".join(found.problems)
            or "whole: " + ", ".join(f"{n:,} {what}" for what, n in found.counts.items())
        )
    if found.problems:
        typer.echo(
            "error: the store is damaged: restore it from a copy, or export what can be read", err=True
        )
        raise typer.Exit(StoreError.exit_code)  # the problems are the document


@app.command()
def export(
    context: typer.Context,
    what: Annotated[str, typer.Option(help="What to export: trials, sft or grpo.")] = "trials",
    format: Annotated[str, typer.Option(help="jsonl or parquet.")] = "jsonl",
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The file to write; default WHAT.FORMAT.")
    ] = None,
) -> None:
    """Exports trials or training rows for other tools."""
    from loriner.store.export import export as write

    given: Globals = context.obj
    path = out or Path(f"{what}.{format}")
    with given.store() as store:
        typer.echo(f"{write(store, what, format, path):,} rows in {path}")


@app.command()
def merge(
    context: typer.Context, other: Annotated[Path, typer.Argument(help="The home folder to copy from.")]
) -> None:
    """Copies the runs of another home into this one; doing it twice changes nothing."""
    from loriner.store.merge import merge as run_merge

    given: Globals = context.obj
    merged = run_merge(given.settings().home, other)
    for own, new in merged.renamed.items():
        typer.echo(f"note: run {own} of {other} is another run than {own} here: copied as {new}", err=True)
    typer.echo(f"{merged.n_rows:,} rows copied from {other}")
