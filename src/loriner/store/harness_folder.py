"""A harness as a folder that runs with plain Python, without this package.

The files beside the harness are its user's, once they are there: one that was changed is never written over.
Which tools are missing is read, not run; a tool that a program imports in a roundabout way is not seen.
"""

from __future__ import annotations

import ast
import json
import symtable
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from loriner.errors import ConfigError, StoreError
from loriner.harness.contract import program_tree
from loriner.harness.structure import tool_imports
from loriner.records import Harness

BESIDE = ("tools.py", "run_me.py", "README.md")
"""What stands beside `harness.py`."""
_RANKING, _ITEMS = "nearest.py", "examples.jsonl"
_EXAMPLES = """

from pathlib import Path  # the tool `examples`, over the items of examples.jsonl

from nearest import examples_of

examples = examples_of(Path(__file__).with_name("examples.jsonl"))
"""


@dataclass(frozen=True, slots=True)
class Package:
    """The folder of an exported harness."""

    paths: tuple[Path, ...]
    """Its files, the harness first."""
    kept: tuple[Path, ...]
    """Those that stood there already, changed, and were left alone."""
    tools: Path
    missing: tuple[str, ...]
    """What the harness imports from `tools` and the file there does not define."""


def uses_examples(harness: Harness) -> bool:
    """Whether the program takes the tool `examples`."""
    return not _taken(harness.source).isdisjoint({"examples", "*"})


def export_harness(
    harness: Harness, out_dir: Path, examples: Iterable[tuple[str, str]] | None = None
) -> Package:
    """The folder with the harness, its source untouched, and what it needs to run.

    `examples` are the questions and answers that its tool of that name shows; they are written if it has one.

    Raises:
        ConfigError: the folder holds another harness, which is left alone.
        StoreError: the folder cannot be written.
    """
    target, tools = out_dir / "harness.py", out_dir / "tools.py"
    beside = _beside(None if examples is None or not uses_examples(harness) else examples)
    try:
        if target.exists() and target.read_bytes() != harness.source.encode():
            raise ConfigError(f"{target} is another harness: choose another folder, or delete it")
        out_dir.mkdir(parents=True, exist_ok=True)
        target.write_bytes(harness.source.encode())
        kept = tuple(
            out_dir / name for name, wanted in beside.items() if not _written(out_dir / name, wanted)
        )
        missing = _missing(harness.source, tools.read_bytes())
    except OSError as error:
        raise StoreError(f"writing the harness to {out_dir}: {error.strerror}") from error
    paths = (target, *(out_dir / name for name in beside))
    return Package(paths, kept, tools, missing)


def _beside(examples: Iterable[tuple[str, str]] | None) -> dict[str, bytes]:
    """The files beside the harness, by name."""
    beside = {name: _exported(name) for name in BESIDE}
    if examples is None:
        return beside
    rows = ({"question": question, "answer": answer} for question, answer in examples)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    with_examples = {
        "tools.py": beside["tools.py"] + _EXAMPLES.encode(),
        _RANKING: _exported(_RANKING),
        _ITEMS: lines.encode("utf-8", "surrogatepass"),
    }
    return beside | with_examples


def _exported(name: str) -> bytes:
    return files("loriner.store").joinpath("exported", name).read_bytes()


def _written(path: Path, wanted: bytes) -> bool:
    """Whether the file is now what an export writes; what else stands there is kept. Tools with examples stay
    where this export has none.
    """
    plain = _exported("tools.py")
    own = {plain, plain + _EXAMPLES.encode()} if path.name == "tools.py" else {wanted}
    if not path.exists() or path.read_bytes() == plain:
        path.write_bytes(wanted)
    return path.read_bytes() in own


def _missing(source: str, tools: bytes) -> tuple[str, ...]:
    """What a program takes from `tools` and that file does not define; nothing where it cannot be told."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = tools.decode("utf-8-sig")
            table, tree = symtable.symtable(text, "tools.py", "exec"), ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    if any(alias.name == "*" for node in ast.walk(tree) for alias in _aliases(node)):
        return ()
    defined = {each.get_name() for each in table.get_symbols() if each.is_assigned() or each.is_imported()}
    return tuple(sorted(_taken(source) - defined - {"*"}))


def _taken(source: str) -> set[str]:
    """The names that a program takes from the module `tools`."""
    nodes = list(ast.walk(program_tree(source)))
    tools = {each.asname or each.name for node in nodes for each in _aliases(node) if each.name == "tools"}
    taken = {alias.name for alias in tool_imports(nodes)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in tools:
            taken.add(node.attr)
    return taken


def _aliases(node: ast.AST) -> list[ast.alias]:
    return node.names if isinstance(node, ast.Import | ast.ImportFrom) else []
