"""The words in which a failed edit is told to the proposer: bounded, and about its own program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MAX_EDIT_CHARS = 400
"""Most characters told of one edit."""
MAX_EDITS_TOLD = 3


class Refusal(NamedTuple):
    """Why one edit has no place."""

    code: str
    text: str
    kind: str = ""
    """The hint kind of a `span_not_found`."""


def not_applied(refusal: Refusal, number: int, n_edits: int) -> str:
    """The message for edit `number` of `n_edits`."""
    code = f"{refusal.code} ({refusal.kind})" if refusal.kind else refusal.code
    return clipped(
        f"Edit {number} of {n_edits} was not applied: {code}. Nothing was changed.\n{refusal.text}"
    )


def joined(messages: Sequence[str]) -> str:
    """The first `MAX_EDITS_TOLD` messages as one text."""
    return "\n".join(messages[:MAX_EDITS_TOLD])


def clipped(text: str, most: int = MAX_EDIT_CHARS) -> str:
    """The text, cut to `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"
