"""What a program answers reaches the scorer as it is; only what people see on a screen is cleaned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Command

ODD = [
    "\x1b[31mred\x1b[0m",
    "bell\x07",
    "nul\x00byte",
    "line\r\nend",
    "\ufeffmark",
    "left\u202eright",
    "form\x0cfeed",
]
EXACT = "def score(item, answer):\n    return float(answer == item['answer'])\n"
COPIES = "def solve(model, question):\n    import json\n    return json.loads(question)\n"
PRINTS = """from tools import run_python

def solve(model, question):
    return run_python(f"import sys; sys.stdout.write({question})")
"""


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A task whose right answers hold characters that no screen should see; its questions spell them."""
    folder = tmp_path / "odd"
    folder.mkdir()
    items = [
        {"id": f"q{at}", "question": json.dumps(text), "answer": text, "split": split}
        for split in ("feedback", "grade", "test")
        for at, text in enumerate((f"{split} {each} ." for each in ODD), 100 * len(split))
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    (folder / "score.py").write_text(EXACT)
    (folder / "task.toml").write_text('name = "odd"\nitems = "items.jsonl"\nscorer = "score.py:score"\n')
    return folder


@pytest.mark.parametrize("program", [COPIES, PRINTS])
def test_a_right_answer_with_control_characters_is_right(
    loriner: Command, odd: Path, tmp_path: Path, program: str
) -> None:
    (tmp_path / "copies.py").write_text(program)
    asked = ("evaluate", str(odd), "--harness", "copies.py", "--solver", "scripted:echo", "--json")
    done = loriner(*asked)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["score"]["score"] == 1.0
    assert json.loads(loriner("tasks", "check", str(odd), "--json").stdout)["wrong_gold"] == []


def test_no_screen_sees_a_raw_escape(loriner: Command, odd: Path, tmp_path: Path) -> None:
    (tmp_path / "escapes.py").write_text(COPIES + "    # \x1b]0;title\x07\n")
    shown = [
        loriner("tasks", "show", str(odd)),
        loriner("diff", "library:minimal", "escapes.py"),
        loriner("evaluate", str(odd), "--solver", "scripted:echo"),
    ]
    assert [done.returncode for done in shown] == [0, 0, 0], [done.stderr for done in shown]
    printed = "".join(done.stdout + done.stderr for done in shown)
    assert "red" in printed and not any(each in printed for each in "\x1b\x07\x00\u202e\ufeff")
