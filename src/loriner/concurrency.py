"""The engine's coroutines, called from plain code, on a loop that stays open between the calls.

Where an event loop runs already, as in a notebook or inside `asyncio.run`, the caller's loop stands still
until the work is done. Where its other tasks are to go on meanwhile, the call belongs in `in_background`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Generic, ParamSpec, TypeVar

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

_given_up: ContextVar[threading.Event | None] = ContextVar("given_up", default=None)
"""Set where the task that waits for this thread was cancelled."""
_LOOK_S = 0.1
"""How often a waiting caller looks whether it was cancelled."""


class Door(Generic[T]):
    """Runs coroutines on the loop in which `inside` was opened, from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, inside: T) -> None:
        self._loop = loop
        self.inside = inside

    def call(self, make: Callable[[T], Coroutine[Any, Any, R]]) -> R:
        """What the coroutine returns; what it raises is raised here.

        An interrupt, or a cancellation of the calling task, cancels the work and is raised when it has ended.
        """
        return _run_on(self._loop, make(self.inside))

    @contextmanager
    def entered(self, make: Callable[[T], AbstractAsyncContextManager[R]]) -> Iterator[Door[R]]:
        """A door to what `make` opens on the same loop; closed, in that loop, when the block ends."""
        manager = make(self.inside)
        inside = _run_on(self._loop, _enter(manager))
        try:
            yield Door(self._loop, inside)
        except BaseException as error:
            _leave(manager, self._loop, error)
            raise
        else:
            _leave(manager, self._loop, None)


async def in_background(call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """What the call returns, made in a thread of its own while the caller's loop goes on.

    A cancellation of the calling task cancels the work of a `Door`, and is raised when that has ended.
    """
    given_up = threading.Event()
    token = _given_up.set(given_up)
    work = asyncio.ensure_future(asyncio.to_thread(call, *args, **kwargs))
    _given_up.reset(token)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        given_up.set()
        await asyncio.wait([work])
        if not work.cancelled():
            work.exception()  # it is the cancellation that the caller hears of
        raise


@contextmanager
def opened(make: Callable[[], AbstractAsyncContextManager[T]]) -> Iterator[Door[T]]:
    """A door to what `make` opens, on a loop of its own; closed, in that loop, when the block ends."""
    with _loop() as loop, Door(loop, None).entered(lambda _: make()) as door:
        yield door


@contextmanager
def _loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A running event loop in a thread of its own, closed there."""
    ready: Future[asyncio.AbstractEventLoop] = Future()
    over = threading.Event()
    thread = threading.Thread(target=_turn, args=(ready, over), name="loriner-engine", daemon=True)
    thread.start()
    loop = ready.result()
    try:
        yield loop
    finally:
        over.set()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _turn(ready: Future[asyncio.AbstractEventLoop], over: threading.Event) -> None:
    with asyncio.Runner() as runner:  # `asyncio.run` is another function where nest_asyncio is at work
        loop = runner.get_loop()
        ready.set_result(loop)
        while not over.is_set():
            with suppress(SystemExit, KeyboardInterrupt):  # raised by the work: its caller gets it
                loop.run_forever()


def _run_on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, R]) -> R:
    """The result of the work, run as a task of a loop in another thread."""
    ended: Future[R] = Future()
    tasks: list[asyncio.Task[R]] = []

    def begin() -> None:
        task = loop.create_task(work)
        tasks.append(task)
        task.add_done_callback(lambda done: _pass_on(done, ended))

    loop.call_soon_threadsafe(begin)
    try:
        _watch(ended)
    except BaseException:
        loop.call_soon_threadsafe(lambda: tasks[0].cancel())
        wait([ended])
        raise
    return ended.result()


def _pass_on(done: asyncio.Task[R], ended: Future[R]) -> None:
    if done.cancelled():
        ended.set_exception(asyncio.CancelledError())
    elif (error := done.exception()) is not None:
        ended.set_exception(error)
    else:
        ended.set_result(done.result())


def _watch(ended: Future[Any]) -> None:
    """Returns at the end of the work.

    Raises:
        asyncio.CancelledError: the calling task was cancelled. A first Ctrl-C inside `asyncio.run` does only
            that, and the loop that would tell the task of it stands still.
    """
    try:
        caller = asyncio.current_task()
    except RuntimeError:  # no loop runs here
        caller = None
    before, given_up = 0 if caller is None else caller.cancelling(), _given_up.get()
    while not wait([ended], _LOOK_S).done:
        if given_up is not None and given_up.is_set():
            raise asyncio.CancelledError
        if caller is not None and caller.cancelling() > before:
            raise asyncio.CancelledError


def _leave(
    manager: AbstractAsyncContextManager[Any], loop: asyncio.AbstractEventLoop, error: BaseException | None
) -> None:
    """Closes what was opened, telling it what ended the block. An interrupt reaches it as a cancellation."""
    if error is not None and not isinstance(error, Exception):
        error = asyncio.CancelledError()
    kind = None if error is None else type(error)
    try:
        _run_on(loop, _exit(manager, kind, error))
    except asyncio.CancelledError:
        if not isinstance(error, asyncio.CancelledError):
            raise
    except Exception as raised:
        if raised is not error:  # what it was told, it raises again
            raise


async def _enter(manager: AbstractAsyncContextManager[T]) -> T:
    return await manager.__aenter__()


async def _exit(
    manager: AbstractAsyncContextManager[Any], kind: type[BaseException] | None, error: BaseException | None
) -> None:
    await manager.__aexit__(kind, error, None)
