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
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from loriner import landlock_rules
from loriner.runtime import landlock, seccomp

T = TypeVar("T")

_SET_PDEATHSIG, _GET_PDEATHSIG, _GET_DUMPABLE, _SET_DUMPABLE = 1, 2, 3, 4
_CAPBSET_READ, _CAPBSET_DROP, _SET_NO_NEW_PRIVS, _GET_NO_NEW_PRIVS = 23, 24, 38, 39
_SET_CHILD_SUBREAPER = 36
_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION = 0x20080522
_NOBODY = 65534
_CHANNEL = 3
_OWN_FILE = os.fsencode(__file__)
_AF_UNIX, _F_SETOWN = 1, 8
_N_WARM_UP = 20
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
        self._inherited_gaps: list[str] = []
        self._parent_death = ctypes.c_int()
        self._parent_death_pointer = ctypes.pointer(self._parent_death)
        known = landlock_rules.abi(self._libc)
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
        """Guards that children inherit, and their test. Root becomes nobody if the library stays readable.

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
        self._inherited_gaps = [guard for guard in self._wanted if not self._holds_in_zygote(guard)]
        self._warm_up()

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

    def _warm_up(self) -> None:
        """Makes the calls that each child makes, in vain: what the interpreter keeps of them is inherited."""
        for _ in range(_N_WARM_UP):
            _refused(errno.ENOENT, self._libc.open(b"", os.O_RDONLY))
            _refused(errno.EAFNOSUPPORT, self._libc.socket(-1, 0, 0))
            _refused(errno.EBADF, self._libc.fcntl(-1, _F_SETOWN, 1))
            core = resource.getrlimit(resource.RLIMIT_CORE)
            for what, soft, hard in _rows((-1, 0, 0, resource.RLIMIT_CORE, *core)):
                resource.setrlimit(what, (soft, hard))
            with contextlib.suppress(OSError):
                landlock_rules.restrict(self._libc, -1)

    def _holds_in_zygote(self, guard: str) -> bool:
        match guard:
            case "no_new_privs":
                return bool(self._libc.prctl(_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
            case "dumpable":
                return bool(self._libc.prctl(_GET_DUMPABLE, 0, 0, 0, 0) == 0)
            case "capabilities":
                header, sets = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
                return self._libc.capget(header, sets) == 0 and not any(sets)
        return True

    def enter(self, limits: Sequence[int], parent: int) -> None:
        """Confines the calling process for good, to its standard streams and its channel.

        `limits` has a resource, its soft and its hard limit in turn. Raises OSError, ValueError.
        """
        self._die_with_parent()
        self._libc.prctl(_GET_PDEATHSIG, self._parent_death_pointer, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)
        if "rlimits" in self._applied:
            for what, soft, hard in _rows(limits):
                resource.setrlimit(what, (soft, hard))
        if self._ruleset is not None:
            landlock_rules.restrict(self._libc, self._ruleset)
        os.closerange(_CHANNEL + 1, 2**16)
        if self._filter is not None:
            self._filter.load(self._libc)

    def gaps(self, limits: Sequence[int]) -> list[str]:
        """The wanted guards that do not hold, by trying: a few calls, since it is a part of every run."""
        wanted = self._wanted
        if "selftest" not in self._applied:
            return []
        gaps = list(self._inherited_gaps)
        if "pdeathsig" in wanted and self._parent_death.value != signal.SIGKILL:
            gaps.append("pdeathsig")
        if "rlimits" in wanted:
            for what, soft, hard in _rows(limits):
                if resource.getrlimit(what) != (soft, hard):
                    gaps.append("rlimits")
        if "landlock" in wanted and not _refused(errno.EACCES, self._libc.open(_OWN_FILE, os.O_RDONLY)):
            gaps.append("landlock")
        if "seccomp" in wanted and not _refused(errno.ENETUNREACH, self._libc.socket(_AF_UNIX, 1, 0)):
            gaps.append("seccomp")
        if "arguments" in wanted and not _refused(errno.EPERM, self._libc.fcntl(_CHANNEL, _F_SETOWN, 1)):
            gaps.append("arguments")
        return gaps


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


def _rows(limits: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Resource, soft and hard limit; a resource below 0 is padding."""
    for at in range(0, len(limits), 3):
        if limits[at] >= 0:
            yield limits[at], limits[at + 1], limits[at + 2]


def _refused(number: int, result: int) -> bool:
    """Whether a call has just failed with the error number by which the guard in question refuses."""
    return result < 0 and ctypes.get_errno() == number
