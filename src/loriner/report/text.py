"""Foreign text made fit for a page: no terminal codes, no invisible characters, no endless lines."""

from __future__ import annotations

import re

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_KEPT = frozenset("\n\t")
_TURNING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
"""Characters that change the direction of what follows, or show as nothing."""


def plain(text: str, limit: int = 4_000) -> str:
    """The text without terminal codes, with its control characters made visible, cut in the middle."""
    if len(text) > limit:
        head, tail = limit * 2 // 3, limit - limit * 2 // 3
        text = f"{text[:head]}\n[… {len(text) - limit:,} characters left out …]\n{text[-tail:]}"
    return "".join(_shown(character) for character in _ANSI.sub("", text))


def line(text: str, limit: int = 120) -> str:
    """The first line that says something, cut at its end."""
    found = next((each.strip() for each in text.splitlines() if each.strip()), "")
    found = plain(found, 10 * limit).replace("\n", " ")
    return found if len(found) <= limit else found[: limit - 1] + "…"


def _shown(character: str) -> str:
    code = ord(character)
    if character in _KEPT or (code >= 0x20 and not 0x7F <= code <= 0x9F and not 0xD800 <= code <= 0xDFFF):
        return "\N{REPLACEMENT CHARACTER}" if character in _TURNING else character
    return chr(0x2400 + code) if code < 0x20 else "\N{REPLACEMENT CHARACTER}"
