"""Revisions of how documents are found and read: better queries, several steps, notes before the answer."""

from __future__ import annotations

from loriner.propose.catalogue_entry import CatalogueEntry
from loriner.propose.facts import UNKNOWN, Facts
from loriner.propose.snippets.new_solve import around
from loriner.records import Fault

READING = '''def reading(passages):
    """Passages as text, each once."""
    return "\\n".join(dict.fromkeys(each["title"] + ": " + each["text"][:1200] for each in passages))
'''

BRIEF = '''def brief_answer(model, question, known):
    """The answer to a question from what is known, as a name, a date or a number."""
    prompt = (
        known[-6000:] + "\\n\\nQuestion: " + question + "\\nAnswer with the name, date or number alone, as "
        + "the text writes it. Answer:"
    )
    return model(prompt, max_tokens=40, stop="\\n").strip().rstrip(".")
'''

QUERIES = '''def solve(model, question):
    """The answer from passages found by queries that the model writes; as before where none is found."""
    asked = model(
        "Question: " + question + "\\nWrite three short search queries that find what is needed, one a line: "
        + "the names in the question, and what is asked about them.", max_tokens=80,
    )
    queries = [question, *(line.strip("-*0123456789. ") for line in asked.splitlines() if line.strip())][:4]
    passages = [each for query in queries if query for each in search(query, k=3)]
    return brief_answer(model, question, reading(passages)) if passages else unqueried(model, question)
'''

STEPS = '''def solve(model, question):
    """The answer from facts that are looked up one after the other, each by what the one before found."""
    notes = ""
    for _ in range(3):
        query = model(
            "Question: " + question + notes + "\\nWhich one thing is to be looked up next? Write a short "
            + "search query with the names known so far, or DONE.", max_tokens=40, stop="\\n",
        ).strip()
        if not query or "DONE" in query:
            break
        found = reading(search(query, k=3))
        fact = model(
            found + "\\n\\nWrite the one fact in this that answers: " + query + "\\nFact:",
            max_tokens=60, stop="\\n",
        ).strip()
        notes += "\\nKnown: " + fact
    if not notes:
        return step_by_none(model, question)
    return brief_answer(model, question, reading(search(question, k=3)) + notes)
'''

NOTED = '''def solve(model, question):
    """The answer from notes that the model makes on each passage by itself."""
    passages = search(question, k=6)
    prompts = [
        each["title"] + ": " + each["text"][:1500] + "\\n\\nQuestion: " + question
        + "\\nWrite what of this may help to answer, in one sentence, or NOTHING."
        for each in passages
    ]
    notes = [note.strip() for note in model.batch(prompts, max_tokens=60)] if prompts else []
    kept = [note for note in notes if note and "NOTHING" not in note]
    return brief_answer(model, question, "\\n".join(kept)) if kept else unnoted(model, question)
'''

FOLLOWED = '''def solve(model, question):
    """The answer from the first passages and from those on each title and name that these mention."""
    first = search(question, k=3)
    names = re.findall(r"(?:[A-Z][\\\\w'-]+ ?){1,4}", " ".join(each["text"][:600] for each in first))
    unasked = [name.strip() for name in dict.fromkeys(names) if name.strip() not in question][:6]
    more = [each for name in unasked for each in search(name, k=1)]
    found = [*first, *more]
    return brief_answer(model, question, reading(found)) if found else unfollowed(model, question)
'''.replace("\\\\\\\\", "\\\\")


def _queries(source: str, facts: Facts) -> str | None:
    return around(source, "unqueried", QUERIES, (READING, BRIEF), ("search",))


def _steps(source: str, facts: Facts) -> str | None:
    return around(source, "step_by_none", STEPS, (READING, BRIEF), ("search",))


def _noted(source: str, facts: Facts) -> str | None:
    return around(source, "unnoted", NOTED, (BRIEF,), ("search",))


def _followed(source: str, facts: Facts) -> str | None:
    return around(source, "unfollowed", FOLLOWED, ("import re", READING, BRIEF), ("search",))


def _read(facts: Facts) -> float:
    return 0.85 * facts.share(Fault.NOT_RETRIEVED, *UNKNOWN, Fault.EXTRACTION, Fault.FORMAT)


_SEARCH = ("search",)
ENTRIES = (
    CatalogueEntry(
        "looked_up_in_steps",
        "Look up one fact after the other, each with what the one before found.",
        _steps,
        lambda facts: 0.7 * _read(facts),
        tools=_SEARCH,
    ),
    CatalogueEntry(
        "queries_rewritten",
        "Have the model write search queries, and answer briefly from all that they find.",
        _queries,
        lambda facts: 0.65 * _read(facts),
        tools=_SEARCH,
    ),
    CatalogueEntry(
        "names_followed",
        "Search for the names that the first passages mention, and answer briefly from all of it.",
        _followed,
        lambda facts: 0.55 * _read(facts),
        tools=_SEARCH,
    ),
    CatalogueEntry(
        "passages_noted",
        "Have the model note what helps in each passage, and answer briefly from the notes.",
        _noted,
        lambda facts: 0.5 * _read(facts),
        tools=_SEARCH,
    ),
)
