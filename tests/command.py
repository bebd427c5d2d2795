"""The installed command as tests call it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

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
        return subprocess.run(
            [sys.executable, "-m", "loriner", *arguments],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            cwd=folder,
            env=environment(home),
        )

    return run
