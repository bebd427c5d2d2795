"""Few runs are at work, those that have begun go first, and memory is not promised twice."""

from __future__ import annotations

import asyncio

import pytest

from loriner.runtime.admission import Memory, Slots, free_memory_bytes, total_memory_bytes


async def test_a_run_that_has_begun_goes_before_one_that_has_not() -> None:
    slots = Slots(1)
    await slots.acquire()
    order: list[str] = []

    async def take(name: str, begun: bool) -> None:
        await slots.acquire(begun=begun)
        order.append(name)
        slots.release()

    tasks = [asyncio.create_task(take(*each)) for each in (("new", False), ("newer", False), ("begun", True))]
    await asyncio.sleep(0)
    slots.release()
    await asyncio.gather(*tasks)
    assert order == ["begun", "new", "newer"]


async def test_a_cancelled_wait_loses_no_place() -> None:
    slots = Slots(1)
    await slots.acquire()
    waiting = [asyncio.create_task(slots.acquire()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    slots.release()
    waiting[1].cancel()
    await asyncio.sleep(0)
    await asyncio.wait_for(waiting[2], 5)
    slots.release()
    await asyncio.wait_for(slots.acquire(), 5)


async def test_runs_wait_for_memory_but_one_is_always_let_in() -> None:
    free = total_memory_bytes()
    memory = Memory(2, free_bytes=lambda: free)
    async with memory.hold(free * 2):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2), memory.hold(free * 2):
                pass
    async with memory.hold(free // 4), memory.hold(free // 4):
        free //= 4
        await asyncio.sleep(0.1)
        blocked = asyncio.create_task(memory.hold(free).__aenter__())
        await asyncio.sleep(0.1)
        assert not blocked.done()
        free *= 4
        await asyncio.wait_for(blocked, 5)


def test_free_memory_is_some_of_all() -> None:
    free = free_memory_bytes()
    assert free is None or 0 < free <= total_memory_bytes()
