"""The scripts of `examples/` run as they are, with a local endpoint as the model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stub_server import Stub

EXAMPLES = Path(__file__).parents[2] / "examples"
PRINTS = {
    "adapt_a_task.py": ("best", "+from tools import run_python"),
    "budget_and_resume.py": ("stopped: budget", "best so far: ", "best: "),
    "compare_programs.py": ("minimal              mean 0.00", "program_of_thought   mean 1.00"),
    "own_program.py": ("mean score 1.00 on 12 questions",),
    "score_in_words.py": ("1.00  right", "0.67  wrong: total", "0.00  the answer is not JSON"),
}
"""What each prints."""


def test_every_script_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(PRINTS)


@pytest.mark.parametrize("name", PRINTS)
def test_a_script_runs_as_it_is(name: str, folder: Path, stub: Stub, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, stub.url, folder],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "LORINER_HOME": str(tmp_path / "home")},
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    for words in PRINTS[name]:
        assert words in done.stdout
