"""`serve`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from loriner.cli.flags import settled
from loriner.cli.globals import Globals
from loriner.config import Settings
from loriner.errors import ConfigError

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME=HARNESS[@TASK]", help="A harness and its name for clients.", show_default=False
    ),
]


@settled("adapt.solver", "allow_reduced")
def serve(
    given: Globals,
    settings: Settings,
    harnesses: Words = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8080,
    canary: Annotated[
        str | None,
        typer.Option(metavar="NAME:SHARE", help="Share of the first harness's questions that NAME answers."),
    ] = None,
    system: Annotated[
        str,
        typer.Option(
            metavar="question|pass",
            help="Put a system message before the question, or pass such requests to the solver.",
        ),
    ] = "question",
    log: Annotated[
        Path | None, typer.Option(help="Append questions and answers to this file. Default: none is kept.")
    ] = None,
) -> None:
    """Serves harnesses to any client of the OpenAI protocol, on this machine."""
    from loriner.serving.server import Serving
    from loriner.serving.server import serve as run_server

    if not harnesses:
        raise ConfigError(
            "serve needs a harness: loriner serve NAME=best@TASK --solver MODEL; the reports are `loriner ui`"
        )
    if system not in ("question", "pass"):
        raise ConfigError(f"--system {system!r}: expected question or pass")
    wanted = Serving(words=harnesses, canary=canary, system=system, log=log)  # type: ignore[arg-type]
    asyncio.run(run_server(settings, wanted, port=port, say=typer.echo, warn=_warn))


def _warn(text: str) -> None:
    typer.echo(text, err=True)
