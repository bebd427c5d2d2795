"""What a harness may import: `from tools import search`. Standard library only."""

import json
import re
from pathlib import Path

DOCUMENTS = [
    json.loads(line) for line in (Path(__file__).parent / "documents.jsonl").read_text().splitlines()
]


def search(query: str, k: int = 5) -> list:
    """At most k passages, {"title", "text"}, those first that share most words with the query."""
    wanted = words(query)
    ranked = sorted(DOCUMENTS, key=lambda each: -len(wanted & words(each["title"] + " " + each["text"])))
    return ranked[: max(0, k)]


def words(text: str) -> set:
    return set(re.findall(r"\w+", text.lower()))
