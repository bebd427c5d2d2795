"""The bench of the ordinary tasks: its data file, its table, its endpoint and its recorded proposer."""

from __future__ import annotations

import importlib.util
import json
import sys
import urllib.request
from pathlib import Path
from types import ModuleType

import pytest

from loriner.harness.contract import from_library
from loriner.harness.edits import revise
from loriner.tasks.jsonl import load_folder

ROOT = Path(__file__).parents[2]


def bench(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "bench" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_sets_every_row_against_the_seed_of_the_same_questions(tmp_path: Path) -> None:
    shown = bench("everyday_table")
    file = tmp_path / "data" / "everyday.json"
    questions = [f"q{number}" for number in range(20)]
    nothing, all_right = dict.fromkeys(questions, 0.0), dict.fromkeys(questions, 1.0)
    shown.save(
        file, "tickets", "catalogue", {"scores": all_right, "seed": nothing, "calls": 90, "minutes": 2}
    )
    shown.save(file, "tickets", "nearest", {"scores": nothing, "calls": 0})
    shown.save(file, "tickets", "gepa", {"scores": {"other": 1.0}, "calls": 5})
    lines = list(shown.table(shown.read(file)))[2:]
    assert [line.split(" | ")[1] for line in lines] == [
        "copy of the nearest item",
        "seed harness",
        "adapted, catalogue",
        "GEPA",
    ]
    nearest, seed, adapted, stranger = lines
    assert "+0.000 [" in nearest and "| 0 |" in nearest
    assert "0.000 [" in seed and "+" not in seed
    assert "1.000 [" in adapted and "+1.000 [" in adapted and "| 90 | 2.0 |" in adapted
    assert "+" not in stranger, "other questions are not compared"
    assert not file.with_suffix(".partial").exists()


def test_rows_are_measured_on_the_sealed_questions(tmp_path: Path) -> None:
    bench("endpoint"), bench("everyday_table")
    measure = bench("everyday").measure
    sealed = {question.id for question in load_folder(ROOT / "examples" / "tickets").questions("test")}
    for row in ("constant", "description", "catalogue"):
        found = measure("tickets", row, tmp_path / row, "scripted:echo", 60)
        assert set(found["scores"]) == sealed, row
        assert all(0 <= each <= 1 for each in found["scores"].values())
    assert set(found["seed"]) == sealed
    assert len(found["grade"]) == 2
    assert found["rounds"]


def test_a_recorded_proposer_gives_its_replies_in_order_and_then_nothing() -> None:
    with bench("endpoint").reciting(["one", "two"]) as address:
        assert [_said(address) for _ in range(3)] == ["one", "two", ""]
        with urllib.request.urlopen(f"{address.removesuffix('/v1')}/calls") as reply:
            assert json.loads(reply.read()) == 3


@pytest.mark.parametrize(
    "file", sorted((ROOT / "bench" / "replies").glob("*.md")), ids=lambda file: file.stem
)
def test_a_recorded_reply_revises_the_seed_of_its_task(file: Path) -> None:
    task = load_folder(ROOT / "examples" / file.stem.partition("-")[0])
    _, candidate = revise(from_library(task.seed_harness), file.read_text(encoding="utf-8"))
    assert "def solve(model, question)" in candidate.source
    sealed = [question.text for split in ("grade", "test") for question in task.questions(split)]
    assert not any(text in candidate.source for text in sealed)


def _said(address: str) -> str:
    body = json.dumps({"model": "recorded", "messages": [{"role": "user", "content": "revise"}]}).encode()
    request = urllib.request.Request(
        f"{address}/chat/completions", data=body, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as reply:
        return str(json.loads(reply.read())["choices"][0]["message"]["content"])
