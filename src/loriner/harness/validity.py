"""Whether edited text is a candidate: small enough, written out, compiling, with `solve`, and different."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import lru_cache

from loriner.errors import EditError
from loriner.harness.contract import program_tree, size_fault, solve_fault, syntax_fault
from loriner.harness.messages import clipped
from loriner.harness.omission import bare_ellipsis, stands_for_code
from loriner.records import Failure


def require_candidate(source: str, result: str) -> None:
    """Refuses a result that is no candidate; `source` is the program it was made from.

    Raises:
        EditError: `too_large`, `omission_placeholder`, `syntax_error`, `missing_solve`, `duplicate_solve`,
            `no_effect`, `signature_changed`, whichever comes first in this order (a bare `...` statement is
            a placeholder too, and looked for once the program compiles).
    """
    fault = size_fault(result) or _omission(source, result) or _program_fault(source, result)
    if fault is not None:
        head = f"The revised program was refused: {fault.code}. Nothing was changed."
        raise EditError(fault.code, clipped(f"{head}\n{fault.message}"))


def _program_fault(source: str, result: str) -> Failure | None:
    try:
        tree = program_tree(result)
    except SyntaxError as error:
        return syntax_fault(error)
    if result.count("...") > source.count("...") and bare_ellipsis(result, tree):
        return _placeholder("...")
    fault = solve_fault(tree)
    if fault is not None and fault.code != "signature_changed":
        return fault
    return _no_effect(source, result) or fault


def _omission(source: str, result: str) -> Failure | None:
    known = set(source.split("\n"))
    for line in result.split("\n"):
        if line not in known and stands_for_code(line):
            return _placeholder(line.strip())
    return None


def _placeholder(text: str) -> Failure:
    return Failure(
        "omission_placeholder",
        f"The new line `{text[:120]}` stands for code that the edit would delete. "
        "Write the code out, or leave those lines out of SEARCH.",
    )


def _no_effect(source: str, result: str) -> Failure | None:
    try:
        before = tree_digest(source)
    except SyntaxError:
        return None
    if before != tree_digest(result):
        return None
    return Failure("no_effect", "Only comments or layout would change, and the program would do the same.")


@lru_cache(maxsize=64)
def tree_digest(source: str) -> str:
    """A digest that is equal for programs which differ in comments and layout alone, in hex.

    Raises:
        SyntaxError: `source` is no Python program.
    """
    shown = repr(list(_shape(program_tree(source))))
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()


def _shape(tree: ast.AST) -> Iterator[object]:
    """The kinds of the nodes, each with its values: one sequence for each tree: a kind has its fields, and a
    list says its length. Without recursion: trees may be deep.
    """
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield type(node).__name__
        for name in node._fields:
            value = getattr(node, name, None)
            values = value if isinstance(value, list) else [value]
            if values is value:
                yield len(values)
            for each in values:
                if not isinstance(each, ast.AST):
                    yield repr(each)
                elif each._fields:
                    yield 0
                    waiting.append(each)
                else:
                    yield type(each).__name__
