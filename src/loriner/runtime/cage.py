"""What a child may not do: all guards together, built once in the zygote; a child only enters. Stdlib only.

The child then tries some of what must fail. A guard that is wanted and does not hold is told to the host
before the program is read, and the host counts the run as its own fault.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import platform
import resource
import signal
import socket
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TypeVar

from loriner.runtime import landlock, seccomp
from loriner.runtime.wire import Frame

T = TypeVar("T")

_SET_PDEATHSIG, _GET_PDEATHSIG, _GET_DUMPABLE, _SET_DUMPABLE = 1, 2, 3, 4
_CAPBSET_READ, _CAPBSET_DROP, _SET_NO_NEW_PRIVS, _GET_NO_NEW_PRIVS = 23, 24, 38, 39
_SET_CHILD_SUBREAPER = 36
_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION = 0x20080522
_NOBODY = 65534
_N_FILES = 64
_CHANNEL = 3
_OUT_OF_THE_WAY = 256
"""A descriptor that no child's stream or channel takes."""

LINUX_GUARDS = frozenset({"pdeathsig", "dumpable", "no_new_privs", "capabilities"})
KERNEL_GUARDS = frozenset({"landlock", "seccomp", "arguments"})
"""`arguments` is the part of the filter that looks into `fcntl` and `ioctl`."""


class Cage:
    """The guards of one zygote's children.

    `guards` is what is wanted; `omitted` are left out all the same, which the self-test must notice.
    """

    def __init__(
        self, guards: Collection[str], *, omitted: Collection[str] = (), abi_limit: int | None = None
    ) -> None:
        self._wanted = frozenset(guards)
        self._applied = self._wanted - frozenset(omitted)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._gaps: list[str] = []
        known = landlock.abi(self._libc)
        self.abi = known if abi_limit is None else min(known, abi_limit)
        """The version of Landlock in use."""
        self.missing: dict[str, str] = {}
        """Guards that this machine lacks, with the reason."""
        self._ruleset = self._build("landlock", self._rules)
        self._filter = self._build("seccomp", self._calls)

    def _build(self, guard: str, build: Callable[[], T]) -> T | None:
        if guard not in self._applied:
            return None
        try:
            return build()
        except OSError as error:
            self.missing[guard] = error.strerror or str(error)
            return None

    def _rules(self) -> int:
        if not self.abi:
            raise OSError(errno.ENOSYS, "the kernel has no Landlock, or it is switched off (lsm= at boot)")
        return fcntl.fcntl(landlock.build(self._libc, self.abi), fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY)

    def _calls(self) -> seccomp.Filter:
        if lack := seccomp.missing():
            raise OSError(errno.ENOSYS, lack)
        unchecked = set() if "arguments" in self._applied else {"fcntl", "ioctl"}
        return seccomp.Filter(seccomp.program(platform.machine(), unchecked))

    @property
    def single_process(self) -> bool:
        """Whether a child cannot make another process."""
        return self._filter is not None

    def harden_zygote(self) -> None:
        """Guards that children inherit. Root becomes nobody where the standard library stays readable.

        What a child leaves behind becomes this process's child, to be killed here.
        """
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")
        if "capabilities" in self._applied:
            self._drop_capabilities()
        if "no_new_privs" in self._applied:
            self._libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if "dumpable" in self._applied:
            self._libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
        if sys.platform == "linux":
            self._libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._die_with_parent()

    def _drop_capabilities(self) -> None:
        self._libc.prctl(_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
        for number in range(64):
            if self._libc.prctl(_CAPBSET_DROP, number, 0, 0, 0):
                break
        if os.geteuid() == 0 and _works_as_nobody():
            _become_nobody()
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
        self._libc.capset(header, (ctypes.c_uint32 * 6)())

    def _die_with_parent(self) -> None:
        if "pdeathsig" in self._applied:
            self._libc.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    def enter(self, request: Frame, parent: int) -> None:
        """Confines the calling process for good, to its standard streams and its channel. Raises OSError."""
        self._die_with_parent()
        if os.getppid() != parent:
            os._exit(0)
        if "rlimits" in self._applied:
            _limit(request)
        if self._ruleset is not None:
            landlock.restrict(self._libc, self._ruleset)
        os.closerange(_CHANNEL + 1, 2**16)
        self._gaps = list(self._unset())
        if self._filter is not None:
            self._filter.load(self._libc)

    def gaps(self, request: Frame, parent: int) -> list[str]:
        """The wanted guards that do not hold, by trying."""
        if "selftest" not in self._applied:
            return []
        limited = "rlimits" not in self._wanted or _limited(request)
        files = "landlock" not in self._wanted or _fails(errno.EACCES, lambda: os.open(__file__, os.O_RDONLY))
        calls = "seccomp" not in self._wanted or all(_calls_fail(parent))
        found = (("rlimits", limited), ("landlock", files), ("seccomp", calls))
        return [*self._gaps, *(guard for guard, holds in found if not holds)]

    def _unset(self) -> Iterator[str]:
        """The guards that can only be read before the filter stands."""
        read = self._libc.prctl
        parent_death = ctypes.c_int()
        read(_GET_PDEATHSIG, ctypes.byref(parent_death), 0, 0, 0)
        holds = {
            "pdeathsig": parent_death.value == signal.SIGKILL,
            "no_new_privs": read(_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1,
            "dumpable": read(_GET_DUMPABLE, 0, 0, 0, 0) == 0,
            "capabilities": self._powerless(),
        }
        return (guard for guard, on in holds.items() if guard in self._wanted and not on)

    def _powerless(self) -> bool:
        header, sets = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
        return self._libc.capget(header, sets) == 0 and not any(sets)


def _works_as_nobody() -> bool:
    """Whether a process of the user nobody can still import: tried in one, since only that tells."""
    pid = os.fork()
    if pid == 0:
        try:
            _become_nobody()
            for folder in filter(Path.is_dir, map(Path, sys.path)):
                list(folder.iterdir())
            Path(os.__file__).read_bytes()
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def _become_nobody() -> None:
    os.setgroups([])
    os.setresgid(_NOBODY, _NOBODY, _NOBODY)
    os.setresuid(_NOBODY, _NOBODY, _NOBODY)


def _limits(request: Frame) -> dict[int, tuple[int, int]]:
    """Soft and hard limits. At the CPU limit comes a signal of its own, and a second later SIGKILL."""
    equal = {
        resource.RLIMIT_AS: request["memory_bytes"],
        resource.RLIMIT_FSIZE: request["output_bytes"],
        resource.RLIMIT_NOFILE: _N_FILES,
        resource.RLIMIT_CORE: 0,
    }
    cpu_s = request["cpu_s"]
    return {
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
        **{what: (value, value) for what, value in equal.items()},
    }


def _limit(request: Frame) -> None:
    for what, soft_and_hard in _limits(request).items():
        with contextlib.suppress(ValueError, OSError):  # macOS has no limit on memory; the self-test tells.
            resource.setrlimit(what, soft_and_hard)


def _limited(request: Frame) -> bool:
    unlimited = {resource.RLIMIT_AS} if sys.platform == "darwin" else set()
    limits = _limits(request).items()
    return all(what in unlimited or resource.getrlimit(what) == value for what, value in limits)


def _calls_fail(parent: int) -> Iterator[bool]:
    own = os.getpid()
    yield _fails(errno.EPERM, lambda: os.kill(parent, 0))
    yield _fails(errno.ENETUNREACH, lambda: socket.socket(socket.AF_UNIX))
    yield _fails(errno.EPERM, lambda: fcntl.fcntl(_CHANNEL, fcntl.F_SETOWN, own))
    yield _fails(errno.EROFS, lambda: Path("/proc/denied").mkdir())


def _fails(number: int, act: Callable[[], object]) -> bool:
    """Whether `act` fails with the error number by which the guard in question refuses."""
    try:
        act()
    except OSError as error:
        return error.errno == number
    return False
