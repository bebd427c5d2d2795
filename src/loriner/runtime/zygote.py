"""A warm interpreter that does nothing but fork: one process for each run, caged before it reads its program.

Started clean by `pool` (never forked from the host, whose memory holds targets and keys). It never sees a
program: that goes from the host to the child over the child's own socket. Standard library only.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NoReturn

from loriner.runtime import child, wire
from loriner.runtime.cage import Cage
from loriner.runtime.wire import Frame

PRELOADED = """
abc argparse array ast base64 binascii bisect bz2 calendar cmath collections concurrent.futures copy csv
dataclasses datetime decimal difflib enum fractions functools hashlib heapq html inspect io itertools json
logging lzma math operator pprint queue random re secrets select shutil socket sqlite3 statistics string
struct subprocess tempfile textwrap threading time traceback typing unicodedata uuid warnings weakref zlib
"""
"""What programs are likely to import: loaded once, here. The rest is read from the standard library."""
_CHANNEL = 3
_READY = wire.encode({"kind": "ready"})
_BROKEN = 70
"""Exit status of a child that could not be set up; it counts only before `ready`."""


def main(control_fd: int) -> NoReturn:
    """Serves fork and kill requests until the host is gone."""
    control = socket.socket(fileno=control_fd)
    setup, _ = wire.receive_with_fds(control)
    for name in PRELOADED.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    tempfile.tempdir = "/tmp"  # So that a temporary file is denied by name, not "no usable directory".
    cage = Cage(setup["guards"], omitted=setup["omitted"], abi_limit=setup["abi_limit"])
    cage.harden_zygote()
    _start_quietly()
    wire.send(control_fd, {"ready": True, "abi": cage.abi, "missing": cage.missing})
    _Zygote(control, cage).serve()
    os._exit(0)


def _start_quietly() -> None:
    """The state that children inherit: no project on the path, a collected and frozen heap."""
    sys.path[:] = [each for each in sys.path if each]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.disable()
    gc.freeze()


class _Zygote:
    def __init__(self, control: socket.socket, cage: Cage) -> None:
        self._control = control
        self._cage = cage
        self._running: dict[int, int] = {}
        """Number of the run by process id."""
        self._null = os.open(os.devnull, os.O_RDONLY)
        self._pid = os.getpid()
        self._wake_r, self._wake_w = os.pipe()
        os.set_blocking(self._wake_r, False)
        os.set_blocking(self._wake_w, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_w, warn_on_full_buffer=False)

    def serve(self) -> None:
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        poller.register(self._wake_r, select.POLLIN)
        try:
            while True:
                ready = [fd for fd, _ in poller.poll()]
                if self._wake_r in ready:
                    self._drain()
                    self._reap()
                if self._control.fileno() in ready:
                    self._obey(*wire.receive_with_fds(self._control))
        except (EOFError, OSError, wire.WireError):
            for pid in self._running:
                self._kill(pid)

    def _obey(self, request: Frame, fds: list[int]) -> None:
        if "kill" in request:
            for pid in [pid for pid, number in self._running.items() if number == request["kill"]]:
                self._kill(pid)
            return
        try:
            pid = os.fork()
        except OSError as error:
            wire.send(self._control.fileno(), {"run": request["run"], "failed": f"fork: {error}"})
        else:
            if pid == 0:
                self._become_child(request, *fds)
            self._running[pid] = request["run"]
        for fd in fds:
            os.close(fd)

    def _kill(self, pid: int) -> None:
        if not self._cage.single_process:
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._wake_r, 512):
                pass

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return
                if not self._cage.single_process:
                    self._kill_left_behind(pid)
                if (number := self._running.pop(pid, None)) is not None:
                    cpu_s = usage.ru_utime + usage.ru_stime
                    scale = 1 if sys.platform == "darwin" else 1024
                    ending = {"run": number, "status": status, "cpu_s": cpu_s, "rss": usage.ru_maxrss * scale}
                    wire.send(self._control.fileno(), ending)

    def _kill_left_behind(self, pid: int) -> None:
        """Kills the process group of a dead child and the orphans that became children of this process."""
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            children = Path(f"/proc/self/task/{self._pid}/children").read_text()
            for orphan in set(map(int, children.split())) - self._running.keys():
                os.kill(orphan, signal.SIGKILL)

    def _become_child(self, request: Frame, channel: int, output: int) -> NoReturn:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._control.detach()
            os.setsid()
            os.dup2(self._null, 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.dup2(channel, _CHANNEL)
            self._cage.enter(request, self._pid)
            if gaps := self._cage.gaps(request, self._pid):
                wire.send(_CHANNEL, {"kind": "uncaged", "guards": gaps})
                os._exit(_BROKEN)
            wire.write_all(_CHANNEL, _READY)
            child.run(_CHANNEL)
        except BaseException:  # noqa: BLE001 - the host reads it from the output of a child that was not ready
            os.write(2, traceback.format_exc().encode("utf-8", "replace"))
            os._exit(_BROKEN)
