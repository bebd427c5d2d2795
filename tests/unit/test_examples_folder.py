"""The ordinary tasks of `examples/`: sound, won by no constant, with a scorer that says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loriner.tasks.check import check
from loriner.tasks.jsonl import load_folder

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("tickets", "invoices", "handbook")


@pytest.mark.parametrize("name", NAMES)
async def test_an_example_is_sound_and_no_constant_wins_it(name: str) -> None:
    found = await check(load_folder(EXAMPLES / name))
    assert found.faults == ()
    assert all(count >= 20 for count in found.n.values())
    assert found.constant_score is not None and found.constant_score <= 0.5


async def test_the_invoice_scorer_gives_a_sixth_for_each_field_and_names_the_others() -> None:
    right = json.loads((EXAMPLES / "invoices" / "items.jsonl").read_text().splitlines()[0])["answer"]
    task = load_folder(EXAMPLES / "invoices")
    question = next(
        each
        for split in ("feedback", "grade", "test")
        for each in task.questions(split)
        if each.target == right
    )
    try:
        whole = await task.score(question, json.dumps(right))
        partial = {**right, "date": "yesterday", "total": str(right["total"])}
        del partial["paid"]
        some = await task.score(question, json.dumps(partial))
        none = await task.score(question, f"Here it is: {json.dumps(right)}")
    finally:
        await task.close()
    assert (whole.value, whole.detail) == (1.0, "")
    assert some.value == pytest.approx(4 / 6)
    assert some.detail == 'missing: paid; wrong: date ("yesterday")'
    assert none.value == 0.0 and "nothing but the object" in none.detail


async def test_the_handbook_search_finds_the_section() -> None:
    task = load_folder(EXAMPLES / "handbook")
    try:
        found = await task.tools["search"](query="How much can the travelling crane lift?", k=3)
    finally:
        await task.close()
    assert found[0]["title"] == "Crane"
    assert "twelve tonnes" in found[0]["text"]
