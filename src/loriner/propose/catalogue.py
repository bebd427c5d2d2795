"""A proposer without a model: known revisions, chosen by what the feedback shows.

It reads facts from the feedback, picks a revision from a fixed list, and writes it as real edit blocks. It
knows no task by name. It is the offline default, a baseline to beat, and a source of training data. It cannot
invent: it only tries what is in its list.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from loriner.errors import EditError
from loriner.harness.edits import revise
from loriner.harness.rewrite import make_edits
from loriner.propose.catalogue_entry import CatalogueEntry
from loriner.propose.catalogue_list import ENTRIES
from loriner.propose.fact_finding import facts_of
from loriner.propose.facts import Facts
from loriner.propose.proposer import Completion, Proposer
from loriner.records import Context, Harness, PastRevision


def catalogue_proposer() -> Proposer:
    """The proposer whose completion `index` in a context is the `index`-th revision that fits best."""

    async def write(context: Context, index: int) -> Completion:
        return Completion(completion(context, index))

    return Proposer("catalogue", write)


def completion(context: Context, index: int) -> str:
    """The name of an entry, what it does, and edit blocks; or only a sentence when nothing is left to try."""
    texts = (text for _, text in offered(context))
    return next(islice(texts, index, None), "Nothing in the catalogue is left to try on this program.\n")


def offered(context: Context) -> Iterator[tuple[CatalogueEntry, str]]:
    """Every entry that makes a candidate of the context's program, with its completion, the best first."""
    facts = facts_of(context)
    for entry in ranked(context, facts):
        if (text := _written(context.harness, entry, facts)) is not None:
            yield entry, text


def _written(harness: Harness, entry: CatalogueEntry, facts: Facts) -> str | None:
    """The completion by which the entry revises the harness; None if the entry makes no candidate of it."""
    try:
        revised = entry.rewrite(harness.source, facts)
        if revised is None or revised == harness.source:
            return None
        text = f"{entry.title}.\n{entry.note}\n\n{make_edits(harness.source, revised)}"
        revise(harness, text)
    except (SyntaxError, ValueError, EditError):  # a layout that the entry cannot cope with
        return None
    return text


def ranked(context: Context, facts: Facts) -> list[CatalogueEntry]:
    """The entries, the most promising first; what this episode tried comes last."""

    def rank(numbered: tuple[int, CatalogueEntry]) -> tuple[int, float, int]:
        order, entry = numbered
        return (sum(_names(past, entry) for past in context.history), -entry.worth(facts), order)

    granted = [entry for entry in ENTRIES if facts.tools.issuperset(entry.tools) and entry.worth(facts) >= 0]
    return [entry for _, entry in sorted(enumerate(granted), key=rank)]


def _names(past: PastRevision, entry: CatalogueEntry) -> bool:
    """Whether an earlier attempt was this entry: its note begins with the name."""
    return past.summary.startswith(f"{entry.title}.")
