"""What a program can and cannot do on this machine, found out by trying each act in a real child.

A claim about the sandbox is a row here, and the tests use the same rows, so the two cannot drift apart.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import socket
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from loriner.records import Status
from loriner.runtime.base import Limits, Program, Runtime, Verdict
from loriner.runtime.host import LocalRuntime
from loriner.runtime.levels import NAMES

State = Literal["blocked", "OPEN", "untested"]

LIMITS = Limits(cpu_s=1, wall_s=20, total_s=60, memory_bytes=256 * 2**20)

_FRAME = """
import ctypes, fcntl, json, os, signal, socket, subprocess, time
def solve(model, question):
    given = json.loads(question)
    try:
        value = attempt(**given)
    except (OSError, MemoryError) as error:
        return "blocked: " + (str(error) or type(error).__name__)
    return "open: " + str(value)[:60]
def attempt(canary, folder, tcp_port, udp_port, unix_path, memory_bytes, output_bytes):
    parent = os.getppid()
"""

ATTEMPTS: Mapping[str, str] = {
    "read a file": "return open(canary).read()",
    "stat a file": "return os.stat(canary).st_size",
    "write a file": "open(folder + '/written', 'w').write('x')",
    "TCP": "socket.create_connection(('127.0.0.1', tcp_port), 2)",
    "UDP": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', udp_port))",
    "unix socket": "socket.socket(socket.AF_UNIX).connect(unix_path)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "fork": "pid = os.fork()\nif pid == 0: os._exit(0)\nreturn os.waitpid(pid, 0)",
    "exec": "os.execv('/bin/sh', ['sh', '-c', 'exit 0'])",
    "signal the parent": "os.kill(parent, 0)",
    "async signal to the parent": "fcntl.fcntl(socket.socketpair()[0], fcntl.F_SETOWN, parent)",
    "ptrace the parent": (
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "if libc.ptrace(16, parent, 0, 0): raise OSError(ctypes.get_errno(), 'ptrace')\n"
        "libc.ptrace(17, parent, 0, 0)"
    ),
    "procfs of the parent": "return len(open(f'/proc/{parent}/environ', 'rb').read())",
    "memory over the limit": "return len(bytearray(2 * memory_bytes))",
    "CPU time over the limit": "while True: pass",
    "output over the limit": "for _ in range(64): os.write(1, b'x' * (output_bytes // 16))",
    "a process that stays": (
        "pid = os.fork()\nif pid == 0:\n    os.setsid()\n    time.sleep(60)\n    os._exit(0)\nreturn pid"
    ),
}
"""What is tried, by name, as the body of a function in the child. What raises OSError was blocked."""


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """One act and what came of it."""

    name: str
    state: State
    reason: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class SandboxReport:
    """The sandbox of this machine."""

    level: int
    name: str
    system: str
    landlock_abi: int
    rows: tuple[ProbeRow, ...]
    notes: tuple[str, ...]
    """Why each stronger isolation is not in force."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def probe(runtime: LocalRuntime, attempts: Mapping[str, str] = ATTEMPTS) -> SandboxReport:
    """What programs can do under a started runtime, each attempt tried at once in a child of its own."""
    with tempfile.TemporaryDirectory() as folder, _targets(Path(folder)) as given:
        tried = [_try(runtime, name, body, given) for name, body in attempts.items()]
        rows = await asyncio.gather(*tried)
    system = (
        f"{platform.system()} {platform.release()} {platform.machine()}, Python {platform.python_version()}"
    )
    level = runtime.level
    fixed = tuple(_with_fix(row, level, runtime.notes) for row in rows)
    return SandboxReport(level, NAMES[level], system, runtime.abi, fixed, runtime.notes)


@contextlib.contextmanager
def _targets(folder: Path) -> Iterator[dict[str, Any]]:
    """Things of this process for programs to reach: a file, a folder, and sockets that listen."""
    canary = folder / "canary.txt"
    canary.write_text("canary")
    for path in (folder, canary):
        path.chmod(0o777)
    unix_path = str(folder / "socket")
    with (
        socket.socket() as tcp,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        for sock in (tcp, udp):
            sock.bind(("127.0.0.1", 0))
        unix.bind(unix_path)
        Path(unix_path).chmod(0o777)
        for sock in (tcp, unix):
            sock.listen()
        yield {
            "canary": str(canary),
            "folder": str(folder),
            "tcp_port": tcp.getsockname()[1],
            "udp_port": udp.getsockname()[1],
            "unix_path": unix_path,
            "memory_bytes": LIMITS.memory_bytes,
            "output_bytes": LIMITS.output_bytes,
        }


class _NoServices:
    async def model(self, request: Mapping[str, Any]) -> NoReturn:
        raise AssertionError("no probe calls the model")

    async def tool(self, name: str, arguments: Mapping[str, Any]) -> NoReturn:
        raise AssertionError("no probe calls a tool")

    def ran_python(self, code: str, output: str, seconds: float) -> None:
        raise AssertionError("no probe runs code")


async def _try(runtime: Runtime, name: str, body: str, given: Mapping[str, Any]) -> ProbeRow:
    source = _FRAME + "".join(f"    {line}\n" for line in body.splitlines())
    verdict = await runtime.run(Program(source=source, question=json.dumps(given)), _NoServices(), LIMITS)
    if name == "a process that stays":
        return await _row_of_stayer(name, verdict)
    state, reason = _read(verdict)
    return ProbeRow(name, state, reason)


def _read(verdict: Verdict) -> tuple[State, str]:
    """What a verdict says of the act: an answer tells itself, and one that was stopped was blocked."""
    match verdict.status:
        case Status.OK if verdict.answer.startswith("blocked"):
            return "blocked", verdict.answer.removeprefix("blocked: ")
        case Status.OK:
            return "OPEN", "the act succeeded"
        case Status.MEMORY_LIMIT | Status.OUTPUT_LIMIT | Status.DENIED:
            return "blocked", f"the run ends as {verdict.status}"
        case Status.TIMEOUT if verdict.detail == "cpu":
            return "blocked", "the run ends as timeout (cpu)"
        case Status.TIMEOUT if verdict.cpu_s > LIMITS.cpu_s + 1:
            return "OPEN", f"it used {verdict.cpu_s:.0f} s of CPU time; its limit is {LIMITS.cpu_s:.0f} s"
        case Status.NO_ANSWER:
            return "OPEN", "the run ends as if by itself"
    return "untested", f"the run ends as {verdict.status}: {verdict.error.strip()[-200:]}"


async def _row_of_stayer(name: str, verdict: Verdict) -> ProbeRow:
    """Whether the process that a program left behind is gone a moment after the run."""
    pid = verdict.answer.removeprefix("open: ")
    if not pid.isdigit():
        state, reason = _read(verdict)
        return ProbeRow(name, state, reason)
    for _ in range(20):
        if not _alive(int(pid)):
            return ProbeRow(name, "blocked", "it was killed with its run")
        await asyncio.sleep(0.05)
    return ProbeRow(name, "OPEN", f"process {pid} still runs after its run ended")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _with_fix(row: ProbeRow, level: int, notes: tuple[str, ...]) -> ProbeRow:
    if row.state != "OPEN":
        return row
    needed = 3 if level == 2 else 2
    why = notes[-1] if notes else f"the runtime was started for level {level}"
    return ProbeRow(row.name, row.state, row.reason, f"level {needed} ({NAMES[needed]}) closes it; {why}")
