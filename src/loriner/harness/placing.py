"""Where edits stand in a program, and the program with them in place.

Whole lines, found exactly once, all against the original program; all edits or none. Only CRLF/LF and
blanks at line ends are forgiven: no tolerance of indentation, quotes or similarity, which would write
wrong text without a word. Says nothing about whether the result is a program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loriner.errors import EditError
from loriner.harness.hints import not_found
from loriner.harness.messages import Refusal, joined, not_applied
from loriner.records import Edit

_MAX_SHOWN = 5
"""Most line numbers shown for a repeated span."""


@dataclass(frozen=True, slots=True)
class Place:
    """Lines `first` to `end` - 1 of the program (counted from 0), and the text that replaces them."""

    first: int
    end: int
    new: str


def place_edits(source: str, edits: Sequence[Edit]) -> list[Place]:
    """The place of each edit, in the order of the edits.

    Raises:
        EditError: `span_not_found`, `span_ambiguous`, `overlap`, `no_change`; the code is that of the first
            edit that fails, the message tells of the first three.
    """
    program = lines_of(source)
    places: list[Place | None] = []
    refusals: list[tuple[int, Refusal]] = []
    for number, edit in enumerate(edits, 1):
        place = _place(program, edit)
        refusal = place if isinstance(place, Refusal) else _clash(place, places) or _no_change(edit)
        if refusal is not None:
            refusals.append((number, refusal))
        places.append(None if isinstance(place, Refusal) else place)
    if refusals:
        told = [not_applied(refusal, number, len(edits)) for number, refusal in refusals]
        raise EditError(refusals[0][1].code, joined(told))
    return [place for place in places if place is not None]


def splice(source: str, places: Sequence[Place]) -> str:
    """The source with each place replaced. Other lines keep their bytes, the end of file its form."""
    pieces = source.split("\n")
    crlf = source.count("\r\n") * 2 > source.count("\n")
    for place in sorted(places, key=lambda each: each.first, reverse=True):
        new = place.new.split("\n")[:-1]
        pieces[place.first : place.end] = [line + "\r" for line in new] if crlf else new
    if crlf and pieces and not source.endswith("\n") and not source.endswith("\r"):
        pieces[-1] = pieces[-1].removesuffix("\r")
    return "\n".join(pieces)


def apply_edits(source: str, edits: Sequence[Edit]) -> str:
    """The source with all edits in place. Raises `EditError` as `place_edits` does."""
    result = splice(source, place_edits(source, edits))
    if result == source:
        raise EditError("no_change", "no_change: the edits together leave the program as it was.")
    return result


def lines_of(source: str) -> str:
    """The source with LF line ends, each line ended."""
    program = source.replace("\r\n", "\n")
    return program if program.endswith("\n") or not program else program + "\n"


def starts_of(program: str, block: str, most: int = _MAX_SHOWN + 1) -> list[int]:
    """Numbers (from 0) of the lines at which `block` starts in `program`, overlaps included.

    Both hold ended lines. No more than `most` are looked for.
    """
    text, needle = "\n" + program, "\n" + block
    starts: list[int] = []
    at = text.find(needle)
    while at >= 0 and len(starts) < most:
        starts.append(text.count("\n", 0, at))
        at = text.find(needle, at + 1)
    return starts


def _place(program: str, edit: Edit) -> Place | Refusal:
    starts = starts_of(program, edit.old) or starts_of(_without_blanks(program), _without_blanks(edit.old))
    if not starts:
        return not_found(program, edit)
    if len(starts) > 1:
        return _ambiguous(starts)
    return Place(starts[0], starts[0] + edit.old.count("\n"), edit.new)


def _without_blanks(text: str) -> str:
    return "\n".join(line.rstrip(" \t") for line in text.split("\n"))


def _clash(place: Place, earlier: Sequence[Place | None]) -> Refusal | None:
    for number, other in enumerate(earlier, 1):
        if other is not None and place.first < other.end and other.first < place.end:
            line = max(place.first, other.first) + 1
            return Refusal("overlap", f"Edit {number} rewrites line {line} too. Join the two edits into one.")
    return None


def _ambiguous(starts: Sequence[int]) -> Refusal:
    shown = ", ".join(str(start + 1) for start in starts[:_MAX_SHOWN])
    more = " and more" if len(starts) > _MAX_SHOWN else ""
    advice = "Add a neighbouring line, so that SEARCH stands there once."
    return Refusal("span_ambiguous", f"SEARCH stands in the program at lines {shown}{more}. {advice}")


def _no_change(edit: Edit) -> Refusal | None:
    if edit.old != edit.new:
        return None
    return Refusal("no_change", "SEARCH and REPLACE are the same. Change something, or leave the edit out.")
