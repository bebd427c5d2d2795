"""The host's side of the zygotes: started clean, chosen by load, recycled, and noticed when they die."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from loriner.errors import RuntimeUnavailable
from loriner.runtime import control
from loriner.runtime.channel import Channel

_START_S = 30.0

_BOOT = """
import sys, types
runtime = sys.argv[1]
for name, path in (("loriner", runtime.rpartition("/")[0]), ("loriner.runtime", runtime)):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]
from loriner.runtime import zygote
zygote.main(int(sys.argv[2]))
"""
"""Loads the zygote without the package's own `__init__` files, which are the host's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZygotePlan:
    """How zygotes are started and what their children are denied."""

    guards: frozenset[str]
    wrapper: tuple[str, ...] = ()
    """The command that the interpreter runs under (bubblewrap), or nothing."""
    omitted: frozenset[str] = frozenset()
    """Guards that are wanted and yet left out: for tests of the self-test, never else."""
    abi_limit: int | None = None
    """The highest Landlock ABI to use: for tests."""

    n_forks: int = 2000
    """After so many a zygote is replaced."""

    def setup(self) -> dict[str, Any]:
        """What a zygote is told first."""
        guards, omitted = sorted(self.guards), sorted(self.omitted)
        return {"guards": guards, "omitted": omitted, "abi_limit": self.abi_limit}


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child ended, as the kernel told its zygote."""

    status: int
    """As from `waitpid`."""
    cpu_s: float
    rss_bytes: int


class ZygoteDied(Exception):
    """The zygote of a run is gone, or could not fork it."""


@dataclass(eq=False, slots=True)
class Zygote:
    """One zygote process."""

    process: subprocess.Popen[bytes]
    channel: Channel[tuple[int, int, float, int]]
    abi: int
    missing: Mapping[str, str]
    """Guards that this machine lacks, with the reason."""
    n_forked: int = 0
    alive: bool = True
    _running: dict[int, asyncio.Future[Exit]] = field(default_factory=dict)
    _listener: asyncio.Task[None] | None = None

    @property
    def n_running(self) -> int:
        return len(self._running)

    def fork(self, limits: control.Rows, fds: Sequence[int]) -> tuple[int, asyncio.Future[Exit]]:
        """Starts a child with `fds` (its socket, its output): its number, and how it will have ended."""
        self.n_forked += 1
        number = self.n_forked
        ending: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._running[number] = ending
        try:
            self.channel.send_with_fds(control.encode_start(number, limits), fds)
        except OSError as error:
            self.kill_all(f"it takes no requests: {error}")
        return number, ending

    def kill(self, number: int) -> None:
        """Kills a child, if it still runs."""
        if number in self._running:
            with contextlib.suppress(OSError):
                self.channel.send_with_fds(control.encode_kill(number), [])

    def listen(self) -> None:
        self._listener = asyncio.get_running_loop().create_task(self._listen())

    async def _listen(self) -> None:
        while (report := await self.channel.read()) is not None:
            number, status, cpu_s, rss_bytes = report
            ending = self._running.pop(number, None)
            if ending is None or ending.done():
                continue
            if status >= 0:
                ending.set_result(Exit(status, cpu_s, rss_bytes))
            else:
                ending.set_exception(ZygoteDied(f"it could not fork: {os.strerror(-status)}"))
                ending.exception()
        self.kill_all("its process ended")

    def kill_all(self, reason: str) -> None:
        """Ends the zygote and all its children. Safe to call twice."""
        self.alive = False
        self.process.kill()
        self.channel.close()
        self.process.wait()
        for ending in self._running.values():
            if not ending.done():
                ending.set_exception(ZygoteDied(f"the zygote died: {reason}"))
                ending.exception()
        self._running.clear()

    async def close(self) -> None:
        self.kill_all("the runtime was closed")
        if self._listener is not None:
            await self._listener


async def start_zygote(plan: ZygotePlan) -> Zygote:
    """A zygote that is ready to fork.

    Raises:
        RuntimeUnavailable: it did not start, with what it said.
    """
    ours, theirs = control.pair()
    with tempfile.TemporaryFile() as errors:
        with theirs:
            process = _spawn(plan, theirs, errors.fileno())
        setup = await _set_up(plan, ours)
        if setup is None:
            ours.close()
            process.kill()
            process.wait()
            raise RuntimeUnavailable(f"no process can be started to fork runs: {_last_line(errors)}")
    zygote = Zygote(process, Channel(ours, control.Ended()), setup["abi"], setup["missing"])
    zygote.listen()
    return zygote


async def _set_up(plan: ZygotePlan, sock: socket.socket) -> Mapping[str, Any] | None:
    """What the zygote says of itself once it is ready; None if it ended or took too long."""
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    try:
        await loop.sock_sendall(sock, control.encode_setup(plan.setup()))
        said = await asyncio.wait_for(loop.sock_recv(sock, control.SETUP_BYTES), _START_S)
    except (TimeoutError, OSError):
        return None
    setup: Mapping[str, Any] | None = json.loads(said) if said else None
    return setup


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read(2**16).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def _spawn(plan: ZygotePlan, control: socket.socket, errors: int) -> subprocess.Popen[bytes]:
    runtime = Path(__file__).parent
    fd = control.fileno()
    command = [*plan.wrapper, interpreter(), "-s", "-S", "-P", "-B", "-c", _BOOT, str(runtime), str(fd)]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        env=environment(),
        cwd="/",
        pass_fds=(fd,),
        start_new_session=True,
    )


def interpreter() -> str:
    """The real interpreter, behind any virtual environment."""
    base = getattr(sys, "_base_executable", "") or sys.executable
    return os.path.realpath(base)


def environment() -> dict[str, str]:
    """All that a child can read in its environment: nothing of the host's but the loader's path."""
    fixed = {
        "PYTHONHASHSEED": "0",
        "LD_BIND_NOW": "1",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "HOME": "/",
        "PATH": "/usr/bin:/bin",
    }
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return fixed | kept


class Pool:
    """The zygotes of one runtime."""

    def __init__(self, plan: ZygotePlan, n_zygotes: int) -> None:
        self._plan = plan
        self._n_zygotes = n_zygotes
        self._zygotes: list[Zygote] = []
        self._starting = asyncio.Lock()

    @property
    def zygotes(self) -> tuple[Zygote, ...]:
        return tuple(self._zygotes)

    async def start(self) -> Zygote:
        """Starts all zygotes and gives the first. Raises RuntimeUnavailable."""
        self._zygotes.append(await start_zygote(self._plan))
        others = [start_zygote(self._plan) for _ in range(self._n_zygotes - 1)]
        self._zygotes += await asyncio.gather(*others)
        return self._zygotes[0]

    async def pick(self) -> Zygote:
        """The least busy zygote. Dead and worn ones are replaced first. Raises RuntimeUnavailable."""
        async with self._starting:
            await self._retire()
            while len(self._fresh()) < self._n_zygotes:
                self._zygotes.append(await start_zygote(self._plan))
        return min(self._fresh(), key=lambda each: each.n_running)

    def _fresh(self) -> list[Zygote]:
        return [each for each in self._zygotes if each.alive and each.n_forked < self._plan.n_forks]

    async def _retire(self) -> None:
        for zygote in [each for each in self._zygotes if each not in self._fresh() and not each.n_running]:
            self._zygotes.remove(zygote)
            await zygote.close()

    async def close(self) -> None:
        """Ends every zygote and its children. Safe to call twice."""
        while self._zygotes:
            await self._zygotes.pop().close()
