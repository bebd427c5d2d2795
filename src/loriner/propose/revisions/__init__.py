"""The known revisions, by kind, in the order in which those of equal worth are offered."""

from __future__ import annotations

from loriner.propose.revisions import (
    agreement,
    asking,
    coding,
    family_program,
    form,
    hops,
    program,
    reasoning,
    retrieval,
    wrapping,
)
from loriner.propose.revisions.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    *program.ENTRIES,
    *form.ENTRIES,
    *wrapping.ENTRIES,
    *family_program.ENTRIES,
    *coding.ENTRIES,
    *agreement.ENTRIES,
    *asking.ENTRIES,
    *reasoning.ENTRIES,
    *retrieval.ENTRIES,
    *hops.ENTRIES,
)
