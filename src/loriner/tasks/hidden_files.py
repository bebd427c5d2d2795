"""Files that a worker must not read, such as the items and the scorer from a tool's worker.

Landlock can only grant: so everything is granted that stands beside the hidden files and beside the folders
above them. What is made there later, by whomever, cannot be read by the worker either.

Not guaranteed: a copy of the file under another name (a backup, a repository's history, a second mount) is
not known here. Writing is not refused.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator
from pathlib import Path

from loriner import landlock_rules


def lack() -> str:
    """Why files cannot be hidden from workers on this machine, in words; empty where they can."""
    if landlock_rules.abi(_libc()):
        return ""
    return (
        "this machine has no Landlock (Linux 5.13 or newer, not switched off with lsm= at boot), so a task's "
        "own tools can read its items and its scorer"
    )


def ruleset(hidden: Collection[Path]) -> int | None:
    """A descriptor of the rules under which all can be read but the `hidden` files; the caller closes it.

    None where nothing is hidden, or cannot be: see `lack`.
    """
    libc = _libc()
    if not hidden or not (version := landlock_rules.abi(libc)):
        return None
    made = landlock_rules.create(libc, version, landlock_rules.READ_FILE)
    for path in _others({path.resolve() for path in hidden}):
        landlock_rules.allow(libc, made, path, landlock_rules.READ_FILE)
    return made


def _others(hidden: Collection[Path]) -> Iterator[Path]:
    """All that stands beside the hidden files and the folders above them, but for other names of theirs."""
    above = {folder for path in hidden for folder in path.parents}
    files = {_file(path) for path in hidden if path.exists()}
    for folder in sorted(above):
        try:
            beside = sorted(folder.iterdir())
        except OSError:  # what cannot be listed cannot be granted
            continue
        for each in beside:
            if (
                each not in above
                and each not in hidden
                and not each.is_symlink()
                and _file(each) not in files
            ):
                yield each


def _file(path: Path) -> tuple[int, int]:
    """What a file is under any of its names."""
    try:
        found = path.lstat()
    except OSError:  # it is gone, or not ours to see: no rule can be made for it
        return (0, 0)
    return found.st_dev, found.st_ino


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
