"""What kind of revision it is, and whether two are the same but for details. Programs are read, never run."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

PATTERNS = (
    "interpreter_loop",
    "retrieval_hop",
    "voting",
    "verification",
    "retry",
    "extraction",
    "decomposition",
    "prompt",
    "other",
)
"""Every label that `pattern` gives, the first that fits."""

_EXTRACTORS = re.compile(
    r"r?split|[lr]?strip|r?partition|splitlines|remove(pre|suf)fix|r?find|findall|finditer|search|match|"
    r"fullmatch|sub|group|loads|replace"
)
_CHECKING = re.compile(r"(?i)\b(check|verif\w*|correct|mistake|wrong|review)\b")
_SHINGLE = 5


def pattern(before: str, after: str) -> str:
    """The label in `PATTERNS` of what a revision adds. Both programs must compile."""
    old, new = _features(before), _features(after)
    gained = new - old
    if gained["run_python"]:
        return "interpreter_loop"
    if gained["search_tool"]:
        return "retrieval_hop"
    if gained["vote"]:
        return "voting"
    if gained["model"] and _CHECKING.search(" ".join(_texts(after) - _texts(before))):
        return "verification"
    if gained["loop"] or gained["except"]:
        return "retry"
    if gained["extract"]:
        return "extraction"
    if gained["model"]:
        return "decomposition"
    return "prompt" if _skeleton(before) == _skeleton(after) or gained["text"] else "other"


def likeness(one: str, other: str) -> float:
    """Share of five-token runs that two texts have in common (Jaccard), in [0, 1]; 1 for equal texts."""
    a, b = shingles(one), shingles(other)
    return len(a & b) / len(a | b) if a | b else 1.0


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Its runs of five tokens; a shorter text is one run."""
    tokens = re.findall(r"\w+|[^\w\s]", text)
    last = max(1, len(tokens) - _SHINGLE + 1)
    return frozenset(tuple(tokens[at : at + _SHINGLE]) for at in range(last)) if tokens else frozenset()


def _features(source: str) -> Counter[str]:
    return Counter(name for node in ast.walk(ast.parse(source)) for name in _named(node))


def _named(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name(id="run_python")):
            yield "run_python"
        case ast.Call(func=ast.Name(id="search")):
            yield "search_tool"
        case ast.Call(func=ast.Name(id="model")):
            yield "model"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="model"))):
            yield "model"
        case ast.Attribute(attr="most_common" | "count") | ast.Name(id="Counter" | "mode"):
            yield "vote"
        case ast.Call(func=ast.Attribute(attr=name)) if _EXTRACTORS.fullmatch(name):
            yield "extract"
        case ast.Call(func=ast.Name(id="tidy" | "extract" | "clean")):
            yield "extract"
        case ast.For() | ast.While():
            yield "loop"
        case ast.ExceptHandler():
            yield "except"
        case ast.Constant(value=str()):
            yield "text"


def _texts(source: str) -> set[str]:
    nodes = ast.walk(ast.parse(source))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _skeleton(source: str) -> str:
    """The program with every constant blanked."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = 0
    return ast.dump(tree)
