"""A small task, the same for the command line, Python and training: sums of two numbers."""

from __future__ import annotations

import json
from pathlib import Path

SCORER = "def score(item, answer):\n    return float(answer.strip() == item['answer'])\n"
TRAINING = """
name = "sums"
output = "{output}"
solver = "{solver}"
policy = {{ base = "none", n_parameters = 1 }}
contexts = {{ tasks = ["{folder}"], n = 2, pool = 4, feedback = 3, grade = 3 }}
teacher = {{ n_contexts = 2, completions = 2, grade = 4, accept = "mean" }}
grpo = {{ contexts_per_update = 2, completions = 2 }}
"""
"""A training file on the task, to be filled in."""


def additions(within: Path, n: int = 90) -> Path:
    """A new task folder of `n` additions, called `sums`."""
    folder = within / "sums"
    folder.mkdir()
    items = [
        {"id": f"q{at}", "question": f"What is {at} plus {7 * at + 3}?", "answer": str(8 * at + 3)}
        for at in range(100, 100 + n)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    (folder / "score.py").write_text(SCORER)
    (folder / "task.toml").write_text('name = "sums"\nitems = "items.jsonl"\nscorer = "score.py:score"\n')
    return folder
