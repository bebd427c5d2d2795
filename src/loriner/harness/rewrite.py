"""Two programs to the completion that turns one into the other.

For teachers that write whole programs, for the catalogue of known revisions, and for training data.
A line that ends in a carriage return of its own (CR CR LF) cannot be written in a completion.
"""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from loriner.harness.blocks import MAX_EDITS, format_revision
from loriner.harness.contract import program_tree
from loriner.harness.placing import lines_of, starts_of
from loriner.records import Edit


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Lines [i1, i2) of the old program that become lines [j1, j2) of the new one."""

    i1: int
    i2: int
    j1: int
    j2: int

    def grown(self, above: int, below: int) -> _Hunk:
        """With so many equal lines more on each side."""
        return _Hunk(self.i1 - above, self.i2 + below, self.j1 - above, self.j2 + below)

    def joined(self, later: _Hunk) -> _Hunk:
        """With a later hunk, which ends no earlier, and all that lies between."""
        return _Hunk(self.i1, later.i2, self.j1, later.j2)


def make_edits(old: str, new: str) -> str:
    """A completion of small blocks that turns `old` into `new`.

    A block searches for one line where one line will do: a small model that must give several back writes
    one of them from memory. Source: docs/earlier-runs.md.

    Line ends and the end of file stay as `old` has them: only the lines of `new` count.

    Raises:
        ValueError: the two are equal line by line, or `old` has no line with text to hold on to.
    """
    return _completion(old, new, _hunks(old, new))


def make_function_edits(old: str, new: str) -> str:
    """As `make_edits`, but each block holds the whole top-level statements that it changes.

    Large models write whole functions more reliably than short blocks, a 0.5B model less reliably (Source:
    docs/earlier-runs.md). `old` must compile.

    Raises:
        ValueError: as `make_edits`; `SyntaxError` if `old` does not compile.
    """
    spans = [_span(node) for node in program_tree(lines_of(old)).body]
    return _completion(old, new, [_widened(hunk, spans) for hunk in _hunks(old, new)])


def _completion(old: str, new: str, hunks: Sequence[_Hunk]) -> str:
    a, b = _lines(old), _lines(new)
    if not hunks:
        raise ValueError("the two programs have the same lines: there is nothing to edit")
    if not _has_text(a):
        raise ValueError("the old program has no line with text that a SEARCH could name")
    settled = _settled(_few(_merged(hunks, closer_than=0)), a)
    return format_revision(
        Edit("".join(a[hunk.i1 : hunk.i2]), "".join(b[hunk.j1 : hunk.j2])) for hunk in settled
    )


def _lines(source: str) -> list[str]:
    return [f"{line}\n" for line in lines_of(source).split("\n")[:-1]]


def _hunks(old: str, new: str) -> list[_Hunk]:
    a, b = _lines(old), _lines(new)
    codes = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    hunks = [_Hunk(*places) for tag, *places in codes if tag != "equal"]
    return _merged(_raised(hunks, a, b), closer_than=1)


def _raised(hunks: Sequence[_Hunk], a: Sequence[str], b: Sequence[str]) -> list[_Hunk]:
    """The hunks with each insertion as far up as it reads the same.

    An insertion then follows the line that it is anchored to, and whoever writes the edit gives the anchor
    back first. Small models forget an anchor that comes last. Source: docs/earlier-runs.md.
    """
    raised: list[_Hunk] = []
    for hunk in hunks:
        floor = raised[-1].i2 if raised else 0
        while hunk.i1 == hunk.i2 > floor and a[hunk.i1 - 1] == b[hunk.j2 - 1]:
            hunk = _Hunk(hunk.i1 - 1, hunk.i2 - 1, hunk.j1 - 1, hunk.j2 - 1)
        raised.append(hunk)
    return raised


def _merged(hunks: Sequence[_Hunk], closer_than: int) -> list[_Hunk]:
    """Neighbours with fewer equal lines between them as one; 0 joins only those that overlap."""
    merged: list[_Hunk] = []
    for hunk in hunks:
        if merged and hunk.i1 - merged[-1].i2 < closer_than:
            merged[-1] = merged[-1].joined(hunk)
        else:
            merged.append(hunk)
    return merged


def _few(hunks: list[_Hunk]) -> list[_Hunk]:
    """The nearest neighbours joined until no more than `MAX_EDITS` are left."""
    hunks = list(hunks)
    while len(hunks) > MAX_EDITS:
        gaps = [later.i1 - hunk.i2 for hunk, later in pairwise(hunks)]
        _join(hunks, gaps.index(min(gaps)))
    return hunks


def _settled(hunks: list[_Hunk], a: Sequence[str]) -> list[_Hunk]:
    """Each hunk grown until it has text and stands in the program once: by the line above while it has no
    text, then by the rarer neighbour.
    """
    program, counts = "".join(a), Counter(a)
    at = 0
    while at < len(hunks):
        hunk = hunks[at]
        if _stands_once(program, a[hunk.i1 : hunk.i2]):
            at += 1
            continue
        above = counts[a[hunk.i1 - 1]] if hunk.i1 > 0 else len(a) + 1
        below = counts[a[hunk.i2]] if hunk.i2 < len(a) else len(a) + 1
        if hunk.i1 > 0 and not _has_text(a[hunk.i1 : hunk.i2]):
            above = 0
        if above <= below and at > 0 and hunks[at - 1].i2 == hunk.i1:
            at -= 1
            _join(hunks, at)
        elif above > below and at + 1 < len(hunks) and hunks[at + 1].i1 == hunk.i2:
            _join(hunks, at)
        else:
            hunks[at] = hunk.grown(1, 0) if above <= below else hunk.grown(0, 1)
    return hunks


def _stands_once(program: str, lines: Sequence[str]) -> bool:
    return _has_text(lines) and len(starts_of(program, "".join(lines), most=2)) == 1


def _has_text(lines: Sequence[str]) -> bool:
    return any(line.strip() for line in lines)


def _join(hunks: list[_Hunk], at: int) -> None:
    hunks[at : at + 2] = [hunks[at].joined(hunks[at + 1])]


def _span(node: ast.stmt) -> tuple[int, int]:
    """The lines [first, end) of a statement, decorators included, counted from 0."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)]) - 1, node.end_lineno or node.lineno


def _widened(hunk: _Hunk, spans: Sequence[tuple[int, int]]) -> _Hunk:
    """Out to the edges of the statements into which the hunk cuts."""
    above = max([hunk.i1 - first for first, end in spans if first < hunk.i1 < end], default=0)
    below = max([end - hunk.i2 for first, end in spans if first < hunk.i2 < end], default=0)
    return hunk.grown(above, below)
