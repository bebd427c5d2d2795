"""`reward serve`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from loriner.cli.flags import settled
from loriner.cli.globals import Globals
from loriner.config import Settings

app = typer.Typer()
app.callback()(lambda: None)

Contexts = Annotated[Path, typer.Argument(help="A file of contexts, as `train contexts` draws it.")]


@app.command("serve")
@settled("adapt.solver", "allow_reduced", "budget", "cache")
def serve(
    given: Globals,
    settings: Settings,
    contexts: Contexts,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8081,
    host: Annotated[
        str, typer.Option(help="Address to listen on; another than this needs LORINER_TOKEN.")
    ] = "127.0.0.1",
) -> None:
    """Serves the reward of completions to any trainer."""
    from loriner.serving.rewards import serve as run_server

    asyncio.run(run_server(settings, contexts, host=host, port=port, say=typer.echo))
