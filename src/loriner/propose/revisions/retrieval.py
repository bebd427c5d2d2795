"""Revisions of how documents are searched and read."""

from __future__ import annotations

from loriner.propose.revisions.entry import Entry, Facts
from loriner.propose.splicing import before_solve, functions, with_tool
from loriner.records import Fault

HOP = '''def second_hop(model, question):
    """The question with passages found by a query that the model makes from a first search."""
    first = search(question, k=3)
    seen = "\\n".join(passage["title"] + ": " + passage["text"] for passage in first)
    query = model(
        seen + "\\n\\nQuestion: " + question + "\\nName the one further thing to look up, and nothing else.",
        max_tokens=32,
    )
    more = search(query.strip().splitlines()[0], k=3) if query.strip() else []
    found = "\\n".join(passage["title"] + ": " + passage["text"] for passage in more)
    return "Also known:\\n" + found + "\\n\\n" + question
'''


def _hop(source: str, facts: Facts) -> str | None:
    if "second_hop" in functions(source):
        return None
    first = "    question = second_hop(model, question)\n"
    return with_tool(before_solve(source, HOP, first), "search")


ENTRIES = (
    Entry(
        "retrieval_hop",
        "Search a second time, for what the first passages leave open.",
        _hop,
        lambda facts: 0.6 * facts.share(Fault.REASONING, Fault.EXTRACTION),
        tools=("search",),
    ),
)
