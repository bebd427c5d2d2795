"""Digests by which a task is known again."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path


def of_text(*texts: str) -> str:
    """Of texts in their order."""
    return hashlib.sha256("\0".join(texts).encode(errors="replace")).hexdigest()


def of_program(file: Path) -> str:
    """Of what a file does: its code, and that of the modules beside it that it imports, comments aside."""
    codes: dict[Path, str] = {}
    waiting = [file]
    while waiting:
        each = waiting.pop()
        if each in codes or not each.is_file():
            continue
        text = each.read_text(encoding="utf-8", errors="replace")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            codes[each] = text
            continue
        codes[each] = ast.unparse(tree)
        for name in sorted(_imported(tree)):
            waiting += [each.parent / f"{name}.py", *sorted((each.parent / name).glob("*.py"))]
    return of_text(*(part for path in sorted(codes) for part in (path.name, codes[path])))


def _imported(tree: ast.Module) -> set[str]:
    """The first names of all modules that a program imports."""
    nodes = list(ast.walk(tree))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names if name}
