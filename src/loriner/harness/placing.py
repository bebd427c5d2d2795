"""Where edits stand in a program, and the program with them in place.

Whole lines, found exactly once, all against the original program; all edits or none. Only CRLF/LF and
blanks at line ends are forgiven: no tolerance of indentation, quotes or similarity, which would write
wrong text without a word. Says nothing about whether the result is a program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from loriner.errors import EditError
from loriner.harness.hints import not_found
from loriner.harness.messages import Refusal, joined, not_applied
from loriner.records import Edit

_MAX_SHOWN = 5
"""Most line numbers shown for a repeated span."""


class Place(NamedTuple):
    """Characters `start` to `end` of `lines_of(source)`, whole lines, and the text that replaces them."""

    start: int
    end: int
    new: str


_NOWHERE = Place(-1, -1, "")
"""Keeps the numbering of the edits where one has no place; overlaps nothing."""


def place_edits(source: str, edits: Sequence[Edit]) -> list[Place]:
    """The place of each edit, in the order of the edits.

    Raises:
        EditError: `span_not_found`, `span_ambiguous`, `overlap`, `no_change`; the code is that of the first
            edit that fails, the message tells of the first three.
    """
    program = lines_of(source)
    places: list[Place] = []
    refusals: list[tuple[int, Refusal]] = []
    for number, edit in enumerate(edits, 1):
        place = _place(program, edit)
        if isinstance(place, Place):
            refusal = _clash(program, place, places) or _no_change(edit)
            places.append(place)
        else:
            refusal = place
            places.append(_NOWHERE)
        if refusal is not None:
            refusals.append((number, refusal))
    if refusals:
        told = [not_applied(refusal, number, len(edits)) for number, refusal in refusals]
        raise EditError(refusals[0][1].code, joined(told))
    return places


def splice(source: str, places: Sequence[Place]) -> str:
    """The source with each place replaced. Other lines keep their bytes, the end of file its form."""
    raw = _raw_offsets(source) if "\r" in source else None
    crlf = raw is not None and source.count("\r\n") * 2 > source.count("\n")
    parts: list[str] = []
    at = 0
    for start, end, new in sorted(places):
        parts.append(source[at : raw[start] if raw else start])
        parts.append(new.replace("\n", "\r\n") if crlf else new)
        at = raw[end] if raw else end
    parts.append(source[at:])
    result = "".join(parts)
    if at > len(source):
        return result.removesuffix("\n").removesuffix("\r" if crlf else "")
    return result


def apply_edits(source: str, edits: Sequence[Edit]) -> str:
    """The source with all edits in place. Raises `EditError` as `place_edits` does."""
    result = splice(source, place_edits(source, edits))
    if result == source:
        raise EditError("no_change", "no_change: the edits together leave the program as it was.")
    return result


def lines_of(source: str) -> str:
    """The source with LF line ends, each line ended."""
    program = source.replace("\r\n", "\n") if "\r" in source else source
    return program if program.endswith("\n") or not program else program + "\n"


def starts_of(program: str, block: str, most: int = _MAX_SHOWN + 1) -> list[int]:
    """The offsets of the lines of `program` at which the lines `block` start, overlaps included.

    Both hold ended lines. No more than `most` are looked for.
    """
    starts = [0] if program.startswith(block) else []
    needle = "\n" + block
    at = program.find(needle)
    while at >= 0 and len(starts) < most:
        starts.append(at + 1)
        at = program.find(needle, at + 1)
    return starts


def _raw_offsets(source: str) -> dict[int, int]:
    """Where each line that starts at an offset of `lines_of(source)` starts in the source; its end too."""
    offsets, at, raw = {}, 0, 0
    for line in source.split("\n"):
        offsets[at] = raw
        at += len(line.removesuffix("\r")) + 1
        raw += len(line) + 1
    offsets[at] = raw
    return offsets


def _place(program: str, edit: Edit) -> Place | Refusal:
    starts = starts_of(program, edit.old)
    if len(starts) == 1:
        return Place(starts[0], starts[0] + len(edit.old), edit.new)
    lines = [_line(program, start) for start in starts] or _lines_without_blanks(program, edit.old)
    if len(lines) > 1:
        return _ambiguous(lines)
    return _at_lines(program, lines[0], edit) if lines else not_found(program, edit)


def _lines_without_blanks(program: str, block: str) -> list[int]:
    """Numbers (from 0) of the lines at which the block starts when blanks at line ends do not count."""
    bare = _without_blanks(program)
    return [_line(bare, start) for start in starts_of(bare, _without_blanks(block))]


def _at_lines(program: str, first: int, edit: Edit) -> Place:
    lines = program.split("\n")
    start = sum(len(line) + 1 for line in lines[:first])
    length = sum(len(line) + 1 for line in lines[first : first + edit.old.count("\n")])
    return Place(start, start + length, edit.new)


def _line(program: str, offset: int) -> int:
    """The number (from 0) of the line that starts at the offset."""
    return program.count("\n", 0, offset)


def _without_blanks(text: str) -> str:
    return "\n".join(line.rstrip(" \t") for line in text.split("\n"))


def _clash(program: str, place: Place, earlier: Sequence[Place]) -> Refusal | None:
    for number, other in enumerate(earlier, 1):
        if place.start < other.end and other.start < place.end:
            line = _line(program, max(place.start, other.start)) + 1
            return Refusal("overlap", f"Edit {number} rewrites line {line} too. Join the two edits into one.")
    return None


def _ambiguous(lines: Sequence[int]) -> Refusal:
    shown = ", ".join(str(line + 1) for line in lines[:_MAX_SHOWN])
    more = " and more" if len(lines) > _MAX_SHOWN else ""
    advice = "Add a neighbouring line, so that SEARCH stands there once."
    return Refusal("span_ambiguous", f"SEARCH stands in the program at lines {shown}{more}. {advice}")


def _no_change(edit: Edit) -> Refusal | None:
    if edit.old != edit.new:
        return None
    return Refusal("no_change", "SEARCH and REPLACE are the same. Change something, or leave the edit out.")
