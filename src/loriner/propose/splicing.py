"""Puts code into a program where its own layout wants it: before `solve`, at the start of its body, over it.

The code to put in is written with four spaces a level and gets the indentation of the body it goes into.
What stands in the program keeps its bytes. Every function raises `SyntaxError` where the program does not
compile; whether the result compiles is for the caller to find out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from loriner.harness.contract import parsed_tree


def before_solve(source: str, code: str, first: str) -> str:
    """The program with `code` put before `solve` and the lines `first` put at the start of its body."""
    at = _line_start(source, _first_line(_solve(source)))
    return f"{source[:at]}{code}\n\n{at_body(source, first)[at:]}"


def at_body(source: str, first: str) -> str:
    """The program with the lines `first` put at the start of the body of `solve`, after its docstring."""
    source = _with_body_below(source)
    solve = _solve(source)
    body = solve.body[1:] if ast.get_docstring(solve) is not None and len(solve.body) > 1 else solve.body
    indent = _line_before(source, _start(source, solve.body[0])).rpartition("\f")[2]  # it counts anew there
    lines, at = _indented(first, indent), _start(source, body[0])
    line = _line_before(source, at)
    if not line.strip():
        return source[: at - len(line)] + lines + source[at - len(line) :]
    return f"{source[:at].rstrip()}\n{lines}{indent}{source[at:]}"  # it follows `"""docstring""";`


def after_rewording(source: str, first: str) -> str:
    """As `at_body`, but behind the lines `question = …` that the body starts with."""
    solve = _solve(source)
    body = solve.body[1:] if ast.get_docstring(solve) is not None else solve.body
    n = next((i for i, node in enumerate(body) if not _rewords(node)), 0)
    if n == 0 or body[n].lineno == body[n - 1].end_lineno:
        return at_body(source, first)
    indent = _line_before(source, _start(source, body[n - 1])).rpartition("\f")[2]
    if indent.strip():  # it follows something on its line
        return at_body(source, first)
    at = _line_start(source, (body[n - 1].end_lineno or 0) + 1)
    return f"{source[:at]}{_indented(first, indent)}{source[at:]}"


def wrapped(source: str, inner: str, code: str) -> str | None:
    """The program whose `solve` is renamed to `inner`, followed by `code`, which defines the new `solve`."""
    if inner in functions(source):
        return None
    at = _line_start(source, _solve(source).lineno)
    head = re.compile(r"def[ \t]+solve\b").match(source, at)
    return head and f"{source[:at]}def {inner}{source[head.end() :]}\n\n{code}"


def with_import(source: str, line: str) -> str:
    """The program with an import after its docstring and its other imports."""
    body = parsed_tree(source).body
    heads = [n for n in body if isinstance(n, (ast.Import, ast.ImportFrom)) or _is_text(n)]
    at = heads[-1].end_lineno or 0 if heads and heads[0] is body[0] else 0
    for node in body:
        if node.lineno <= at < (node.end_lineno or 0):  # it shares the last line of the import
            at = node.end_lineno or 0
    lines = _lines(source)
    gap = "" if at and not _is_text(heads[-1]) else "\n"
    after = "" if at else "\n\n"
    return "".join(lines[:at]) + gap * bool(at) + line + "\n" + after + "".join(lines[at:])


def answered_first(source: str, name: str, parts: Sequence[str]) -> str | None:
    """The program that asks the function `name` first and goes on as before where that returns nothing.

    None where it asks it already. The function is one of `parts`.
    """
    if name in functions(source):
        return None
    first = f"    known = {name}(model, question)\n    if known:\n        return known\n"
    return at_body(with_parts(source, parts), first)


def with_parts(source: str, parts: Sequence[str]) -> str:
    """The program with definitions and imports that it may have already: definitions before `solve`.

    Raises:
        ValueError: it gives one of their names to something else.
    """
    for part in parts:
        if part.startswith(("import ", "from ")):
            source = source if part.split()[-1] in imported(source) else with_import(source, part)
        elif part.strip() not in source:
            taken = _defined(source) & _defined(part)
            if taken:
                raise ValueError(f"the program defines {', '.join(taken)} in another way")
            at = _line_start(source, _first_line(_solve(source)))
            source = f"{source[:at]}{part.strip()}\n\n\n{source[at:]}"
    return source


def _defined(source: str) -> set[str]:
    """The names that the program's own top-level statements define."""
    body = parsed_tree(source).body
    assigned = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    named = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return named | {node.id for node in assigned if isinstance(node, ast.Name)}


def with_tool(source: str, tool: str) -> str:
    """The program with the import of a tool, which it may have already."""
    return source if tool in imported(source) else with_import(source, f"from tools import {tool}")


def functions(source: str) -> set[str]:
    """The names of all functions of the program."""
    return {node.name for node in ast.walk(parsed_tree(source)) if isinstance(node, ast.FunctionDef)}


def imported(source: str) -> set[str]:
    """The names that imports outside of functions and classes give."""
    body = [n for n in parsed_tree(source).body if not isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    found = [each for node in body for each in ast.walk(node)]
    imports = [each for each in found if isinstance(each, (ast.Import, ast.ImportFrom))]
    return {alias.asname or alias.name for each in imports for alias in each.names}


def _solve(source: str) -> ast.FunctionDef:
    return next(n for n in parsed_tree(source).body if isinstance(n, ast.FunctionDef) and n.name == "solve")


def _with_body_below(source: str) -> str:
    """The program; a body that stands on the line of `def solve` goes to a line of its own."""
    at = _start(source, _solve(source).body[0])
    return f"{source[:at].rstrip()}\n    {source[at:]}" if _line_before(source, at).strip() else source


def _indented(lines: str, indent: str) -> str:
    """Lines of four spaces a level with `indent` a level."""
    return re.sub(r"(?m)^(?: {4})+", lambda found: indent * (len(found[0]) // 4), lines)


def _start(source: str, node: ast.stmt) -> int:
    """The offset of a statement, or of the sign before its first decorator."""
    line = _first_line(node)
    start, text = _line_start(source, line), _lines(source)[line - 1]
    if line < node.lineno:
        return start + text.index("@")
    return start + len(text.encode()[: node.col_offset].decode())  # Python counts bytes


def _line_before(source: str, at: int) -> str:
    """What stands on the line before an offset."""
    return _lines(source[:at] + "|")[-1].removesuffix("|")


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _line_start(source: str, line: int) -> int:
    """The offset of a line, counted from 1."""
    return sum(len(each) for each in _lines(source)[: line - 1])


def _lines(source: str) -> list[str]:
    """The lines as Python counts them: a form feed or a U+2028 ends none."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", source)


def _rewords(node: ast.stmt) -> bool:
    """Whether it is `question = …`."""
    return isinstance(node, ast.Assign) and [ast.unparse(each) for each in node.targets] == ["question"]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
