"""The messages between the host and a zygote. Standard library only.

The socket keeps messages apart. The first each way is JSON; the rest are fixed records, since whatever a
zygote does between two forks dirties pages that it shares with its children, and costs time in each run.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import Any

_ROWS = 5
_START = struct.Struct(f"<{1 + 3 * _ROWS}q")
_KILL = struct.Struct("<q")
_ENDED = struct.Struct("<qqdq")
_FDS = struct.Struct("2i")
_FDS_SPACE = socket.CMSG_SPACE(_FDS.size)
SETUP_BYTES = 2**16

Rows = Sequence[Sequence[int]]
"""Resource, soft limit, hard limit of each limit of a child."""


def pair() -> tuple[socket.socket, socket.socket]:
    """Two ends of a socket that keeps messages apart and tells when the other end is gone."""
    return socket.socketpair(
        socket.AF_UNIX, socket.SOCK_DGRAM if sys.platform == "darwin" else socket.SOCK_SEQPACKET
    )


def receive_setup(sock: socket.socket) -> Any:
    """The first message. Raises ValueError when the host is already gone."""
    return json.loads(sock.recv(SETUP_BYTES))


def encode_setup(setup: Any) -> bytes:
    return json.dumps(setup).encode()


def encode_start(number: int, rows: Rows) -> bytes:
    """The request for child `number`; its socket and its output travel with it."""
    values = [value for row in rows for value in row]
    return _START.pack(number, *values, *[-1] * (3 * _ROWS - len(values)))


def encode_kill(number: int) -> bytes:
    return _KILL.pack(number)


def receive(sock: socket.socket) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Number of the run, its limits as one row and its descriptors; both are empty when it is to be killed.

    Raises:
        EOFError: the host is gone.
    """
    data, ancillary, _, _ = sock.recvmsg(_START.size, _FDS_SPACE)
    if not data:
        raise EOFError("the host is gone")
    if len(data) == _KILL.size:
        return _KILL.unpack(data)[0], (), ()
    number, *limits = _START.unpack(data)
    return number, tuple(limits), _FDS.unpack(ancillary[0][2][: _FDS.size])


def encode_ended(number: int, status: int, cpu_s: float, rss_bytes: int) -> bytes:
    """The report on a child: its wait status, or the negative error number of a fork that failed."""
    return _ENDED.pack(number, status, cpu_s, rss_bytes)


class Ended:
    """Reads reports: number of the run, status, CPU seconds, peak memory in bytes."""

    partial = False

    def feed(self, data: bytes) -> Iterator[tuple[int, int, float, int]]:
        yield _ENDED.unpack(data)
