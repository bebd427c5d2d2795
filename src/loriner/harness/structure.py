"""What a revision does to the shape of a harness: does it go deeper, or broader?

*Deeper* is more work in one pipeline: calls of model and tools, loops around them, nesting. *Broader* is
more components: functions, classes, imports. Read from the tree alone; a call that is reached through
another name (`ask = model`) is not seen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from loriner.harness.contract import program_tree

_LOOPS = (ast.For, ast.While, ast.AsyncFor)
_LEVELS = (*_LOOPS, ast.If, ast.Try, ast.With, ast.Match)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Counts over one program."""

    n_model_calls: int
    """Places that call `model` or a method of it."""
    n_tool_calls: int
    """Places that call a name imported from `tools`."""
    n_loops: int
    """Loops, and comprehensions that call the model or a tool."""
    nesting: int
    """Most control statements around a statement."""
    n_functions: int
    n_classes: int
    n_imports: int
    """Names imported."""


Label = Literal["deeper", "broader", "both", "neither"]


@dataclass(frozen=True, slots=True)
class Growth:
    """How the counts changed, new less old, with a plain word for it."""

    label: Label
    deltas: dict[str, int]


def measure(source: str) -> Structure:
    """The counts of a program.

    Raises:
        SyntaxError: it does not compile.
    """
    tree = program_tree(source)
    nodes = list(ast.walk(tree))
    tools = {alias.asname or alias.name for alias in tool_imports(nodes)}
    called = [name for node in nodes if (name := _called(node))]
    return Structure(
        n_model_calls=called.count("model"),
        n_tool_calls=sum(name in tools for name in called),
        n_loops=sum(isinstance(node, _LOOPS) or _loops_over_calls(node, tools) for node in nodes),
        nesting=_nesting(tree),
        n_functions=sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes),
        n_classes=sum(isinstance(node, ast.ClassDef) for node in nodes),
        n_imports=sum(len(node.names) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)),
    )


def compare(old: str, new: str) -> Growth:
    """How the shape grew from one program to the other. Raises `SyntaxError` as `measure` does."""
    before, after = measure(old), measure(new)
    deltas = {name: getattr(after, name) - getattr(before, name) for name in Structure.__slots__}
    deeper = any(deltas[name] > 0 for name in ("n_model_calls", "n_tool_calls", "n_loops", "nesting"))
    broader = any(deltas[name] > 0 for name in ("n_functions", "n_classes", "n_imports"))
    return Growth(_label(deeper, broader), deltas)


def _label(deeper: bool, broader: bool) -> Label:
    if deeper and broader:
        return "both"
    return "deeper" if deeper else "broader" if broader else "neither"


def tool_imports(nodes: Iterable[ast.AST]) -> Iterator[ast.alias]:
    """What of a program's nodes import from the module `tools`."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "tools":
            yield from node.names


def _called(node: ast.AST) -> str:
    """The name that a call starts from: `model` for `model(...)` and `model.chat(...)`."""
    if not isinstance(node, ast.Call):
        return ""
    target = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    return target.id if isinstance(target, ast.Name) else ""


def _loops_over_calls(node: ast.AST, tools: set[str]) -> bool:
    return isinstance(node, _COMPREHENSIONS) and any(
        _called(inner) in {"model", *tools} for inner in ast.walk(node)
    )


def _nesting(tree: ast.AST) -> int:
    deepest, todo = 0, [(tree, 0)]
    while todo:
        node, level = todo.pop()
        level += isinstance(node, _LEVELS)
        deepest = max(deepest, level)
        todo.extend((child, level) for child in ast.iter_child_nodes(node))
    return deepest
