"""The installed command as tests call it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

Command = Callable[..., subprocess.CompletedProcess[str]]


def command(folder: Path, home: Path) -> Command:
    """Runs `loriner` as a process of its own in `folder`, with a home of its own."""

    def run(*arguments: str, timeout_s: float = 240.0) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LORINER_HOME": str(home), "NO_COLOR": "1"}
        return subprocess.run(
            [sys.executable, "-m", "loriner", *arguments],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            cwd=folder,
            env=environment,
        )

    return run
