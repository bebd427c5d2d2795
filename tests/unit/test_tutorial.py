"""The table of the tutorial holds the messages of `examples/tickets`, so that its result can be repeated."""

from __future__ import annotations

import csv
import json
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_table_holds_the_messages_of_the_task() -> None:
    with (EXAMPLES / "tickets.csv").open(newline="", encoding="utf-8") as file:
        rows = [(row["message"], row["label"]) for row in csv.DictReader(file)]
    lines = (EXAMPLES / "tickets" / "items.jsonl").read_text(encoding="utf-8").splitlines()
    assert rows == [(item["question"], item["answer"]) for item in map(json.loads, lines)]
