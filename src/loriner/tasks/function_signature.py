"""How a function of a file is called, read from its source: the file is never run for it."""

from __future__ import annotations

import ast
from pathlib import Path


def how_called(file: Path, function: str) -> str:
    """Signature and first docstring line, `lookup(code: str) -> dict: The order of this code.`; the signature
    is `lookup(...)` where the file only imports the function, or cannot be read as Python.
    """
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return f"{function}(...)"
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    found = [node for node in tree.body if isinstance(node, kinds) and node.name == function]
    return _call(found[-1]) if found else f"{function}(...)"


def _call(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    first = (ast.get_docstring(node) or "").partition("\n")[0]
    return f"{node.name}({ast.unparse(node.args)}){returned}" + (f": {first}" if first else "")
