"""What the policy is trained on: a context as the proposer reads it, with the questions that judge its
completions.

Exercises are frozen to a file whose first line holds a digest of the rest, so that a run, its resumption and
a comparison a month later see the same text. The file holds the feedback's targets (they are part of the
prompt) and only the ids of grade questions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from pydantic import TypeAdapter, ValidationError

from loriner.errors import ConfigError
from loriner.models.base import Message
from loriner.records import Context
from loriner.train import jsonl

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """One context of a training set or a comparison."""

    context: Context
    messages: tuple[Message, ...]
    """The context as the proposer reads it, capped in tokens."""
    grade: tuple[str, ...]
    """Ids of the grade questions on which every completion in this context is scored."""


def save(exercises: Sequence[Exercise], path: Path, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Writes the file and returns its digest.

    `names` are those that open the tasks, by the tasks' own names; the first line keeps them.
    """
    lines = [_adapter().dump_json(each).decode() for each in exercises]
    head = json.dumps({"format": FORMAT, "n": len(lines), "digest": _digest(lines), "names": dict(names)})
    jsonl.write_text(path, "\n".join([head, *lines]) + "\n")
    return _digest(lines)


def load(path: Path) -> tuple[Exercise, ...]:
    """The exercises of a file.

    Raises:
        ConfigError: no such file, another format, or not the bytes that were frozen.
    """
    head, lines = _read(path)
    if head.get("format") != FORMAT:
        raise ConfigError(f"{path}: format {head.get('format')!r}, expected {FORMAT}: draw the contexts anew")
    if head.get("n") != len(lines) or head.get("digest") != _digest(lines):
        raise ConfigError(
            f"{path}: {len(lines)} contexts with digest {_digest(lines)[:12]}, but its first line says "
            f"{head.get('n')} with {str(head.get('digest'))[:12]}: the file was changed after it was frozen"
        )
    try:
        return tuple(_adapter().validate_json(line) for line in lines)
    except ValidationError as error:
        raise ConfigError(f"{path}: a context cannot be read: {error.errors()[0]['msg']}") from None


def digest(path: Path) -> str:
    """The digest that the file was frozen with."""
    return str(_read(path)[0].get("digest"))


def names(path: Path) -> dict[str, str]:
    """The names that open the tasks of a file, by the tasks' own names; older files keep none.

    Raises:
        ConfigError: the first line holds something else in their place.
    """
    found = _read(path)[0].get("names", {})
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise ConfigError(f"{path}: its first line holds no names of tasks: {found!r}")
    return found


def require_divisible(n: int, per_update: int) -> int:
    """The number of updates in one pass over `n` contexts.

    Raises:
        ConfigError: some contexts would be left over. A trainer would drop them without a word.
    """
    if n == 0 or n % per_update:
        left = n % per_update
        raise ConfigError(
            f"{n} contexts do not divide into updates of {per_update}: {left} would be left over; use "
            f"{n - left or per_update} or {n - left + per_update} contexts, or another contexts_per_update"
        )
    return n // per_update


@cache
def _adapter() -> TypeAdapter[Exercise]:
    return TypeAdapter(Exercise)


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _read(path: Path) -> tuple[dict[str, object], list[str]]:
    try:
        head, *lines = jsonl.split(path.read_text(encoding="utf-8"))
        found = json.loads(head)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; draw one with: loriner train contexts CONFIG") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: not a file of contexts: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: not a file of contexts: its first line is {head[:40]!r}")
    return found, lines
