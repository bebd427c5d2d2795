"""The settings as things to show: each with its place, its kind, its default and the words under its field.

The options of the command line, `loriner init --all` and docs/configuration.md are made of them.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from loriner.config import Flag, Settings
from loriner.models.named import ModelSpec

_PLAIN = Flag()


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting."""

    place: str
    """Such as `adapt.rounds`."""
    kind: Any
    """Its type; of one that may be None, the other type."""
    default: Any
    about: str
    """What it is, in one line of text."""
    flag: Flag = _PLAIN
    least: float | None = None
    """The smallest value that is taken, where there is one."""

    @property
    def name(self) -> str:
        return self.place.rpartition(".")[2]

    @property
    def words(self) -> str:
        """What it is, and which values it may have."""
        if not self.choices:
            return self.about
        return (
            f"{self.about} {'Any' if get_origin(self.kind) is list else 'One'} of {', '.join(self.choices)}."
        )

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it may have, or each of a list may have; none where any may be given."""
        inner = self.kind if get_origin(self.kind) is not list else get_args(self.kind)[0]
        found = [each for each in get_args(inner) if isinstance(each, str)]
        return tuple(found)


def at(place: str) -> list[Setting]:
    """The setting at `place`, or all that the table there holds. Raises `KeyError` where there is none."""
    found = [each for each in every() if each.place == place or each.place.startswith(f"{place}.")]
    if not found:
        raise KeyError(place)
    return found


def every() -> Iterator[Setting]:
    """All settings: those that are in no table first, then table by table."""
    found = list(_of(Settings, ""))
    yield from (each for each in found if "." not in each.place)
    yield from (each for each in found if "." in each.place)


def as_toml() -> str:
    """A `loriner.toml` that sets everything to its default; what has none stands in a comment."""
    lines, table = [], ""
    for each in every():
        head = each.place.rpartition(".")[0]
        if head != table:
            table = head
            comment = "# " if head == "task" else ""
            lines += [*(f"# {each}" for each in textwrap.wrap(_about(head), 108)), f"{comment}[{head}]"]
        lines += _toml(each, within=head)
    return "\n".join([*lines, *_model()]).strip() + "\n"


def _about(table: str) -> str:
    """What a table is for."""
    info = Settings.model_fields[table]
    return " ".join((info.description or inspect.getdoc(_given(info.annotation)) or "").split())


def _toml(setting: Setting, within: str) -> list[str]:
    """A setting with its words above it."""
    if setting.name in ("models", "suites") and not within:
        return []
    value = _toml_value(setting.default)
    line = (
        f"# {setting.name} = {_SHAPES.get(setting.kind, '...')}"
        if value is None
        else f"{setting.name} = {value}"
    )
    told = line if within != "task" or line.startswith("#") else f"# {line}"
    return [*(f"# {each}" for each in textwrap.wrap(setting.words, 108)), told, ""]


_SHAPES = {int: "N", float: "X", str: '"TEXT"', Path: '"PATH"'}


def _toml_value(value: Any) -> str | None:
    """The value as TOML writes it; None where there is none."""
    if value is None:
        return None
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)


def _model() -> list[str]:
    """The tables that have names of your own, as comments."""
    lines = [
        "# Your own suites of tasks.",
        "# [suites]",
        '# mine = ["rg:gcd", "tasks/invoices", "rg-hard"]',
        "",
    ]
    lines += ["# A model of your own; use it with `--solver small`.", "# [models.small]"]
    for each in _fields(ModelSpec, ""):
        lines += [f"# # {words}" for words in textwrap.wrap(each.about, 106)]
        lines += [f"# {each.name} = {_toml_value(each.default) or '...'}"]
    return lines


def _of(record: type, prefix: str) -> Iterator[Setting]:
    for each in _fields(record, prefix):
        yield from _of(each.kind, f"{each.place}.") if _is_table(each) else [each]


def _is_table(field: Setting) -> bool:
    """Whether a field of a record holds settings of its own."""
    if not isinstance(field.kind, type):
        return False
    return issubclass(field.kind, BaseModel) or (is_dataclass(field.kind) and field.default is not None)


def _fields(record: Any, prefix: str) -> Iterator[Setting]:
    """The fields of one record."""
    if not issubclass(record, BaseModel):
        words, kinds = _words(record), get_type_hints(record)
        for each in fields(record):
            default = None if each.default is MISSING else each.default
            yield Setting(prefix + each.name, _given(kinds[each.name]), default, words.get(each.name, ""))
        return
    for name, info in record.model_fields.items():
        default = None if info.is_required() else info.get_default(call_default_factory=True)
        marks = {type(each): each for each in info.metadata}
        least = next((each.ge for each in info.metadata if hasattr(each, "ge")), None)
        about = " ".join((info.description or "").split())
        yield Setting(prefix + name, _given(info.annotation), default, about, marks.get(Flag, _PLAIN), least)


def _given(kind: Any) -> Any:
    """The type without None and without what it is annotated with."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    others = [each for each in get_args(kind) if each is not NoneType]
    return _given(others[0]) if NoneType in get_args(kind) and len(others) == 1 else kind


def _words(record: type) -> dict[str, str]:
    """What stands under each field of a dataclass."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(record))).body
    assert isinstance(definition, ast.ClassDef)
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
