"""Who works on a run: one process at a time, told by a lock that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import os
import time
from dataclasses import dataclass
from pathlib import Path

from loriner.errors import ConfigError

FOLDER = "running"
"""Below the home: one empty file for each run that is being worked on."""
PATIENCE_S = 0.2
"""Wall time to try for: a reader that looks holds the lock for an instant."""


class HeldElsewhere(ConfigError):
    """Another process works on the run."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A run that this process works on. A killed process holds nothing."""

    path: Path
    descriptor: int

    @classmethod
    def take(cls, home: Path, run_id: str) -> Hold:
        """Keeps every other process off the run until it is released.

        Raises:
            HeldElsewhere: another process works on the run.
        """
        path = home / FOLDER / run_id
        path.parent.mkdir(parents=True, exist_ok=True)
        until = time.monotonic() + PATIENCE_S
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            if _locked(descriptor, fcntl.LOCK_EX) and _stands(descriptor, path):
                return cls(path, descriptor)
            os.close(descriptor)  # or its last holder removed it between our opening and our locking
            if time.monotonic() > until:
                raise HeldElsewhere(
                    f"another process works on run {run_id}: stop it, or wait for its end "
                    f"(loriner runs watch {run_id})"
                )
            time.sleep(PATIENCE_S / 20)

    def release(self) -> None:
        """Lets others have the run."""
        self.path.unlink(missing_ok=True)
        os.close(self.descriptor)


def is_held(home: Path, run_id: str) -> bool:
    """Whether a process works on the run."""
    try:
        descriptor = os.open(home / FOLDER / run_id, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _locked(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _stands(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
