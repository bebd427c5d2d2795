"""Who may run now: few at work at once, many waiting for the model, as many as memory holds."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

_MEMORY_RESERVE = 0.1
"""Share of the machine's memory that new runs leave free."""
_RECHECK_S = 0.05
"""How often free memory is asked for, at most."""


class Slots:
    """`n` places for runs at work; those that have begun come before those that have not."""

    def __init__(self, n: int) -> None:
        self._free = n
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def acquire(self, *, begun: bool = False) -> None:
        if self._free:
            self._free -= 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if begun:
            self._waiting.appendleft(place)
        else:
            self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.release()
            raise

    def release(self) -> None:
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._free += 1


class Memory:
    """Lets a run begin only when the machine's free memory holds what the runs at work may still take."""

    def __init__(self, n_at_work: int, free_bytes: Callable[[], int | None] | None = None) -> None:
        self._n_at_work = n_at_work
        self._free_bytes = free_bytes or free_memory_bytes
        self._reserve = int(_MEMORY_RESERVE * total_memory_bytes())
        self._n_begun = 0
        self._known: tuple[float, int | None] = (-1.0, None)
        """Free memory, and when it was asked for."""

    @asynccontextmanager
    async def hold(self, memory_bytes: int) -> AsyncIterator[None]:
        """For the length of a run that may take `memory_bytes`. One run at least is always let in."""
        while self._n_begun and not self._fits(memory_bytes):  # noqa: ASYNC110 - nothing tells of free memory
            await asyncio.sleep(_RECHECK_S)
        self._n_begun += 1
        try:
            yield
        finally:
            self._n_begun -= 1

    def _fits(self, memory_bytes: int) -> bool:
        if (now := time.monotonic()) > self._known[0] + _RECHECK_S:
            self._known = now, self._free_bytes()
        free = self._known[1]
        at_work = min(self._n_begun + 1, self._n_at_work)
        return free is None or free - at_work * memory_bytes >= self._reserve


def total_memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def free_memory_bytes() -> int | None:
    """Memory that can be had without swapping; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None
