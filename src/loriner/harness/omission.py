"""Lines that stand for code instead of being it: `# ... rest of the function unchanged ...`.

Such a comment compiles, so nothing else would notice that an edit deletes the code it stands for.
"""

from __future__ import annotations

import ast
import re

_MAX_CHARS = 160
"""Longer lines are never placeholders; the bound keeps the patterns cheap."""

_CODE = (
    r"(?:code|functions?|methods?|file|class|program|implementation|body|script|logic|imports?|lines?|solve)"
)
_REST = rf"(?:the )?(?:rest|remainder) of (?:the |this |your )?(?:\w+ )?{_CODE}"
_KEPT = rf"(?:the )?(?:existing|previous|original|unchanged|remaining|other|same) {_CODE}"
_STATE = r"(?:(?:is|are|remains?|stays?|goes|the|same|as|unchanged|here|above|below|before)\b ?)+"

_MARK = re.compile(r"(?:#+|//+|(?=[(\[]?(?:\.\.\.|…|rest of )))\s*(.*)")
_DOTS = re.compile(r"(?:\.{3,}|…)")
_NAMED = re.compile(rf"{_REST}|{_KEPT}|\b(?:unchanged|omitted|as before)\b", re.IGNORECASE)
_PHRASE = re.compile(
    rf"{_REST}(?: {_STATE})?|(?:the )?(?:existing|unchanged) {_CODE}(?: {_STATE})?"
    rf"|(?:(?:everything|all) else |(?:the )?rest |{_CODE} )?"
    r"(?:(?:is|are|remains?|stays?) )?(?:unchanged|(?:the )?same as (?:before|above)|as before)",
    re.IGNORECASE,
)


def stands_for_code(line: str) -> bool:
    """Whether the line is a comment (or bare words) in place of code.

    It is when it is only dots, begins and ends with dots, begins or ends with dots and names the code left
    out, or is nothing but a phrase such as "rest of the function unchanged".
    """
    found = _MARK.fullmatch(line.strip()) if len(line) <= _MAX_CHARS else None
    if found is None:
        return False
    text = found[1].strip("()[]<>*/#- \t")
    words = _DOTS.sub("", text).strip(" .,:;!")
    begins, ends = _DOTS.match(text) is not None, text.endswith(("...", "…"))
    if begins and ends:
        return line.strip() != "..."
    return ((begins or ends) and _NAMED.search(words) is not None) or _PHRASE.fullmatch(words) is not None


def bare_ellipsis(source: str, tree: ast.Module) -> bool:
    """Whether a statement `...` has a line of its own (in a string, three dots are only text)."""
    lines = source.split("\n")
    return any(
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and node.value.value is ...
        and lines[node.lineno - 1].strip() == "..."
        for node in ast.walk(tree)
    )
