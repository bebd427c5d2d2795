"""Two programs side by side."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from loriner.report.page import part
from loriner.report.text import plain

CONTEXT = 3
"""Unchanged lines shown around each change."""


@dataclass(frozen=True, slots=True)
class Line:
    old_number: int
    """0 where the line stands on the other side only."""
    old: str
    new_number: int
    new: str
    changed: bool


def side_by_side(old: str, new: str) -> list[Line | None]:
    """The changed lines of both programs in pairs, with some around them; None stands for lines left out."""
    a, b = plain(old, 100_000).splitlines(), plain(new, 100_000).splitlines()
    groups = difflib.SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(CONTEXT)
    rows: list[Line | None] = []
    at = 0
    for group in groups:
        if group[0][1] > at:
            rows.append(None)
        for opcode in group:
            rows += _rows(a, b, *opcode)
        at = group[-1][2]
    if rows and at < len(a):
        rows.append(None)
    return rows


def diff(label: str, before: str, after: str, old: str, new: str) -> Markup:
    """The two programs as a table; `before` and `after` name them."""
    return part("diff.html", label=label, before=before, after=after, rows=side_by_side(old, new))


def _rows(a: list[str], b: list[str], tag: str, i1: int, i2: int, j1: int, j2: int) -> Iterator[Line]:
    for place in range(max(i2 - i1, j2 - j1)):
        i, j = i1 + place, j1 + place
        has_old, has_new = i < i2, j < j2
        yield Line(
            old_number=i + 1 if has_old else 0,
            old=a[i] if has_old else "",
            new_number=j + 1 if has_new else 0,
            new=b[j] if has_new else "",
            changed=tag != "equal",
        )
