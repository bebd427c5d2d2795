"""The installed command, run as a process of its own, on a small task against a local endpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stub_server import Stub, serving

Command = Callable[..., subprocess.CompletedProcess[str]]

SCORER = "def score(item, answer):\n    return float(answer.strip() == item['answer'])\n"


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving(Stub()) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task of 90 additions."""
    made = tmp_path / "sums"
    made.mkdir()
    items = [
        {"id": f"q{n}", "question": f"What is {n} plus {7 * n + 3}?", "answer": str(8 * n + 3)}
        for n in range(100, 190)
    ]
    (made / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    (made / "score.py").write_text(SCORER)
    (made / "task.toml").write_text('name = "sums"\nitems = "items.jsonl"\nscorer = "score.py:score"\n')
    return made


@pytest.fixture
def loriner(tmp_path: Path) -> Command:
    """Runs the command in an empty directory with a home of its own."""

    def run(*arguments: str, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LORINER_HOME": str(tmp_path / "home"), "NO_COLOR": "1"}
        return subprocess.run(
            [sys.executable, "-m", "loriner", *arguments],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            cwd=tmp_path,
            env=environment,
        )

    return run
