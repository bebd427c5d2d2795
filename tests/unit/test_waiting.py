"""Waiting for a coroutine from code that is none, with and without a running loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from loriner.concurrency import wait_for

WHERE = contextvars.ContextVar("WHERE", default="nowhere")


async def told() -> str:
    await asyncio.sleep(0)
    return WHERE.get()


async def failing() -> None:
    raise TimeoutError("the work's own")


def test_without_a_loop_it_runs_here() -> None:
    assert wait_for(told()) == "nowhere"


async def test_inside_a_loop_the_work_sees_the_caller_s_context_and_its_errors_come_back() -> None:
    WHERE.set("inside")
    assert wait_for(told()) == "inside"
    with pytest.raises(TimeoutError, match="the work's own"):
        wait_for(failing())
    assert await told() == "inside"  # the caller's loop goes on


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
        wait_for(work())

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
