"""Who works on a run: one process at a time, told by a lock that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loriner.errors import ConfigError

FOLDER = "running"
"""Below the home: one empty file for each run that is being worked on."""


@contextmanager
def holding(home: Path, run_id: str) -> Iterator[None]:
    """Keeps every other process off the run while the block runs. A killed process holds nothing.

    Raises:
        ConfigError: another process works on the run.
    """
    path = home / FOLDER / run_id
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _locked(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(path: Path) -> int:
    """An open descriptor that locks the file which now stands at `path`."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise ConfigError(
                f"another process works on run {path.name}: stop it, or wait for its end "
                f"(loriner runs watch {path.name})"
            ) from None
        if _stands(descriptor, path):
            return descriptor
        os.close(descriptor)  # its last holder removed it between our opening and our locking


def _stands(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
