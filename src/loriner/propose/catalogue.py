"""A proposer without a model: known revisions, chosen by what the feedback shows.

It reads the fault profile and the shape of the right answers, picks a revision from a fixed list, and
writes it as real edit blocks. It knows no task by name. It is the offline default, a baseline to beat,
and a source of training data. It cannot invent: what it does not list, it never tries.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from loriner.harness.rewrite import make_edits
from loriner.propose.proposer import Completion, Proposer
from loriner.propose.revisions import ENTRIES, Entry, Shape
from loriner.records import Context


def catalogue_proposer() -> Proposer:
    """The proposer whose completion `index` in a context is the `index`-th revision that fits best."""

    async def write(context: Context, index: int) -> Completion:
        return Completion(completion(context, index))

    return Proposer("catalogue", write)


def completion(context: Context, index: int) -> str:
    """A sentence and edit blocks, or only a sentence when nothing is left to try."""
    shape = shape_of([each.target for each in context.feedback])
    source = context.harness.source
    fitting = [
        (entry, revised)
        for entry in ranked(context)
        if (revised := entry.rewrite(source, shape)) is not None and revised != source
    ]
    if index >= len(fitting):
        return "Nothing in the catalogue is left to try on this program.\n"
    entry, revised = fitting[index]
    return f"{entry.note}\n\n{make_edits(source, revised)}"


def ranked(context: Context) -> list[Entry]:
    """The entries, those that cure the more frequent faults first; what this episode tried comes last."""
    profile = Counter(each.fault for each in context.feedback if each.fault is not None)
    tried = [past.summary for past in context.history]

    def rank(numbered: tuple[int, Entry]) -> tuple[int, int, int]:
        order, entry = numbered
        attempts = sum(entry.note in summary for summary in tried)
        return (attempts, -sum(profile[fault] for fault in entry.cures), order)

    granted = [entry for entry in ENTRIES if entry.needs is None or entry.needs in context.tools]
    return [entry for _, entry in sorted(enumerate(granted), key=rank)]


def shape_of(targets: Sequence[str]) -> Shape:
    """The narrowest shape that all targets have."""
    if targets and all(re.fullmatch(r"-?\d+", each) for each in targets):
        return Shape("integer")
    if targets and all(re.fullmatch(r"-?\d+(\.\d+)?", each) for each in targets):
        return Shape("number")
    if targets and all("\n" not in each for each in targets):
        return Shape("line")
    return Shape("text")
