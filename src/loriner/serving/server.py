"""A server on this machine alone, until it is told to end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from loriner.config import Settings
from loriner.errors import ConfigError
from loriner.open_file_limit import raise_limit, trials_at_once
from loriner.runtime.host import LocalRuntime
from loriner.runtime.levels import require
from loriner.serving.gate import Gate, System
from loriner.serving.shelf import Shelf
from loriner.serving.solver import opened
from loriner.verbs.workspace import named

HOST = "127.0.0.1"
FAREWELL_S = 10.0
"""How long requests under way may take once the server is told to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What is served, and how."""

    words: Sequence[str]
    """`NAME=HARNESS` or `NAME=HARNESS@TASK` each."""
    canary: str | None = None
    system: System = "question"
    log: Path | None = None


async def serve(
    settings: Settings, wanted: Serving, *, port: int, say: Callable[[str], None], warn: Callable[[str], None]
) -> None:
    """Serves until SIGINT or SIGTERM, or until it is cancelled.

    Raises:
        ConfigError: the port cannot be had, or something that is to be served cannot.
        RuntimeUnavailable: the sandbox is too weak for programs that a model wrote.
    """
    async with gate(settings, wanted, warn) as opened_gate, listening(opened_gate.app(), port) as address:
        say(f"{address}/v1")
        for each in opened_gate.shelf.served.values():
            say(f"  {each.name}: harness {each.harness.id[:12]} ({each.version})")
        say(f"  {opened_gate.plain.name}: the solver alone")
        await told_to_end()


@asynccontextmanager
async def gate(settings: Settings, wanted: Serving, warn: Callable[[str], None]) -> AsyncIterator[Gate]:
    """The handlers with all that they need, closed when the block ends."""
    raise_limit()
    name = named(settings.adapt.solver, "solver", "--solver")
    async with AsyncExitStack() as held:
        shelf = Shelf.open(settings, wanted.words, wanted.canary)
        held.push_async_callback(shelf.close)
        model, plain = opened(settings, name)
        held.push_async_callback(model.close)
        held.push_async_callback(plain.close)
        if plain.name in shelf.served:
            raise ConfigError(f"the solver is called {plain.name!r} itself: give the harness another name")
        runtime = LocalRuntime(settings.isolation, n_in_flight=min(512, trials_at_once()))
        held.push_async_callback(runtime.close)
        await runtime.start()
        if warning := require(runtime, "serving", allow_reduced=settings.allow_reduced):
            warn(warning)
        log = None if wanted.log is None else held.enter_context(wanted.log.open("a", encoding="utf-8"))
        following = asyncio.create_task(shelf.follow())
        held.callback(following.cancel)
        yield Gate(
            shelf=shelf,
            runtime=runtime,
            model=model,
            plain=plain,
            limits=settings.limits,
            system=wanted.system,
            log=log,
        )


@asynccontextmanager
async def listening(app: web.Application, port: int, host: str = HOST) -> AsyncIterator[str]:
    """The address of the application. A client that hangs up ends its request.

    Raises:
        ConfigError: the port cannot be had.
    """
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=FAREWELL_S)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield f"http://{host}:{runner.addresses[0][1]}"
    except OSError as error:
        if runner.addresses:
            raise
        raise ConfigError(f"cannot listen on {host}:{port}: {error.strerror}; give another --port") from error
    finally:
        await runner.cleanup()


async def told_to_end() -> None:
    """Returns at the first SIGINT or SIGTERM; a second one ends the process as ever."""
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    try:
        await told.wait()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
