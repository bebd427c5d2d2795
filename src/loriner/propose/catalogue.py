"""A proposer without a model: known revisions, chosen by what the feedback shows.

It reads the fault profile and the shape of the right answers, picks a revision from a fixed list, and
writes it as real edit blocks. It knows no task by name. It is the offline default, a baseline to beat,
and a source of training data. It cannot invent: what it does not list, it never tries.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from loriner.errors import EditError
from loriner.harness.edits import revise
from loriner.harness.rewrite import make_edits
from loriner.propose.proposer import Completion, Proposer
from loriner.propose.revisions import ENTRIES, Entry, Shape
from loriner.records import Context, Harness


def catalogue_proposer() -> Proposer:
    """The proposer whose completion `index` in a context is the `index`-th revision that fits best."""

    async def write(context: Context, index: int) -> Completion:
        return Completion(completion(context, index))

    return Proposer("catalogue", write)


def completion(context: Context, index: int) -> str:
    """A sentence and edit blocks, or only a sentence when nothing is left to try."""
    shape = shape_of([each.target for each in context.feedback])
    written = (_written(context.harness, entry, shape) for entry in ranked(context))
    offered = (text for text in written if text is not None)
    return next(islice(offered, index, None), "Nothing in the catalogue is left to try on this program.\n")


def _written(harness: Harness, entry: Entry, shape: Shape) -> str | None:
    """The completion that makes a candidate of the harness by the entry, or None where there is none."""
    try:
        revised = entry.rewrite(harness.source, shape)
        if revised is None or revised == harness.source:
            return None
        text = f"{entry.note}\n\n{make_edits(harness.source, revised)}"
        revise(harness, text)
    except (SyntaxError, ValueError, EditError):  # a layout that the entry cannot cope with
        return None
    return text


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
