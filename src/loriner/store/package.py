"""A harness as a folder that runs with plain Python, without this package.

The files beside the harness are its user's, once they are there: one that was changed is never written over.
Which tools are missing is read, not run; a tool that a program imports in a roundabout way is not seen.
"""

from __future__ import annotations

import ast
import symtable
import warnings
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from loriner.errors import ConfigError, StoreError
from loriner.harness.contract import program_tree
from loriner.harness.structure import tool_imports
from loriner.records import Harness

BESIDE = ("tools.py", "run_me.py", "README.md")
"""What stands beside `harness.py`."""


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


def export_harness(harness: Harness, out_dir: Path) -> Package:
    """The folder with the harness, its source untouched, and what it needs to run.

    Raises:
        ConfigError: the folder holds another harness, which is left alone.
        StoreError: the folder cannot be written.
    """
    target, tools = out_dir / "harness.py", out_dir / "tools.py"
    try:
        if target.exists() and target.read_bytes() != harness.source.encode():
            raise ConfigError(f"{target} is another harness: choose another folder, or delete it")
        out_dir.mkdir(parents=True, exist_ok=True)
        target.write_bytes(harness.source.encode())
        kept = tuple(out_dir / name for name in BESIDE if not _written(out_dir / name))
        missing = _missing(harness.source, tools.read_bytes())
    except OSError as error:
        raise StoreError(f"writing the harness to {out_dir}: {error.strerror}") from error
    paths = (target, *(out_dir / name for name in BESIDE))
    return Package(paths, kept, tools, missing)


def _written(path: Path) -> bool:
    """Whether the file is now the one that comes with every harness; what else stands there is kept."""
    wanted = files("loriner.store").joinpath("exported", path.name).read_bytes()
    if not path.exists():
        path.write_bytes(wanted)
    return path.read_bytes() == wanted


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
