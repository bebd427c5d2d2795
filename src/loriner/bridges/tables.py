"""Tables as tasks: a CSV, Parquet or JSON lines file, or a data set of the Hugging Face hub."""

from __future__ import annotations

import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loriner.bridges import framework
from loriner.errors import TaskError
from loriner.tasks import digests
from loriner.tasks.items import Card, Item, ItemTask
from loriner.tasks.scorer import InProcess, ScoreFunction
from loriner.tasks.splits import DEFAULT_SHARES, by_hash, read_shares

datasets = framework("datasets", "datasets", "5.2.0", "load_dataset")

_FORMATS = {".csv": "csv", ".parquet": "parquet", ".json": "json", ".jsonl": "json"}


def table(
    path: str | Path,
    question: str,
    answer: str | None,
    scorer: ScoreFunction,
    *,
    name: str | None = None,
    description: str = "",
    limit: int = 2000,
    split: Mapping[str, float] = DEFAULT_SHARES,
) -> ItemTask:
    """The rows of a table as a task. `question` and `answer` are templates over its columns, such as
    `"{context}\\n\\n{query}"`; without an `answer` the scorer judges alone, and it is given the whole row.

    `path` is a file, or `hf:OWNER/NAME`, `hf:OWNER/NAME/CONFIG`, each with `@SPLIT` at its end (`train`).

    Raises:
        TaskError: the table cannot be read, has no rows, or lacks a column of a template.
    """
    rows = _rows(str(path), limit)
    _require_columns(str(path), rows, question, answer)
    items = [_item(row, question, answer) for row in rows]
    called = name or str(path)
    shares = read_shares(split, f"the split of {called}")
    card = Card(name=called, description=description or f"Questions of the table {called}.")
    return ItemTask(card, by_hash({each["id"]: each for each in items}.values(), shares), InProcess(scorer))


def _rows(path: str, limit: int) -> Any:
    """The first rows. Raises TaskError where there are none to read."""
    try:
        rows = _of_hub(path.removeprefix("hf:")) if path.startswith("hf:") else _of_file(Path(path))
    except TaskError:
        raise
    except Exception as error:
        first = str(error).strip().splitlines()[:1] or [type(error).__name__]
        raise TaskError(f"reading the table {path}: {first[0]}") from error
    if not len(rows):
        raise TaskError(f"the table {path} has no rows")
    return rows.select(range(min(limit, len(rows))))


def _of_file(file: Path) -> Any:
    if file.suffix not in _FORMATS:
        raise TaskError(
            f"{file} is no table: expected a file that ends in {', '.join(_FORMATS)}, or hf:OWNER/NAME"
        )
    if not file.is_file():
        raise TaskError(f"there is no file {file}")
    return datasets.load_dataset(_FORMATS[file.suffix], data_files=str(file), split="train")


def _of_hub(name: str) -> Any:
    """Rows of the hub, or of its cache where HF_HUB_OFFLINE is set."""
    name, _, split = name.partition("@")
    owner, _, rest = name.partition("/")
    repository, _, part = rest.partition("/")
    if not (owner and repository):
        raise TaskError(f"hf:{name}: expected hf:OWNER/NAME or hf:OWNER/NAME/CONFIG, with @SPLIT if need be")
    return datasets.load_dataset(f"{owner}/{repository}", part or None, split=split or "train")


def _require_columns(path: str, rows: Any, *templates: str | None) -> None:
    asked = {name for each in templates if each is not None for name in _fields(each)}
    if missing := sorted(asked - set(rows.column_names)):
        raise TaskError(f"{path} has no column {', '.join(missing)}; it has {', '.join(rows.column_names)}")


def _fields(template: str) -> list[str]:
    """The columns that a template names. Raises TaskError where it is none."""
    try:
        found = [field for _, field, _, _ in string.Formatter().parse(template) if field is not None]
    except ValueError as error:
        raise TaskError(f"the template {template!r}: {error}; double a brace that is meant as one") from error
    if not found or not all(each.isidentifier() for each in found):
        raise TaskError(f"the template {template!r} must name columns, as in {{question}}")
    return found


def _item(row: Mapping[str, Any], question: str, answer: str | None) -> Item:
    """A row; its id is a digest of the question, so that it stays in its split wherever the row stands."""
    text = question.format(**row)
    right = {} if answer is None else {"answer": answer.format(**row)}
    kept = {name: value for name, value in row.items() if name != "split"}
    return {"answer": None, **kept, **right, "question": text, "id": digests.of_text(text)[:16]}
