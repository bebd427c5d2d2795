"""A warm interpreter that does nothing but fork: one process for each run, caged before it reads its program.

Started clean by `pool` (never forked from the host, whose memory holds targets and keys). It never sees a
program: that goes from the host to the child over the child's own socket. Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from loriner.runtime import child, control, wire
from loriner.runtime.cage import Cage

PRELOADED = """
ast bisect collections contextlib copy dataclasses datetime decimal enum fractions functools heapq io
itertools json math operator random re resource socket statistics string textwrap threading time traceback
typing
"""
"""What many programs import: loaded once, here. More would make each fork dearer."""
_CHANNEL = 3
_READY = wire.encode({"kind": "ready"})
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
_BROKEN = 70
"""Exit status of a child that could not be set up; it counts only before `ready`."""


def main(host_fd: int) -> NoReturn:
    """Serves fork and kill requests until the host is gone."""
    host = socket.socket(fileno=host_fd)
    setup = control.receive_setup(host)
    for name in PRELOADED.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    cage = Cage(setup["guards"], omitted=setup["omitted"], abi_limit=setup["abi_limit"])
    cage.harden_zygote()
    child.prepare()
    _start_quietly()
    host.send(control.encode_setup({"abi": cage.abi, "missing": cage.missing}))
    _Zygote(host, cage).serve()
    os._exit(0)


def _start_quietly() -> None:
    """The state that children inherit: no project on the path, a collected and frozen heap."""
    sys.path[:] = [each for each in sys.path if each]
    gc.collect()
    gc.disable()
    gc.freeze()
    if sys.platform == "linux":
        _libc.malloc_trim(0)


def _fork() -> int:
    """As `os.fork`, without Python's hooks, which rebuild the locks of threads that this process has not.

    They dirty about 150 pages, a tenth of what a run costs. Raises OSError.
    """
    if sys.platform != "linux":
        return os.fork()
    pid = int(_libc.fork())
    if pid < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return pid


_libc = ctypes.PyDLL(None, use_errno=True)


class _Zygote:
    def __init__(self, host: socket.socket, cage: Cage) -> None:
        self._host = host
        self._cage = cage
        self._running: dict[int, int] = {}
        """Number of the run by process id."""
        self._pid = os.getpid()
        self._wake_r, self._wake_w = os.pipe()
        os.set_blocking(self._wake_w, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_w, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Obeys the host and reports on children until the host is gone."""
        poller = select.poll()
        poller.register(self._host, select.POLLIN)
        poller.register(self._wake_r, select.POLLIN)
        try:
            while True:
                for fd, _ in poller.poll():
                    if fd == self._wake_r:
                        os.read(fd, 512)
                        self._reap()
                    else:
                        self._obey(*control.receive(self._host))
        except (EOFError, OSError):
            for pid in self._running:
                self._kill(pid)

    def _obey(self, number: int, limits: Sequence[int], fds: Sequence[int]) -> None:
        if not fds:
            for pid in [pid for pid, each in self._running.items() if each == number]:
                self._kill(pid)
            return
        try:
            pid = _fork()
        except OSError as error:
            self._host.send(control.encode_ended(number, -(error.errno or 1), 0.0, 0))
        else:
            if pid == 0:
                self._become_child(limits, *fds)
            self._running[pid] = number
        for fd in fds:
            os.close(fd)

    def _kill(self, pid: int) -> None:
        if not self._cage.single_process:
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        """Reports on every child that has ended, and buries what children left behind."""
        while self._running or not self._cage.single_process:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if not self._cage.single_process:
                self._kill_left_behind(pid)
            if pid in self._running:
                cpu_s = usage.ru_utime + usage.ru_stime
                number = self._running.pop(pid)
                self._host.send(control.encode_ended(number, status, cpu_s, usage.ru_maxrss * _RSS_UNIT))

    def _kill_left_behind(self, pid: int) -> None:
        """Kills the process group of a dead child and the orphans that became children of this process."""
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            children = Path(f"/proc/self/task/{self._pid}/children").read_text()
            for orphan in set(map(int, children.split())) - self._running.keys():
                os.kill(orphan, signal.SIGKILL)

    def _become_child(self, limits: Sequence[int], channel: int, output: int) -> NoReturn:
        try:
            signal.set_wakeup_fd(-1)
            if not self._cage.single_process:
                os.setsid()
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.dup2(channel, _CHANNEL)
            self._cage.enter(limits, self._pid)
            if gaps := self._cage.gaps(limits):
                wire.send(_CHANNEL, {"kind": "uncaged", "guards": gaps})
                os._exit(_BROKEN)
            os.write(_CHANNEL, _READY)
            child.run(_CHANNEL)
        except BaseException:  # noqa: BLE001 - the host reads it from the output of a child that was not ready
            os.write(2, traceback.format_exc().encode("utf-8", "replace"))
            os._exit(_BROKEN)
