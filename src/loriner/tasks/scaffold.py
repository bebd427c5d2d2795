"""A new task folder that runs as it is, to be edited into one's own."""

from __future__ import annotations

import json
import re
from pathlib import Path

from loriner.errors import TaskError

_TOML = """\
name = "{name}"
description = "Capital cities. The answer is the city's name; case does not matter."
items = "items.jsonl"            # one JSON object a line: id, question, answer, anything else
scorer = "score.py:score"        # runs in a process of its own
split = {{ feedback = 0.3, grade = 0.3, test = 0.4 }}
# seed_harness = "minimal"       # the library harness that adaptation starts from
# tools = ["tools.py:lookup"]    # functions that a harness may import
"""

_SCORE = '''\
def score(item, answer):
    """From 0 (wrong) to 1 (right). `item` is the line of items.jsonl."""
    return float(answer.strip().lower() == item["answer"].lower())
'''

_CAPITALS = {
    "Austria": "Vienna",
    "Belgium": "Brussels",
    "Canada": "Ottawa",
    "Denmark": "Copenhagen",
    "Egypt": "Cairo",
    "Finland": "Helsinki",
    "Greece": "Athens",
    "Hungary": "Budapest",
    "Italy": "Rome",
    "Japan": "Tokyo",
    "Kenya": "Nairobi",
    "Latvia": "Riga",
    "Mexico": "Mexico City",
    "Norway": "Oslo",
    "Peru": "Lima",
    "Spain": "Madrid",
}


def scaffold(path: str | Path, name: str) -> Path:
    """The folder, written with `task.toml`, `items.jsonl` and `score.py`. Nothing is overwritten.

    Raises:
        TaskError: the name is not made of letters, digits, `_`, `-` and `.`, or the folder is not empty.
    """
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
        raise TaskError(f"{name!r} cannot name a task; use letters, digits, '_', '-' and '.'")
    folder = Path(path)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise TaskError(f"{folder} is there already; name a folder that is new or empty")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.toml").write_text(_TOML.format(name=name), encoding="utf-8")
    (folder / "items.jsonl").write_text("".join(_items()), encoding="utf-8")
    (folder / "score.py").write_text(_SCORE, encoding="utf-8")
    return folder


def _items() -> list[str]:
    items = [
        {"id": country.lower(), "question": f"What is the capital of {country}?", "answer": city}
        for country, city in _CAPITALS.items()
    ]
    return [json.dumps(item) + "\n" for item in items]
