"""Landlock rulesets: made, filled and entered. Standard library only.

A ruleset names rights of the file system; whoever enters it keeps these rights only where a rule grants them.
Rules can grant and never deny, and hold for a path and all beneath it, whatever other name leads there. They
leave names, sizes and times readable (`stat`).
Source: linux/landlock.h; the system call numbers are the same on every architecture.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14


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


def create(libc: ctypes.CDLL, version: int, files: int, net: int = 0, scoped: int = 0) -> int:
    """A descriptor of a ruleset without rules over these rights. Raises OSError."""
    attributes = _Ruleset(files, net, scoped)
    size = 8 if version < 4 else 16 if version < 6 else 24
    made = libc.syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), 0)
    return _checked(made, "create")


def allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> None:
    """Grants `rights` on a path and all beneath it; a path that leads nowhere is passed over."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        allowed = rights if path.is_dir() else rights & ~READ_DIR
        rule = _PathBeneath(allowed, descriptor)
        _checked(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0), f"add {path}")
    finally:
        os.close(descriptor)


def restrict(libc: ctypes.CDLL, ruleset: int) -> None:
    """Confines the calling process for good. It must have given up new privileges. Raises OSError."""
    _checked(libc.syscall(_RESTRICT_SELF, ruleset, 0), "restrict")


def _checked(result: int, act: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"landlock {act}: {os.strerror(number)}")
    return result
