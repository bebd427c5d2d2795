"""What a SEARCH that is not in the program was probably meant to be: a kind, the lines, an advice.

Near misses are told, never applied. Each kind is a view under which the lines would have matched.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from loriner.harness.messages import Refusal
from loriner.records import Edit

_MAX_LINES = 400
"""Program lines compared by likeness."""
_MAX_PROBES = 12
"""SEARCH lines compared by likeness."""
_MAX_SHOWN = 3
_SHOWN_CHARS = 150
"""Characters of program text in one message, over all shown lines."""

_NUMBERED = re.compile(r"^[ \t]*\d+[ \t]*[|:\t] ?")
_WORDS = re.compile(r"\w+|[^\w\s]")
_PLAIN = str.maketrans(
    {"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "′": "'", "″": '"'}
    | dict.fromkeys("‐‑‒–—―−", "-")
)

View = Callable[[str], str | None]
"""A line as compared; None leaves it out."""


class _Near(NamedTuple):
    kind: str
    first: int
    """The line to show first, from 0."""
    n_lines: int
    advice: str


def not_found(program: str, edit: Edit) -> Refusal:
    """The refusal `span_not_found` with its hint kind and the nearest lines of the program."""
    lines, search = program.split("\n")[:-1], edit.old.split("\n")[:-1]
    near = _near(lines, search, edit.new.split("\n")[:-1])
    if near is None:
        return Refusal(
            "span_not_found", "The program has no line like it. Copy whole lines exactly.", "nearest"
        )
    shown = lines[near.first : near.first + min(near.n_lines, _MAX_SHOWN)]
    width = _SHOWN_CHARS // max(len(shown), 1)
    rows = (f"{near.first + i:4} | {_fit(line, width)}" for i, line in enumerate(shown, 1))
    head = (
        "The nearest lines of the program are:" if len(shown) > 1 else "The nearest line of the program is:"
    )
    return Refusal("span_not_found", "\n".join([head, *rows, near.advice]), near.kind)


def _near(lines: Sequence[str], search: Sequence[str], new: Sequence[str]) -> _Near | None:
    return (
        _already_applied(lines, new)
        or _under_a_view(lines, search)
        or _partial_line(lines, search)
        or _most_alike(lines, search)
    )


def _already_applied(lines: Sequence[str], new: Sequence[str]) -> _Near | None:
    first = _find(lines, new, _bare) if any(line.strip() for line in new) else None
    if first is None:
        return None
    return _Near(
        "already_applied", first, len(new), "The new lines are already in the program: leave the edit out."
    )


def _under_a_view(lines: Sequence[str], search: Sequence[str]) -> _Near | None:
    for kind, meant, view, advice in (
        ("indent", search, _stripped, "Copy whole lines exactly, with their indentation."),
        ("unicode", search, _folded, "Copy quotes, dashes and blanks as the program has them."),
        ("blank_lines", search, _no_blank, "Copy the blank lines too: as many as the program has."),
        ("line_numbers", _unnumbered(search), _bare, "Leave line numbers out of SEARCH."),
        (
            "escaped_newlines",
            _unescaped(search),
            _bare,
            "End a line with a real line end, not with \\n in letters.",
        ),
    ):
        first = _find(lines, meant, view)
        if first is not None:
            return _Near(kind, first + _agreeing(lines[first:], search), len(meant), advice)
    return None


def _partial_line(lines: Sequence[str], search: Sequence[str]) -> _Near | None:
    piece = "\n".join(search).strip()
    at = "\n".join(lines).find(piece)
    if at < 0:
        return None
    first = "\n".join(lines).count("\n", 0, at)
    return _Near("partial_line", first, len(search), "SEARCH holds a piece of a line. Copy whole lines.")


def _most_alike(lines: Sequence[str], search: Sequence[str]) -> _Near | None:
    """The window with the most words in common with SEARCH, from its first line that differs."""
    probes = [set(_WORDS.findall(line[:200])) for line in search[:_MAX_PROBES]]
    words = [set(_WORDS.findall(line[:200])) for line in lines[:_MAX_LINES]]
    best, start = 0.0, 0
    for first in range(len(words)):
        score = sum(map(_likeness, probes, words[first : first + len(probes)]))
        if score > best:
            best, start = score, first
    if best == 0.0:
        return None
    first = min(start + _agreeing(lines[start:], search), len(lines) - 1)
    return _Near("nearest", first, len(search), "Copy whole lines exactly, as they stand in the program.")


def _likeness(one: set[str], other: set[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


def _agreeing(lines: Iterable[str], search: Iterable[str]) -> int:
    """How many lines agree before the first that differs."""
    n = 0
    for line, wanted in zip(lines, search, strict=False):
        if _bare(line) != _bare(wanted):
            break
        n += 1
    return n


def _find(lines: Sequence[str], search: Sequence[str], view: View) -> int | None:
    """The first line at which `search` starts when both are seen under the view."""
    seen = [(number, text) for number, line in enumerate(lines) if (text := view(line)) is not None]
    wanted = [text for line in search if (text := view(line)) is not None]
    if not wanted or not any(wanted):
        return None
    text = "\n" + "".join(f"{each}\n" for _, each in seen)
    at = text.find("\n" + "".join(f"{each}\n" for each in wanted))
    return None if at < 0 else seen[text.count("\n", 0, at)][0]


def _bare(line: str) -> str:
    return line.rstrip(" \t")


def _stripped(line: str) -> str:
    return line.strip(" \t")


def _no_blank(line: str) -> str | None:
    return _bare(line) or None


def _folded(line: str) -> str:
    return unicodedata.normalize("NFKC", line.translate(_PLAIN)).rstrip()


def _unnumbered(search: Sequence[str]) -> list[str]:
    numbered = [line for line in search if line.strip()]
    if not all(_NUMBERED.match(line) for line in numbered):
        return []
    return [_NUMBERED.sub("", line) for line in search]


def _unescaped(search: Sequence[str]) -> list[str]:
    text = "\n".join(search)
    return text.replace("\\n", "\n").split("\n") if "\\n" in text else []


def _fit(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"
