"""A new task folder that runs as it is, to be edited into one's own: by kind, with sample items or with the
items of a table."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from loriner.errors import TaskError

Kind = Literal["qa", "classify", "extract", "search"]
KINDS: tuple[Kind, ...] = get_args(Kind)

QUESTION = ("question", "text", "input", "body", "message", "prompt", "content")
"""Names of the column that holds what is asked; the first of them that a table has is taken."""
ANSWER = ("answer", "label", "output", "target", "expected", "category", "class")

Row = Mapping[str, str]


def scaffold(path: str | Path, name: str, kind: Kind = "qa", table: str | Path | None = None) -> Path:
    """The folder, written with `task.toml`, `items.jsonl`, `score.py` and what else the kind has. Nothing is
    overwritten.

    The items are samples, or those of `table`: a CSV file (or .tsv) with a header.

    Raises:
        TaskError: the name is not made of letters, digits, `_`, `-` and `.`, the folder is not empty, or the
            table cannot be read as items.
    """
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
        raise TaskError(f"{name!r} cannot name a task; use letters, digits, '_', '-' and '.'")
    folder = Path(path)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise TaskError(f"{folder} is there already; name a folder that is new or empty")
    contents = _contents(kind, name)
    if table is not None:
        items = table_items(Path(table), kind)
        contents["items.jsonl"] = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)
        contents["task.toml"] = _described(contents["task.toml"], kind, items)
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in contents.items():
        (folder / file).write_text(text, encoding="utf-8")
    return folder


def table_items(path: Path, kind: Kind) -> list[dict[str, Any]]:
    """The items of a CSV file with a header: a column of questions, and one of answers; for `extract` every
    further column is a field of the answer. Columns `id` and `split` are kept as they are.

    Raises:
        TaskError: the file cannot be read, has no such columns, or a row has an empty question or answer.
    """
    header, rows = _rows(path)
    asked = _column(path, header, QUESTION, "what is asked")
    if kind == "extract":
        fields = [each for each in header if each not in (asked, "id", "split")]
    else:
        others = [each for each in header if each not in (asked, "id", "split")]
        only = others if len(others) == 1 else ()  # whatever it is called, it can be nothing else
        fields = list(only or [_column(path, others, ANSWER, "the right answer")])
    if not fields:
        raise TaskError(f"{path} has no column other than {asked!r}: add one for each field of the answer")
    return [_item(path, number, row, asked, fields, kind) for number, row in enumerate(rows, 1)]


def _contents(kind: Kind, name: str) -> dict[str, str]:
    """The files of a kind's starter, by name."""
    starter = files("loriner.tasks") / "starters" / kind
    held = {each.name: each.read_text(encoding="utf-8") for each in starter.iterdir() if each.is_file()}
    held["task.toml"] = held["task.toml"].format(name=name)
    return dict(sorted(held.items()))


def _described(toml: str, kind: Kind, items: Sequence[Mapping[str, Any]]) -> str:
    """The settings with a description that fits the items; it is for the user to better."""
    answers = [item["answer"] for item in items]
    if kind == "extract":
        about = f"The answer is a JSON object with the keys {', '.join(answers[0])}."
    elif kind == "classify":
        about = f"The answer is one label: {', '.join(dict.fromkeys(answers))}."
    else:
        about = "The answer is a few words."
    text = json.dumps(f"Say here what is asked and how it is scored. {about}", ensure_ascii=False)
    return re.sub(r"(?m)^description = .*$", lambda found: f"description = {text}", toml)


def _rows(path: Path) -> tuple[list[str], list[Row]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise TaskError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TaskError(
            f"{path} is not UTF-8 (byte {error.object[error.start]:#04x}): save it as UTF-8"
        ) from error
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restval="")
    try:
        rows: list[Row] = [_row(path, number, row) for number, row in enumerate(reader, 1)]
    except csv.Error as error:
        raise TaskError(f"{path}, line {reader.line_num}: {error}") from error
    names = [each.strip() for each in reader.fieldnames or ()]
    if twice := sorted({each for each in names if names.count(each) > 1}):
        raise TaskError(f"{path}: the header has the column {twice[0]!r} more than once: rename one")
    if not rows:
        raise TaskError(f"{path} has no row under its header ({first[:80]!r})")
    return list(rows[0]), rows


def _row(path: Path, number: int, row: Mapping[str | None, Any]) -> Row:
    if None in row:
        n = len(row) - 1
        raise TaskError(
            f"{path}, row {number} has {n + len(row[None])} fields, the header {n}: put quotes around a "
            "field that holds the delimiter"
        )
    return {str(key).strip(): value for key, value in row.items()}


def _column(path: Path, header: Sequence[str], known: Sequence[str], holds: str) -> str:
    by_name = {each.lower(): each for each in header}
    found = next((by_name[name] for name in known if name in by_name), None)
    if found is None:
        raise TaskError(
            f"{path} has no column for {holds}: expected one called {', '.join(known)}; found "
            f"{', '.join(header) or 'none'}: rename one in its header"
        )
    return found


def _item(path: Path, number: int, row: Row, asked: str, fields: Sequence[str], kind: Kind) -> dict[str, Any]:
    if not row[asked].strip():
        raise TaskError(f"{path}, row {number}: the column {asked!r} is empty")
    if kind != "extract" and not row[fields[0]].strip():
        raise TaskError(f"{path}, row {number}: the column {fields[0]!r} is empty")
    answer = {each: row[each] for each in fields} if kind == "extract" else row[fields[0]].strip()
    rest = {key: value for key, value in row.items() if key not in (asked, *fields, "id", "split")}
    split = {"split": row["split"].strip()} if row.get("split", "").strip() else {}
    return {
        "id": row.get("id") or str(number),
        "question": row[asked],
        "answer": answer,
        **split,
        **{key: value for key, value in rest.items() if key not in ("question", "answer")},
    }
