"""A synchronous door to the engine: trainers call in from their own thread, the engine lives on one event
loop.

What is opened in the loop (store, sandbox, solver) is used and closed in it; a trainer never sees a
coroutine.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Door(Generic[T]):
    """Runs coroutines of the thing behind it, from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, inside: T) -> None:
        self._loop = loop
        self.inside = inside

    def call(self, make: Callable[[T], Coroutine[Any, Any, R]]) -> R:
        """The result of the coroutine; what it raises is raised here. An interrupt cancels it."""
        future = asyncio.run_coroutine_threadsafe(make(self.inside), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


@contextmanager
def opened(make: Callable[[], AbstractAsyncContextManager[T]]) -> Iterator[Door[T]]:
    """A door to what `make` opens, on a loop of its own; closed, in that loop, when the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="loriner-engine", daemon=True)
    thread.start()
    manager = make()
    try:
        inside = asyncio.run_coroutine_threadsafe(manager.__aenter__(), loop).result()
        try:
            yield Door(loop, inside)
        except BaseException as error:
            _leave(manager, loop, error)
            raise
        else:
            _leave(manager, loop, None)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _leave(
    manager: AbstractAsyncContextManager[Any], loop: asyncio.AbstractEventLoop, error: BaseException | None
) -> None:
    """Closes what was opened, telling it what ended the block. An interrupt reaches it as a cancellation."""
    if error is not None and not isinstance(error, Exception):
        error = asyncio.CancelledError()
    kind = None if error is None else type(error)
    left = asyncio.run_coroutine_threadsafe(manager.__aexit__(kind, error, None), loop)
    try:
        left.result()
    except (asyncio.CancelledError, concurrent.futures.CancelledError):
        if not isinstance(error, asyncio.CancelledError):
            raise
    except Exception as raised:
        if raised is not error:  # what it was told, it raises again
            raise
