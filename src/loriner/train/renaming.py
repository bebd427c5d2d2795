"""The same program under other names, so that a small policy learns to read programs and not to recite one.

Only names that the program binds itself are exchanged, and only where that cannot change what it does:
nothing that is imported, an attribute, a keyword argument, part of an f-string or of a class.
"""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import tokenize
from collections.abc import Collection
from random import Random

_FIXED = frozenset({"solve", "model", "question", "self", *dir(builtins), *keyword.kwlist})
_FUNCTIONS = """
    ask attempt build_answer by_code by_rule clean_up compute derive digest draft evaluate_reply extract final
    find_result from_reply get_answer handle infer inner_solve last_part make_answer normalise obtain
    parse_reply pick polish produce read_reply reduce_reply refine render_prompt resolve respond result_of
    run_it settle shorten simplify step trim_reply try_once use_code work_out
"""
_VALUES = """
    body buf chunk content current data draft_text entry found given got guess head info item kept last line
    message note obj out output part picked piece portion prompt_text query raw rest reply_text res response
    result row said seen segment shown snippet source_text stage stuff tail target_text temp text token tried
    val value what whole words written
"""


def renamed(source: str, draw: Random, *, keep: Collection[str] = (), share: float = 0.7) -> str:
    """The program with about `share` of its own names exchanged, except those in `keep`. It must compile."""
    tree = ast.parse(source)
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | _FIXED | set(keep)
    taken |= own_names(source)
    functions, exchange = _functions(tree), dict[str, str]()
    for name in sorted(_free(tree) - set(keep)):
        known = _FUNCTIONS if name in functions else _VALUES
        pool = [each for each in known.split() if each not in taken]
        if pool and draw.random() < share:
            exchange[name] = draw.choice(pool)
            taken.add(exchange[name])
    return _exchanged(source, exchange)


def own_names(source: str) -> set[str]:
    """Every name that the program binds: functions, classes, arguments, variables, imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.alias(name=name, asname=asname):
                names.add(asname or name.split(".")[0])
    return names


def _functions(tree: ast.Module) -> set[str]:
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def _free(tree: ast.Module) -> set[str]:
    """The names that may be exchanged."""
    bound: set[str] = set()
    barred: set[str] = set(_FIXED)
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case ast.alias(name=name, asname=asname):
                barred |= {name.split(".")[0], asname or ""}
            case ast.keyword(arg=str(name)) | ast.Attribute(attr=name):
                barred.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                barred |= set(names)
            case ast.ClassDef() | ast.JoinedStr():
                barred |= _all_names(node)
    return bound - barred


def _all_names(node: ast.AST) -> set[str]:
    found: set[str] = set()
    for each in ast.walk(node):
        match each:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name) | ast.Name(id=name):
                found.add(name)
    return found


def _exchanged(source: str, exchange: dict[str, str]) -> str:
    lines = source.splitlines(keepends=True)
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.NAME and token.string in exchange
    ]
    for token in reversed(tokens):
        row, column = token.start
        line = lines[row - 1]
        lines[row - 1] = line[:column] + exchange[token.string] + line[token.end[1] :]
    return "".join(lines)
