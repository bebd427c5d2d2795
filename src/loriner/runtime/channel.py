"""The host's end of a socket, on the running event loop."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from loriner.runtime import wire

_READ_BYTES = 2**16

Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)


class Decoder(Protocol[Item_co]):
    """Makes items of bytes."""

    @property
    def partial(self) -> bool:
        """Whether an item has begun and not ended."""
        ...

    def feed(self, data: bytes) -> Iterator[Item_co]:
        """The items that `data` completes. Raises WireError."""
        ...


class Channel(Generic[Item]):
    """Reads items as they come and writes bytes as the other end takes them; neither ever blocks the loop.

    What waits to be written is kept in memory: the caller's deadlines bound how long.
    """

    def __init__(self, sock: socket.socket, decoder: Decoder[Item]) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._decoder = decoder
        self._items: deque[Item] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._unsent = bytearray()
        self._watching = False
        self._ended = False
        self._stopped = False
        self._error: wire.WireError | None = None
        self._loop.add_reader(sock, self._readable)

    async def read(self) -> Item | None:
        """The next item, or None when the other end is closed or this one stopped.

        Raises:
            WireError: what came is no item.
        """
        while not self._items and not self._ended:
            self._waiter = self._loop.create_future()
            await self._waiter
        if self._items:
            return self._items.popleft()
        if self._error is not None:
            raise self._error
        return None

    @property
    def partial(self) -> bool:
        """Whether the stream ended inside an item."""
        return self._decoder.partial

    def send(self, data: bytes) -> None:
        """Queues bytes. What cannot be written any more is dropped: `read` sees the end."""
        self._unsent += data
        self._writable()

    def send_with_fds(self, message: bytes, fds: Sequence[int]) -> None:
        """Sends a small message at once, with descriptors. Raises OSError."""
        socket.send_fds(self._sock, [message], list(fds))

    @property
    def stopped(self) -> bool:
        """Whether this end stopped reading before the other one closed."""
        return self._stopped

    def stop(self) -> None:
        """Ends reading: `read` gives what has come, then None."""
        self._stopped = self._stopped or not self._ended
        self._end()

    def close(self) -> None:
        """Closes this end. Safe to call twice."""
        self._end()
        self._watch_for_room(False)
        self._sock.close()

    def _readable(self) -> None:
        try:
            data = self._sock.recv(_READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._end()
            return
        try:
            self._items.extend(self._decoder.feed(data))
        except wire.WireError as error:
            self._end(error)
        else:
            self._wake()

    def _writable(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._sock.send(self._unsent)]
        except (BlockingIOError, InterruptedError):
            self._watch_for_room(True)
            return
        except OSError:
            self._unsent.clear()
        self._watch_for_room(False)

    def _watch_for_room(self, wanted: bool) -> None:
        if wanted and not self._watching:
            self._loop.add_writer(self._sock, self._writable)
        if self._watching and not wanted:
            self._loop.remove_writer(self._sock)
        self._watching = wanted

    def _end(self, error: wire.WireError | None = None) -> None:
        if not self._ended:
            self._ended, self._error = True, error
            if self._sock.fileno() >= 0:
                self._loop.remove_reader(self._sock)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
