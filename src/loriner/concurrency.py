"""The result of a coroutine for a caller that is none, also where an event loop runs already.

In a notebook, or inside `asyncio.run`, the caller's loop stands still until the work is done. Where its other
tasks are to go on meanwhile, the call belongs in `asyncio.to_thread`.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, TypeVar

R = TypeVar("R")

_LOOK_S = 0.1
"""How often a waiting caller looks whether it was cancelled."""


def wait_for(work: Coroutine[Any, Any, R]) -> R:
    """What the coroutine returns; what it raises is raised here.

    An interrupt, or a cancellation of the calling task, cancels the work and is raised when that has ended.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _beside(work)


def _beside(work: Coroutine[Any, Any, R]) -> R:
    """The result of the work on a loop and in a thread of its own."""
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = Future()

    async def begin() -> R:
        begun.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    def run() -> R:
        with asyncio.Runner() as runner:  # `asyncio.run` is another function where nest_asyncio is at work
            return runner.run(begin())

    with ThreadPoolExecutor(1, "loriner-engine") as pool:
        ended = pool.submit(contextvars.copy_context().run, run)
        try:
            _watch(ended)
        except BaseException:
            loop, task = begun.result()
            assert task is not None  # a coroutine runs in a task
            with suppress(RuntimeError):  # the work has ended, and its loop is closed
                loop.call_soon_threadsafe(task.cancel)
            raise
    return ended.result()


def _watch(ended: Future[Any]) -> None:
    """Returns at the end of the work.

    Raises:
        asyncio.CancelledError: the calling task was cancelled. A first Ctrl-C inside `asyncio.run` does only
            that, and the loop that would tell the task of it stands still.
    """
    caller = asyncio.current_task()
    before = 0 if caller is None else caller.cancelling()
    while not wait([ended], _LOOK_S).done:
        if caller is not None and caller.cancelling() > before:
            raise asyncio.CancelledError
