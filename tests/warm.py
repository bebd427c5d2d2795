"""`loriner` without the second that it takes to start an interpreter and import the package.

One process imports the package once and forks for each command. A fork is a process of its own, with its own
directory, variables, output and exit code, and it ends as an interpreter does; only the start is saved. What
depends on the start (the installed script, signals, limits, namespaces) is tested with a new process.
"""

from __future__ import annotations

import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

_NOT_IMPORTED = (
    "loriner.__main__",
    "loriner.bridges.",  # each needs a framework of others
    "loriner.harness.library.",
    "loriner.store.exported.",
    "loriner.tasks.starters",
    "loriner.train.",  # needs an extra, and seconds
)


class Warm:
    """The process that waits. It runs one command at a time."""

    def __init__(self) -> None:
        self._waiting = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(
        self, *arguments: str, folder: Path, environment: Mapping[str, str], timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run` with captured text ends.

        Raises:
            subprocess.TimeoutExpired: the command was killed after `timeout_s`.
        """
        with tempfile.TemporaryDirectory() as written:
            paths = [Path(written, name) for name in ("out", "err")]
            for path in paths:
                path.touch()
            order = {"arguments": arguments, "folder": str(folder), "environment": dict(environment)}
            pid = self._told(order | {"written": written}, None)
            status = self._told(None, timeout_s)
            late = status is None
            if late:
                os.kill(pid, signal.SIGKILL)
                status = self._told(None, None)
            out, err = (path.read_text() for path in paths)
        if late:
            raise subprocess.TimeoutExpired(["loriner", *arguments], timeout_s, out, err)
        return subprocess.CompletedProcess(["loriner", *arguments], status, out, err)

    def close(self) -> None:
        self._waiting.communicate()

    def _told(self, order: Mapping[str, Any] | None, timeout_s: float | None) -> Any:
        """The next line of the process, after an order if there is one; None if it does not come in time."""
        assert self._waiting.stdin and self._waiting.stdout
        if order is not None:
            self._waiting.stdin.write(json.dumps(order).encode() + b"\n")
            self._waiting.stdin.flush()
        ready, _, _ = select.select([self._waiting.stdout], [], [], timeout_s)
        return json.loads(self._waiting.stdout.readline()) if ready else None


def main() -> int:
    """Serves orders until the input ends. In a fork: runs its command, and returns the exit code of it."""
    _import_all()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for line in sys.stdin.buffer:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            return _command(order)
        _say(pid)
        _say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    return 0


def _command(order: Mapping[str, Any]) -> int:
    from loriner.cli import main as loriner

    for number, name, mode in ((0, os.devnull, "r"), (1, "out", "w"), (2, "err", "w")):
        with Path(order["written"], name).open(mode) as file:
            os.dup2(file.fileno(), number)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    return loriner(order["arguments"])


def _import_all() -> None:
    import loriner

    for module in pkgutil.walk_packages(loriner.__path__, "loriner."):
        if not module.name.startswith(_NOT_IMPORTED):
            import_module(module.name)


def _say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
