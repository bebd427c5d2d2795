"""How many calls may be in flight at once, learned from how the endpoint takes them."""

from __future__ import annotations

import asyncio
import collections
from enum import Enum, auto


class Pace(Enum):
    """How the endpoint took one call."""

    FINE = auto()
    OVERLOADED = auto()
    """It said so, or did not answer in time."""
    UNKNOWN = auto()
    """The call ended for a reason that says nothing about load."""


class AdaptiveLimit:
    """A semaphore whose size follows the endpoint.

    Each call that went fine while the limit was full raises it by one (it doubles a round trip) until
    the endpoint is first overloaded; from then on by one a round trip. An overload halves it, once for
    all the calls that were sent under the same limit. Waiters are served in order.
    """

    def __init__(self, start: int = 8, most: int = 256) -> None:
        self._limit = float(min(start, most))
        self._most = most
        self._in_flight = 0
        self._era = 0
        """Number of halvings so far."""
        self._waiters: collections.deque[asyncio.Future[None]] = collections.deque()

    @property
    def limit(self) -> int:
        """Calls that may be in flight now; at least 1."""
        return int(self._limit)

    @property
    def in_flight(self) -> int:
        return self._in_flight

    async def acquire(self) -> int:
        """Waits for a place; gives the era to hand back on release."""
        if self._in_flight < self.limit and not self._waiters:
            self._in_flight += 1
            return self._era
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            self._abandon(waiter)
            raise
        return self._era

    def release(self, era: int, pace: Pace) -> None:
        """Gives the place back, and tells how the call went."""
        if pace is Pace.FINE and self._in_flight >= self.limit:
            step = 1.0 if self._era == 0 else 1.0 / self._limit
            self._limit = min(self._limit + step, float(self._most))
        elif pace is Pace.OVERLOADED and era == self._era:
            self._limit = max(self._limit / 2, 1.0)
            self._era += 1
        self._in_flight -= 1
        self._wake()

    def _abandon(self, waiter: asyncio.Future[None]) -> None:
        if waiter.done() and not waiter.cancelled():  # woken and cancelled in one step: pass the place on
            self._in_flight -= 1
            self._wake()
        elif waiter in self._waiters:
            self._waiters.remove(waiter)

    def _wake(self) -> None:
        while self._waiters and self._in_flight < self.limit:
            waiter = self._waiters.popleft()
            if not waiter.done():
                self._in_flight += 1
                waiter.set_result(None)
