"""Revisions of how documents are searched and read."""

from __future__ import annotations

from loriner.propose.catalogue_entry import CatalogueEntry, Rewrite
from loriner.propose.facts import UNKNOWN, Facts
from loriner.propose.snippets.answer_of_reply import asked_first, settled
from loriner.propose.snippets.literals import constant
from loriner.propose.snippets.rank_passages import passage_parts
from loriner.propose.splicing import before_solve, functions, with_tool
from loriner.records import Fault

READ = '''
def reading(found, question):
    """A prompt of passages, the best one last, the question, and the form of an answer."""
    passages = [each["title"] + "\\n" + each["text"][:900] for each in found[::-1]]
    return "\\n\\n".join([*passages, "Question: " + question + "\\n" + FORM])
'''
BEST = '''
def best_passages(question):
    """The two passages that share most with the question, the best first."""
    return [passage for _, passage in weighed(question)[:2]]
'''
SHORT = '''
def by_few_passages(model, question):
    """The model's short answer from the two best passages, the best one last."""
    return {call}(model(reading(best_passages(question), question), max_tokens=60))
'''
QUOTED = '''
def by_quote(model, question):
    """The model's answer from the sentence that it quotes for the question."""
    prompt = reading(best_passages(question), question).removesuffix(FORM)
    quote = model(prompt + "Copy the one sentence above that answers it.", max_tokens=90)
    quoted = [{{"title": "Quoted", "text": quote.strip()}}]
    return {call}(model(reading(quoted, question), max_tokens=60))
'''
QUERIES = '''
def by_queries(model, question):
    """The model's answer from the passages that several queries agree on."""
    asked = "What two to five words would you look up to answer this? " + question
    names = " ".join(re.findall(r"[A-Z][\\w'-]+|\\d[\\w.-]*", question))
    queries = [question, names, model(asked, max_tokens=24)]
    points, texts = {{}}, {{}}
    for query in queries:
        for rank, each in enumerate(search(query, k=4) if query.strip() else []):
            key = each["title"] + each["text"]
            points[key] = points.get(key, 0) + 1 / (rank + 2)
            texts[key] = each
    best = sorted(points, key=points.get, reverse=True)[:3]
    return {call}(model(reading([texts[key] for key in best], question), max_tokens=60))
'''
RERANKED = '''
def by_reranking(model, question):
    """The model's answer from those of eight passages of which it says that they answer the question."""
    found = search(question, k=8)
    asked = [
        each["title"] + "\\n" + each["text"][:600] + "\\n\\nDoes this answer the question: " + question
        + "\\nReply yes or no."
        for each in found
    ]
    verdicts = model.batch(asked, max_tokens=3) if asked else []
    chosen = [each for each, said in zip(found, verdicts) if said.strip().lower().startswith("yes")]
    return {call}(model(reading((chosen or found)[:2], question), max_tokens=60))
'''
EXAMPLES = '''
def by_passages_and_examples(model, question):
    """The model's answer from the best passages, in the form of answered questions like this one."""
    near = [each for each in examples(question, k=4)[::-1]]
    shown = ["Question: " + each["question"] + "\\nAnswer: " + each["answer"] for each in near]
    prompt = "\\n\\n".join([*shown, reading(best_passages(question), question)])
    return {call}(model(prompt, max_tokens=60))
'''

_READ_WRONG = (*UNKNOWN, Fault.EXTRACTION, Fault.FORMAT)
_NOT_FOUND = (Fault.NOT_RETRIEVED, Fault.REASONING)

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


def _reading(code: str, *tools: str) -> Rewrite:
    """The rewriting that asks first as `code` does, over the tools that it needs."""

    def rewrite(source: str, facts: Facts) -> str | None:
        imports = ("import re",) if "re." in code else ()
        ranked = (*passage_parts(), BEST) if "best_passages(" in code else ()
        revised = asked_first(source, facts, code, *imports, *ranked, _form(facts), READ)
        for tool in tools:
            revised = revised and with_tool(revised, tool)
        return revised

    return rewrite


def _form(facts: Facts) -> str:
    """What is asked for behind a question: tags, which keep a small model from answering in a sentence."""
    words = [] if facts.shape == "line" else [settled(facts).words]
    return constant("FORM", "\n".join([*words, "Give a short answer between <answer> and </answer>."]))


def _read(facts: Facts, *cured: Fault) -> float:
    return facts.fresh * float(facts.searches) * facts.share(*cured)


ENTRIES = (
    CatalogueEntry(
        "few_passages_best_last",
        "Ask for a short answer from the two best passages, with the best one last.",
        _reading(SHORT, "search"),
        lambda facts: 0.9 * _read(facts, *_READ_WRONG),
        tools=("search",),
    ),
    CatalogueEntry(
        "passages_and_examples",
        "Ask for an answer from the best passages in the form of answered questions like this one.",
        _reading(EXAMPLES, "search", "examples"),
        lambda facts: 0.8 * _read(facts, *_READ_WRONG),
        tools=("search", "examples"),
    ),
    CatalogueEntry(
        "quote_first",
        "Have the model quote the sentence that answers the question, and answer from the quote.",
        _reading(QUOTED, "search"),
        lambda facts: 0.7 * _read(facts, *_READ_WRONG),
        tools=("search",),
    ),
    CatalogueEntry(
        "several_queries",
        "Search with several queries and answer from the passages that they agree on.",
        _reading(QUERIES, "search"),
        lambda facts: 0.75 * _read(facts, *_NOT_FOUND),
        tools=("search",),
    ),
    CatalogueEntry(
        "passages_reranked",
        "Have the model say which of eight passages answer the question, and answer from these.",
        _reading(RERANKED, "search"),
        lambda facts: 0.65 * _read(facts, *_NOT_FOUND),
        tools=("search",),
    ),
    CatalogueEntry(
        "retrieval_hop",
        "Search a second time, for what the first passages leave open.",
        _hop,
        lambda facts: 0.6 * facts.share(Fault.NOT_RETRIEVED, Fault.REASONING, Fault.EXTRACTION),
        tools=("search",),
    ),
)
