"""The known revisions, by kind, in the order in which those of equal worth are offered."""

from __future__ import annotations

from loriner.propose.revisions import asking, examples, form, program, retrieval, telling
from loriner.propose.revisions.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    *examples.ENTRIES,
    *telling.ENTRIES,
    *retrieval.ENTRIES,
    *program.ENTRIES,
    *form.ENTRIES,
    *asking.ENTRIES,
)
