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

from loriner import landlock_rules
from loriner.runtime import libraries

_N_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many of the file rights an ABI knows; later ones know as many as 5."""
_TCP_RIGHTS = 3
"""Bind and connect, from ABI 4."""
_SCOPES = 3
"""Abstract sockets and signals of processes outside, from ABI 6."""
_NOT_PROGRAMS = {"site-packages", "dist-packages", "test", "idlelib", "ensurepip", "turtledemo", "lib2to3"}


TIME_ZONES = ("/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo")
"""The data of the module `zoneinfo`: its default search path."""


def build(libc: ctypes.CDLL, version: int) -> int:
    """A descriptor of the rules, for `landlock_rules.restrict`. Raises OSError."""
    files = (1 << _N_FILE_RIGHTS[min(version, 5)]) - 1
    net, scoped = _TCP_RIGHTS if version >= 4 else 0, _SCOPES if version >= 6 else 0
    ruleset = landlock_rules.create(libc, version, files, net, scoped)
    for path in (*readable_paths(), *libraries.loaded_by(libraries.MODULES)):
        landlock_rules.allow(libc, ruleset, path, landlock_rules.READ_FILE | landlock_rules.READ_DIR)
    device = landlock_rules.READ_FILE | landlock_rules.WRITE_FILE | landlock_rules.TRUNCATE
    landlock_rules.allow(libc, ruleset, Path(os.devnull), files & device)
    return ruleset


def readable_paths(search_path: Iterable[str] | None = None) -> Iterator[Path]:
    """What a program may read: each entry of the standard library, not the packages installed beside it."""
    for folder in map(Path, sys.path if search_path is None else search_path):
        if folder.is_dir():
            yield from (each for each in folder.iterdir() if each.name not in _NOT_PROGRAMS)
        elif folder.exists():
            yield folder
    yield from (folder for folder in map(Path, TIME_ZONES) if folder.exists())
