"""A task from data that a program holds: a list of dicts, a DataFrame, or the path of a table or JSONL file.

A row is an object with a question and, unless the scorer judges alone, an answer, under any of the names that
a table may have for them. A row without an `id` gets its number, from 1. No library of data frames is
imported: what can hand out its rows as dicts is one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from loriner.errors import TaskError
from loriner.tasks.items import Card, Item, ItemTask
from loriner.tasks.jsonl import describe, from_items, items_in, read_items
from loriner.tasks.judge import Judge
from loriner.tasks.scaffold import ANSWER, QUESTION, table_items
from loriner.tasks.scorer import ScoreFunction
from loriner.tasks.splits import DEFAULT_SHARES

_TABLES = (".csv", ".tsv")


def from_data(
    data: Any,
    scorer: ScoreFunction | Judge | str,
    *,
    name: str | None = None,
    description: str = "",
    split: Mapping[str, float] = DEFAULT_SHARES,
    seed_harness: str = "minimal",
) -> ItemTask:
    """The task of rows: dicts, a DataFrame of pandas or polars, or a path (`.csv`, `.tsv`, else JSONL).

    Raises:
        TaskError: there is no row, a row is wrong, or the split is.
    """
    path = Path(data) if isinstance(data, str | Path) else None
    items = _read(path) if path else items_in(_texts(rows_of(data)), "row", "there is no row")
    called = name or (path.stem if path else "data")
    card = Card(name=called, description=description or describe(name), seed_harness=seed_harness)
    return from_items(items, scorer, card, split, str(path or "the rows"))


def _read(path: Path) -> Sequence[Item]:
    return table_items(path, "qa") if path.suffix.lower() in _TABLES else read_items(path)


def rows_of(data: Any) -> list[Mapping[str, Any]]:
    """The rows of a DataFrame, or of anything that yields dicts.

    Raises:
        TaskError: it yields something else.
    """
    if callable(to_dicts := getattr(data, "to_dicts", None)):  # polars
        data = to_dicts()
    elif hasattr(data, "columns") and callable(to_dict := getattr(data, "to_dict", None)):  # pandas
        data = to_dict(orient="records")
    rows = list(data) if isinstance(data, Iterable) else [data]
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise TaskError(
                f"row {number} is {type(row).__name__} ({row!r:.60}); expected a list of dicts, a DataFrame "
                "or a path, with columns for question and answer"
            )
    return rows


def _texts(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The rows as JSON, as a file of items has them."""
    names = {str(name) for row in rows for name in row}
    asked, answer = _named("question", QUESTION, names), _named("answer", ANSWER, names)
    return [_text(number, row, {"question": asked, "answer": answer}) for number, row in enumerate(rows, 1)]


def _named(wanted: str, known: Sequence[str], names: set[str]) -> str:
    """The column that stands for the wanted one: itself, else the first of the known names."""
    lower = {name.lower(): name for name in sorted(names)}
    return wanted if wanted in names else next((lower[each] for each in known if each in lower), wanted)


def _text(number: int, row: Mapping[str, Any], columns: Mapping[str, str]) -> str:
    values = {str(key): _plain(value) for key, value in row.items()}
    held = {key: value for key, value in values.items() if not _is_missing(value)}
    named = {wanted: held.pop(column) for wanted, column in columns.items() if column in held}
    try:
        return json.dumps({"id": str(number), **held, **named}, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TaskError(f"row {number}: {error}; expected text, numbers, lists and dicts") from error


def _plain(value: Any) -> Any:
    """A number or a date of another library as Python and JSON know it."""
    if isinstance(value, str | list | dict | int | float) or value is None:
        return value
    if callable(listed := getattr(value, "tolist", None)):  # of NumPy: a scalar becomes a number
        return listed()
    if callable(written := getattr(value, "isoformat", None)) and value == value:  # NaT is no date
        return written()
    return None if _differs_from_itself(value) else value


def _is_missing(value: Any) -> bool:
    """Whether it stands for an empty cell."""
    return value is None or (isinstance(value, float) and value != value)


def _differs_from_itself(value: Any) -> bool:
    """As NaN and NaT do; a missing value of pandas does not even say that it does not."""
    return (value != value) is not False
