"""The installed command as tests call it."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from warm import Warm

Command = Callable[..., subprocess.CompletedProcess[str]]


def environment(home: Path) -> dict[str, str]:
    """What the command sees: this process's variables, and a home of its own."""
    return {**os.environ, "LORINER_HOME": str(home), "NO_COLOR": "1"}


def started(folder: Path, home: Path, *arguments: str) -> subprocess.Popen[str]:
    """`loriner` as a process of its own that is not waited for."""
    return subprocess.Popen(
        [sys.executable, "-m", "loriner", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment(home),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job ignores it
    )


def command(folder: Path, home: Path) -> Command:
    """Runs `loriner` as a process of its own in `folder`, with a home of its own."""

    def run(*arguments: str, timeout_s: float = 240.0) -> subprocess.CompletedProcess[str]:
        return _warm().run(*arguments, folder=folder, environment=environment(home), timeout_s=timeout_s)

    return run


@cache
def _warm() -> Warm:
    """One for all tests of this process."""
    made = Warm()
    atexit.register(made.close)
    return made
