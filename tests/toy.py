"""A task on which adaptation helps: a model that counts wrongly in prose and writes right programs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import loriner as lo
from loriner.tasks.base import Task


def rows(n: int) -> list[dict[str, str]]:
    """Questions on the number of words of a line, each with its answer."""
    lines = [" ".join(["word"] * (3 + i % 5) + [str(i)]) for i in range(n)]
    return [
        {"id": str(i), "question": f"Words: {line}", "answer": str(len(line.split()))}
        for i, line in enumerate(lines)
    ]


def task(folder: Path, n: int = 40) -> Task:
    """The questions as a task whose items lie in the folder."""
    file = folder / "words.jsonl"
    file.write_text("\n".join(map(json.dumps, rows(n))))
    return lo.Task.from_jsonl(
        file, scorer=lambda item, answer: float(answer.strip() == item["answer"]), name="words"
    )


def say(prompt: str) -> str:
    """The reply: a program where one is asked for, else a sentence with a wrong number."""
    if "Python program" not in prompt:
        return "I think it is about ninety."
    line = re.findall(r"Words: (.*)", prompt)[-1]
    return f"```python\nprint(len({line!r}.split()))\n```"
