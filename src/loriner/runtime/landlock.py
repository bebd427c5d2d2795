"""Landlock: a child reads the standard library and nothing else of the file system. Standard library only.

The rules are opened once, in the zygote; a child restricts itself with the inherited descriptor. Landlock
leaves names, sizes and times readable (`stat`), and needs `seccomp` beside it for what is not a file.
Source: linux/landlock.h; the system call numbers are the same on every architecture.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from loriner.runtime import libraries

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14
_N_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many of the file rights an ABI knows; later ones know as many as 5."""
_TCP_RIGHTS = 3
"""Bind and connect, from ABI 4."""
_SCOPES = 3
"""Abstract sockets and signals of processes outside, from ABI 6."""
_NOT_PROGRAMS = {"site-packages", "dist-packages", "test", "idlelib", "ensurepip", "turtledemo", "lib2to3"}


TIME_ZONES = ("/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo")
"""The data of the module `zoneinfo`: its default search path."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi(libc: ctypes.CDLL) -> int:
    """The version of Landlock that the kernel has; 0 for none."""
    if sys.platform != "linux":
        return 0
    return max(int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)), 0)


def build(libc: ctypes.CDLL, version: int) -> int:
    """A descriptor of the rules, for `restrict`. Raises OSError."""
    files = (1 << _N_FILE_RIGHTS[min(version, 5)]) - 1
    attributes = _Ruleset(files, _TCP_RIGHTS if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _checked(
        libc.syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), 0), "create"
    )
    for path in (*readable_paths(), *libraries.loaded_by(libraries.MODULES)):
        _allow(libc, ruleset, path, _READ_FILE | _READ_DIR)
    _allow(libc, ruleset, Path(os.devnull), files & (_READ_FILE | _WRITE_FILE | _TRUNCATE))
    return ruleset


def restrict(libc: ctypes.CDLL, ruleset: int) -> None:
    """Confines the calling process for good. It must have given up new privileges. Raises OSError."""
    _checked(libc.syscall(_RESTRICT_SELF, ruleset, 0), "restrict")


def readable_paths(search_path: Iterable[str] | None = None) -> Iterator[Path]:
    """What a program may read: each entry of the standard library, not the packages installed beside it."""
    for folder in map(Path, sys.path if search_path is None else search_path):
        if folder.is_dir():
            yield from (each for each in folder.iterdir() if each.name not in _NOT_PROGRAMS)
        elif folder.exists():
            yield folder
    yield from (folder for folder in map(Path, TIME_ZONES) if folder.exists())


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> None:
    """Grants `rights` on a path and all beneath it; a link that leads nowhere is passed over."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        allowed = rights if path.is_dir() else rights & ~_READ_DIR
        rule = _PathBeneath(allowed, descriptor)
        _checked(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0), f"add {path}")
    finally:
        os.close(descriptor)


def _checked(result: int, act: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"landlock {act}: {os.strerror(number)}")
    return result
