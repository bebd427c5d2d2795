"""All entries of the catalogue, by kind, in the order in which those of equal worth are offered."""

from __future__ import annotations

from loriner.propose.catalogue_entry import CatalogueEntry
from loriner.propose.revisions import (
    agreement,
    asking,
    coding,
    examples,
    family_program,
    form,
    hops,
    program,
    question_kinds,
    reasoning,
    retrieval,
    telling,
    wrapping,
)

ENTRIES: tuple[CatalogueEntry, ...] = (
    *examples.ENTRIES,
    *telling.ENTRIES,
    *program.ENTRIES,
    *form.ENTRIES,
    *wrapping.ENTRIES,
    *family_program.ENTRIES,
    *coding.ENTRIES,
    *agreement.ENTRIES,
    *asking.ENTRIES,
    *reasoning.ENTRIES,
    *question_kinds.ENTRIES,
    *retrieval.ENTRIES,
    *hops.ENTRIES,
)
