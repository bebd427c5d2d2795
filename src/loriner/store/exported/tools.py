"""The tools of the harness, without the package that made it. Standard library only.

`run_python` is no sandbox here: the code that the model writes runs as you, in an empty folder, without your
environment variables. Let it run in a container or as a user without rights if you do not trust the model.

A harness that was adapted with more tools wants them too: `search` over documents, or what its task brought
along. Write them below. `examples` stands there where the export knew the task. This file is yours: a later
export leaves it as it is.

    def search(query, k=5):
        return [{"title": "…", "text": "…"}]  # at most k passages, best first
"""

import subprocess
import sys
import tempfile

TIMEOUT_S = 10.0
OUTPUT_CHARACTERS = 65_536


def run_python(code: str) -> str:
    """What the code printed; if it failed, one more line `Error: ` that says why."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", code],
                cwd=folder,
                env={},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            return "Error: timeout"
    if done.returncode == 0:
        return (done.stdout + done.stderr)[:OUTPUT_CHARACTERS]
    printed = done.stdout[:OUTPUT_CHARACTERS]
    why = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return printed + ("" if not printed or printed.endswith("\n") else "\n") + f"Error: {why[-1]}"


def __getattr__(name: str) -> object:
    if not name.startswith("__"):
        print(f"tools.py: the harness asks for {name!r}, which is not defined there", file=sys.stderr)
        raise ImportError(f"tools.py defines no {name!r}: write it there")
    raise AttributeError(name)
