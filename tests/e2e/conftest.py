"""A small task, a local endpoint, and the command in an empty directory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import Command, command
from stub_server import Stub, serving

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
    return command(tmp_path, tmp_path / "home")
