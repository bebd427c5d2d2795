"""The known revisions, by kind, in the order in which those of equal worth are offered."""

from __future__ import annotations

from loriner.propose.revisions import asking, form, program, retrieval
from loriner.propose.revisions.entry import Entry

ENTRIES: tuple[Entry, ...] = (*program.ENTRIES, *form.ENTRIES, *asking.ENTRIES, *retrieval.ENTRIES)
