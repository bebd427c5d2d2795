"""Edit blocks, the wire format of a revision: text to edits and back.

    <<<<<<< SEARCH
    whole lines of the program
    =======
    the new lines
    >>>>>>> REPLACE

Marker lines stand at column 0 and may have blanks behind them; a content line that equals one is written
with one more backslash before it. Only LF and CRLF end a line. All text outside a block is noise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from loriner.errors import EditError
from loriner.records import Edit, Revision

SEARCH, DIVIDER, REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
MAX_EDITS = 16
MAX_NOTE_CHARS = 1_000

_NEXT = {SEARCH: DIVIDER, DIVIDER: REPLACE, REPLACE: SEARCH}
_MISSING = {
    SEARCH: f"Start each block with {SEARCH!r} on a line of its own.",
    DIVIDER: f"Write {DIVIDER!r} on a line of its own between the lines of the program and the new lines.",
    REPLACE: f"Close each block with {REPLACE!r} on a line of its own.",
}
"""What to do where a marker is missing."""
_STARTS = ("<<<<<<<", "=======", ">>>>>>>", "\\")
_MARKED = rf"(?:{SEARCH}|{DIVIDER}|{REPLACE})[ \t]*$"
_ESCAPED = re.compile(rf"\\+{_MARKED}")
_TO_ESCAPE = re.compile(rf"^(?=\\*{_MARKED})", re.MULTILINE)
_MARKER_LINE = re.compile(rf"^(?:{SEARCH}|{REPLACE})[ \t]*\r?$", re.MULTILINE)
_SEARCH_LINE = re.compile(rf"^{SEARCH}[ \t]*\r?$", re.MULTILINE)
_REASONING_END = re.compile(r"</think>[ \t]*\r?(?:\n|\Z)")


def without_reasoning(completion: str, *, in_reasoning: bool = False) -> str:
    """The completion after its reasoning, which ends with the first line that ends in `</think>`.

    Reasoning is there when the text starts with `<think>`, when the prompt has opened it
    (`in_reasoning`), or when it is closed before the first block. Think tags inside a block are code.

    Raises:
        EditError: `truncated_reasoning`.
    """
    opened = in_reasoning or completion.lstrip().startswith("<think>")
    end = _REASONING_END.search(completion)
    if end is None:
        if opened:
            raise EditError(
                "truncated_reasoning",
                "truncated_reasoning: the reasoning was not closed by </think> before the reply ended. "
                "Think less, then give the edit blocks.",
            )
        return completion
    if not opened:
        block = _SEARCH_LINE.search(completion)
        if block is not None and block.start() < end.start():
            return completion
    return completion[end.end() :]


def has_marker(text: str) -> bool:
    """Whether some line opens or closes a block."""
    return _MARKER_LINE.search(text) is not None


def parse_blocks(text: str) -> Revision:
    """The edits of all blocks, in order, with the prose around them as the note.

    Raises:
        EditError: `no_edit_block`, `truncated_block`, `marker_sequence`, `empty_search`, `too_many_edits`.
    """
    edits: list[Edit] = []
    noise: list[str] = []
    old: list[str] = []
    content, expected = noise, SEARCH
    for line in (text.replace("\r\n", "\n") if "\r" in text else text).split("\n"):
        marker = ""
        if line.startswith(_STARTS):
            bare = line.rstrip(" \t")
            if bare in _NEXT:
                marker = bare
            elif _ESCAPED.match(line):
                line = line[1:]
        if not marker or (marker == DIVIDER and expected == SEARCH):
            content.append(line)
            continue
        if marker != expected:
            raise _unexpected(marker, expected, len(edits) + 1, content)
        if marker == SEARCH:
            _require_room(len(edits))
            content = old = []
        elif marker == DIVIDER:
            require_text(old, len(edits) + 1)
            content = []
        else:
            edits.append(Edit(_text(old), _text(content)))
            content = noise
        expected = _NEXT[marker]
    if expected != SEARCH:
        raise _truncated(expected, len(edits) + 1, content)
    if not edits:
        raise no_edit_block(_almost(noise, SEARCH))
    return Revision(edits=tuple(edits), note=_note(noise))


def format_revision(edits: Iterable[Edit]) -> str:
    """The completion that `parse_blocks` reads as these edits. Each line of theirs ends with LF."""
    return "".join(
        f"{SEARCH}\n{_escaped(edit.old)}{DIVIDER}\n{_escaped(edit.new)}{REPLACE}\n" for edit in edits
    )


def require_text(lines: Iterable[str], number: int) -> None:
    """Refuses a SEARCH without text: it would be found anywhere.

    Raises:
        EditError: `empty_search`.
    """
    if not any(line.strip() for line in lines):
        raise EditError(
            "empty_search",
            f"Edit {number} was not read: empty_search. SEARCH must hold at least one line with text. "
            "To insert, repeat a neighbouring line in SEARCH and in REPLACE.",
        )


def no_edit_block(almost: str = "") -> EditError:
    """The error for a reply that holds no edit at all; `almost` says which line is no marker, and why."""
    return EditError(
        "no_edit_block",
        f"no_edit_block: the reply has no line {SEARCH!r}. {almost + ' ' if almost else ''}Give the "
        f"change as edit blocks: {SEARCH!r}, whole lines of the program, {DIVIDER!r}, the new lines, "
        f"{REPLACE!r}.",
    )


def too_many_edits() -> EditError:
    """The error for more than `MAX_EDITS` edits."""
    return EditError(
        "too_many_edits",
        f"too_many_edits: at most {MAX_EDITS} edits are read. Replace larger pieces, or change less at once.",
    )


def _require_room(n_edits: int) -> None:
    if n_edits >= MAX_EDITS:
        raise too_many_edits()


def _truncated(expected: str, number: int, content: Iterable[str]) -> EditError:
    almost = _almost(content, expected)
    return EditError(
        "truncated_block",
        f"Edit {number} was not read: truncated_block. The reply ended before {expected!r}, "
        f"so nothing was changed. {almost or 'Give shorter edits, and close each block.'}",
    )


def _almost(content: Iterable[str], marker: str) -> str:
    """What keeps a line from being the marker that stands on it; empty where none has one."""
    sign = re.compile(rf"^[ \t]*{marker[0]}{{5,}}|{marker[0]}{{5,}}[ \t]*$")
    line = next((line for line in content if sign.search(line)), "")
    return f"The line {line[:60]!r} is no marker: {marker!r} stands alone on its line." if line else ""


def _unexpected(marker: str, expected: str, number: int, content: Iterable[str]) -> EditError:
    advice = _almost(content, expected) or _MISSING[expected]
    if (marker, expected) == (
        DIVIDER,
        REPLACE,
    ):  # else its own marker is missing: an escape would hide the rest
        advice = _almost(content, expected) or f"If the line belongs to the code, write it as \\{marker}."
    return EditError(
        "marker_sequence",
        f"Edit {number} was not read: marker_sequence. Found {marker!r} where {expected!r} was expected. "
        f"{advice}",
    )


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n" if lines else ""


def _escaped(text: str) -> str:
    return _TO_ESCAPE.sub(r"\\", text) if any(start in text for start in _STARTS[:3]) else text


def _note(noise: list[str]) -> str:
    lines = (line.strip() for line in noise)
    prose = " ".join(line for line in lines if line and not line.startswith("```"))
    return prose if len(prose) <= MAX_NOTE_CHARS else prose[: MAX_NOTE_CHARS - 1] + "…"
