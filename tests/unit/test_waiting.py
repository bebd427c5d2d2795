"""The engine called from plain code, with and without a running loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from loriner.concurrency import opened

WHERE = contextvars.ContextVar("WHERE", default="nowhere")


@asynccontextmanager
async def loop_of_its_own() -> AsyncIterator[asyncio.AbstractEventLoop]:
    yield asyncio.get_running_loop()


def called(work: Coroutine[Any, Any, Any]) -> Any:
    with opened(loop_of_its_own) as door:
        return door.call(lambda _: work)


async def told() -> str:
    await asyncio.sleep(0)
    return WHERE.get()


async def failing(error: BaseException) -> None:
    raise error


def test_without_a_loop_the_work_is_done_all_the_same() -> None:
    assert called(told()) == "nowhere"


def test_all_calls_of_a_session_run_on_the_loop_that_it_was_opened_in() -> None:
    async def here() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    with opened(loop_of_its_own) as door:
        assert door.call(lambda _: here()) is door.call(lambda _: here()) is door.inside
    assert door.inside.is_closed()


async def test_inside_a_loop_the_work_sees_the_caller_s_context_and_its_errors_come_back() -> None:
    WHERE.set("inside")
    assert called(told()) == "inside"
    with pytest.raises(TimeoutError, match="the work's own"):
        called(failing(TimeoutError("the work's own")))
    assert await told() == "inside"  # the caller's loop goes on


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
def test_work_that_would_end_the_thread_ends_its_call_alone(error: BaseException) -> None:
    with opened(loop_of_its_own) as door:
        with pytest.raises(type(error)):
            door.call(lambda _: failing(error))
        assert door.call(lambda _: told()) == "nowhere"


async def test_when_the_calling_task_is_cancelled_the_work_is_and_is_waited_for() -> None:
    begun, ended = threading.Event(), list[str]()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.2)
            ended.append("stored")

    async def call() -> None:
        called(work())

    task = asyncio.create_task(call())
    loop = asyncio.get_running_loop()

    def cancel() -> None:
        begun.wait(10)
        loop.call_soon_threadsafe(task.cancel)  # too late: the loop stands still
        task.cancel()  # as a signal handler does

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(asyncio.CancelledError):
        await task
    thread.join()
    assert ended == ["stored"]
