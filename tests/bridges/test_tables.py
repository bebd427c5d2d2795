"""Tables as tasks, with the real library."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("datasets")

import loriner as lo
import toy
from loriner.bridges.tables import table
from loriner.errors import TaskError

pytestmark = pytest.mark.filterwarnings("ignore")


def right(item: Any, answer: str) -> float:
    return float(answer.strip() == item["answer"])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The same rows as CSV, JSON lines and Parquet."""
    rows = [
        {"line": each["question"].removeprefix("Words: "), "n": int(each["answer"])} for each in toy.rows(20)
    ]
    with (tmp_path / "words.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["line", "n"])
        writer.writeheader()
        writer.writerows(rows)
    (tmp_path / "words.jsonl").write_text("\n".join(map(json.dumps, rows)))
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "words.parquet")
    return tmp_path


def test_the_same_rows_in_three_formats_are_the_same_questions_in_the_same_splits(files: Path) -> None:
    found = [
        table(files / f"words.{ending}", "Words: {line}", "{n}", right, name="words")
        for ending in ("csv", "jsonl", "parquet")
    ]
    first, *others = [[each.questions(split) for split in ("feedback", "grade", "test")] for each in found]
    assert first == others[0] == others[1]
    assert (first[1][0].text.startswith("Words: word word"), first[1][0].target.isdigit()) == (True, True)
    assert lo.evaluate(found[0], "library:program_of_thought", toy.say, home=files / "home").mean_score == 1.0


def test_without_an_answer_the_scorer_is_given_the_row(files: Path) -> None:
    task = table(files / "words.csv", "Words: {line}", None, lambda row, answer: float(row["n"] > 0))
    assert task.questions("grade")[0].target is None
    assert lo.evaluate(task, "library:minimal", toy.say, home=files / "home", limit=2).mean_score == 1.0


@pytest.mark.parametrize(
    ("path", "question", "said"),
    [
        ("words.csv", "{text}", "has no column text; it has line, n"),
        ("words.csv", "no column", "must name columns"),
        ("words.csv", "{line", "double a brace"),
        ("words.csv", "{line.x}", "must name columns"),
        ("words.xlsx", "{line}", "is no table: expected a file that ends in .csv"),
        ("none.csv", "{line}", "there is no file"),
        ("empty.csv", "{line}", "reading the table|has no rows"),
        ("hf:words", "{line}", "expected hf:OWNER/NAME"),
    ],
)
def test_what_is_no_table_or_no_template_is_refused(files: Path, path: str, question: str, said: str) -> None:
    (files / "empty.csv").write_text("")
    with pytest.raises(TaskError, match=said):
        table(path if path.startswith("hf:") else files / path, question, None, right)
