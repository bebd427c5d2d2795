"""The shared libraries that modules of the standard library load, so that a caged child can load them too.

Standard library only. Asked of a forked process that imports them, since only importing tells.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
from collections.abc import Collection, Iterable
from pathlib import Path

MODULES = ("bz2", "ctypes", "dbm.gnu", "dbm.ndbm", "decimal", "hashlib", "lzma", "sqlite3", "uuid", "zlib")
"""Modules that need a library of the system on some distributions."""


def loaded_by(modules: Collection[str]) -> list[Path]:
    """The libraries, outside the standard library, that a process has mapped after it imported `modules`."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, "\0".join(_names_after(modules)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        names = pipe.read().decode().split("\0")
    os.waitpid(pid, 0)
    return [Path(name) for name in names if name.startswith("/")]


class _Info(ctypes.Structure):
    _fields_ = (("address", ctypes.c_void_p), ("name", ctypes.c_char_p))


def _names_after(modules: Iterable[str]) -> list[str]:
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    names: list[str] = []

    def note(info: ctypes._Pointer[_Info], size: int, data: object) -> int:
        names.append((info.contents.name or b"").decode())
        return 0

    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Info), ctypes.c_size_t, ctypes.c_void_p)
    ctypes.CDLL(None).dl_iterate_phdr(kind(note), None)
    return names
