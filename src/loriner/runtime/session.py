"""One run from the host's side: it listens to the child, has its calls served, and ends it at its limits."""

from __future__ import annotations

import asyncio
import fcntl
import os
import resource
import socket
import sys
import tempfile
from collections.abc import Callable

from loriner.errors import ModelError
from loriner.runtime import wire
from loriner.runtime.admission import Slots
from loriner.runtime.base import Limits
from loriner.runtime.calls import Desk, Job
from loriner.runtime.channel import Channel
from loriner.runtime.pool import Exit, Zygote, ZygoteDied
from loriner.runtime.verdict import RunEnding, cpu_limit_s
from loriner.runtime.wire import Frame

_LAST_MOMENT_S = 2.0
"""How long a child may take to exit after its terminal frame, or after it closed its socket."""
_N_FILES = 64
_REAP_S = 15.0
"""How long the zygote may take to report a killed child before it counts as hung."""


class Clock:
    """The own wall time of a run: it stands while the host serves a call."""

    def __init__(self, left_s: float, on_end: Callable[[], None]) -> None:
        self._left_s = left_s
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._since = 0.0
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def running(self) -> bool:
        return self._alarm is not None

    def start(self) -> None:
        self._since = self._loop.time()
        self._alarm = self._loop.call_later(max(self._left_s, 0.0), self._on_end)

    def stop(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
            self._left_s -= self._loop.time() - self._since


class Session:
    """A run in progress: a conversation with one child, and its `RunEnding`."""

    def __init__(self, job: Job, limits: Limits, desk: Desk, slots: Slots, *, caged: bool) -> None:
        self._job = job
        self._limits = limits
        self._desk = desk
        self._slots = slots
        """The child holds a place while it works, none while it waits for us."""
        self._loop = asyncio.get_running_loop()
        self._clock = Clock(limits.wall_s, lambda: self._kill("wall"))
        self._calls: set[asyncio.Task[None]] = set()
        self._replies: list[bytes] = []
        self._n_pending = 0
        self._resuming = False
        self._failure: BaseException | None = None
        self.ending = RunEnding(limits=limits, script=job.question is None, caged=caged)

    async def run(self, zygote: Zygote) -> RunEnding:
        """How the run ended. The caller has acquired a place, which is given back.

        Raises:
            BudgetReached, or whatever else the services raise that is not the program's affair.
        """
        started = self._loop.time()
        self._clock.start()
        output = _output_file()
        try:
            await self._converse(zygote, output)
            if fcntl.fcntl(output, fcntl.F_GETFL) & wire.SOLVING:
                self.ending.stage = "solve"
            self.ending.stdout = os.pread(output, self._limits.output_bytes, 0).decode("utf-8", "replace")
        finally:
            os.close(output)
            if self._clock.running:
                self._clock.stop()
                self._slots.release()
        self.ending.seconds = self._loop.time() - started
        if self._failure is not None:
            raise self._failure
        return self.ending

    async def _converse(self, zygote: Zygote, output: int) -> None:
        ours, theirs = socket.socketpair()
        self._channel = Channel(ours, wire.Decoder())
        with theirs:
            number, exit_ = zygote.fork(_rlimits(self._limits), [theirs.fileno(), output])
        self._channel.send(wire.encode(self._job.frame(self._limits)))
        total = self._loop.call_later(self._limits.total_s, self._kill, "total")
        try:
            await self._listen()
            if not self._channel.stopped:
                await asyncio.wait([exit_], timeout=_LAST_MOMENT_S)
        finally:
            total.cancel()
            for task in self._calls:
                task.cancel()
            self._channel.close()
            self.ending.ended = not exit_.done()
            zygote.kill(number)
        await self._reap(zygote, exit_)

    async def _listen(self) -> None:
        try:
            while (frame := await self._channel.read()) is not None:
                if problem := wire.violation(frame) or self._out_of_turn(frame["kind"]):
                    raise wire.WireError(problem)
                self._take(frame)
        except wire.WireError as error:
            self._channel.stop()
            self.ending.violation = str(error)

    def _out_of_turn(self, kind: str) -> str:
        ending = self.ending
        if ending.terminal is not None:
            return f"frame {kind!r} after the last one"
        if (kind in ("ready", "uncaged")) == ending.ready:
            return f"frame {kind!r} out of turn"
        return ""

    def _take(self, frame: Frame) -> None:
        match frame["kind"]:
            case "ready":
                self.ending.ready = True
            case "uncaged":
                self._give_up(f"the cage has gaps: {', '.join(frame['guards'])}")
            case "call" | "tool":
                self._take_call(frame)
            case "done" | "error":
                self.ending.terminal = frame
                self._loop.call_later(_LAST_MOMENT_S, self._channel.stop)

    def _take_call(self, frame: Frame) -> None:
        if not self._desk.count(frame):
            return self._kill("budget")
        self._n_pending += 1
        self._pause()
        task = self._loop.create_task(self._serve(frame))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        return None

    async def _serve(self, frame: Frame) -> None:
        """Answers one call; what is not the program's affair ends the run."""
        limit = asyncio.timeout(self._limits.call_s)
        try:
            async with limit:
                reply = await self._desk.reply(frame)
        except ModelError as error:
            return self._give_up(f"{type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - the caller's own error: raised again from `run`
            if not limit.expired():
                self._failure = self._failure or error
            asked = "tool" if frame["kind"] == "tool" else "model"
            return self._give_up(
                f"a {asked} call was not answered in {self._limits.call_s:g} s (limits.call_s)"
            )
        self._replies.append(reply)
        self._n_pending -= 1
        return await self._resume()

    def _pause(self) -> None:
        """The child waits for us: its clock stands and its place is free."""
        if self._clock.running:
            self._clock.stop()
            self._slots.release()

    async def _resume(self) -> None:
        """Hands over the replies once the child has every one that it asked for."""
        if self._n_pending or self._resuming:
            return
        self._resuming = True
        try:
            await self._slots.acquire(begun=True)
        finally:
            self._resuming = False
        self._clock.start()
        for reply in self._replies:
            self._channel.send(reply)
        self._replies.clear()
        if self._n_pending:
            self._pause()

    def _kill(self, reason: str) -> None:
        if self.ending.terminal is None and not self.ending.killed:
            self.ending.killed = reason
        self._channel.stop()

    def _give_up(self, fault: str) -> None:
        self.ending.fault = self.ending.fault or fault
        self._channel.stop()

    async def _reap(self, zygote: Zygote, exit_: asyncio.Future[Exit]) -> None:
        if not exit_.done():
            await asyncio.wait([exit_], timeout=_REAP_S)
        if not exit_.done():
            zygote.kill_all("it did not end a killed run")
        try:
            self.ending.exit = exit_.result()
        except ZygoteDied as death:
            self.ending.fault = self.ending.fault or str(death)
            return
        cut = self._channel.partial and self.ending.terminal is None and not self.ending.killed
        if cut and self.ending.exit.status & 0x7F == 0:
            self.ending.violation = self.ending.violation or "its stream ends inside a frame"


def _rlimits(limits: Limits) -> list[tuple[int, int, int]]:
    """Resource, soft and hard limit. At the CPU limit comes a signal of its own, a second later SIGKILL."""
    cpu_s = cpu_limit_s(limits)
    equal = {
        resource.RLIMIT_AS: limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.output_bytes,
        resource.RLIMIT_NOFILE: _N_FILES,
        resource.RLIMIT_CORE: 0,
    }
    if sys.platform == "darwin":
        del equal[resource.RLIMIT_AS]  # The system accepts it and does not enforce it.
    return [(resource.RLIMIT_CPU, cpu_s, cpu_s + 1), *((what, value, value) for what, value in equal.items())]


def _output_file() -> int:
    """An open file in memory (on disk where the system has no such), which nobody else can name."""
    if sys.platform == "linux":
        return os.memfd_create("output")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
