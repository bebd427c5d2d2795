"""What a harness is: canonical source with exactly one `def solve(model, question)`.

Reading a program never runs it. That `solve` keeps the rest of its contract (it returns text, it stays
within its limits) is for the runtime to find out.
"""

from __future__ import annotations

import ast
import difflib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import resources
from pathlib import Path

from loriner.errors import HarnessError
from loriner.records import Failure, Harness

MAX_PROGRAM_CHARS = 16_000
"""Longest program, in characters."""

_LIBRARY = resources.files("loriner.harness.library")

GRANTED = frozenset({"examples", "run_python"})
"""Tools that every task grants."""


def canonical(text: str) -> str:
    """The text without byte order mark, with LF line ends and exactly one final newline."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").rstrip("\n") + "\n"


def load(path: Path | str) -> Harness:
    """The harness in a file.

    Raises:
        HarnessError: the file cannot be read, is not UTF-8, or breaks the contract.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise HarnessError(f"cannot read the harness {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise HarnessError(
            f"the harness {path} is not UTF-8 (byte {error.start}): save it as UTF-8"
        ) from None
    return _checked(text, f"the harness {path}")


def library_names() -> tuple[str, ...]:
    """Names of the harnesses that ship with the package, in alphabetical order."""
    files = (Path(entry.name) for entry in _LIBRARY.iterdir())
    return tuple(sorted(file.stem for file in files if file.suffix == ".py" and file.stem[0] != "_"))


def from_library(name: str) -> Harness:
    """A harness that ships with the package.

    Raises:
        HarnessError: there is none of that name; the message names the nearest.
    """
    names = library_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise HarnessError(f"the library has no harness {name!r}.{meant} It has: {', '.join(names)}")
    return _checked((_LIBRARY / f"{name}.py").read_text(encoding="utf-8"), f"the library harness {name!r}")


def from_text(text: str) -> Harness:
    """The harness that is this text.

    Raises:
        HarnessError: it breaks the contract.
    """
    return _checked(text, "the program")


def _checked(text: str, what: str) -> Harness:
    source = canonical(text)
    fault = size_fault(source)
    if fault is None:
        try:
            fault = solve_fault(program_tree(source))
        except SyntaxError as error:
            fault = syntax_fault(error)
    if fault is not None:
        raise HarnessError(f"{what} cannot be used: {fault.code}. {fault.message}")
    return Harness(source)


@lru_cache(maxsize=32)
def program_tree(source: str) -> ast.Module:
    """The tree of a program that compiles. Callers share it and must not change it.

    Raises:
        SyntaxError: it does not compile, for whatever reason (nesting, NUL, lone surrogates included).
    """
    tree = parsed_tree(source)
    with _refused_in_words():
        compile(tree, "<harness>", "exec", dont_inherit=True)
    return tree


@lru_cache(maxsize=128)
def parsed_tree(source: str) -> ast.Module:
    """The tree of a program that can be parsed, in half the time: for one that is still being put together.
    Shared as `program_tree`, and raises as it does.
    """
    with _refused_in_words():
        return ast.parse(source)


@contextmanager
def _refused_in_words() -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except SyntaxError:
        raise
    except (RecursionError, MemoryError):
        raise SyntaxError("the program is nested too deeply to be read") from None
    except (ValueError, OverflowError) as error:
        raise SyntaxError(str(error)) from None


@lru_cache(maxsize=32)
def program_nodes(source: str) -> tuple[ast.AST, ...]:
    """The nodes of a program's tree, breadth first. Raises as `program_tree`."""
    return tuple(ast.walk(program_tree(source)))


def size_fault(source: str) -> Failure | None:
    """`too_large` when the program is longer than `MAX_PROGRAM_CHARS`."""
    if len(source) <= MAX_PROGRAM_CHARS:
        return None
    return Failure(
        "too_large",
        f"The program would have {len(source)} characters; at most {MAX_PROGRAM_CHARS} are allowed.",
    )


def syntax_fault(error: SyntaxError) -> Failure:
    """`syntax_error` with the line, its text and Python's message."""
    where = f"Line {error.lineno}: " if error.lineno else ""
    text = (error.text or "").strip()
    shown = f"\n    {text[:160]}" if text else ""
    return Failure("syntax_error", f"{where}{error.msg[:160]}{shown}")


def solve_fault(tree: ast.Module) -> Failure | None:
    """What is wrong with `solve`: `missing_solve`, `duplicate_solve`, `signature_changed`, or None."""
    found = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "solve"
    ]
    if not found:
        return Failure("missing_solve", "Keep one top-level function `def solve(model, question)`.")
    if len(found) > 1:
        lines = ", ".join(str(node.lineno) for node in found[:5])
        return Failure("duplicate_solve", f"`solve` is defined {len(found)} times (lines {lines}): keep one.")
    return _signature_fault(found[0])


def _signature_fault(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Failure | None:
    args = node.args
    plain = [arg.arg for arg in args.args] == ["model", "question"]
    extra = args.posonlyargs or args.kwonlyargs or args.vararg or args.kwarg or args.defaults
    if plain and not extra and isinstance(node, ast.FunctionDef):
        return None
    kind = "def" if isinstance(node, ast.FunctionDef) else "async def"
    return Failure(
        "signature_changed",
        f"Line {node.lineno} has `{kind} solve({ast.unparse(args)[:120]})`; "
        "it must be `def solve(model, question)`, without defaults or stars.",
    )
