"""Real cases of edits that other tools got wrong, each with its one right outcome, byte for byte."""

import json
from pathlib import Path

import pytest

from loriner.errors import EditError
from loriner.harness.edits import apply_completion

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "edits.jsonl").read_text("utf-8").split("\n")
    if line
]


def outcome(case, json_adapter):
    try:
        return apply_completion(case["program"], case["completion"], json_adapter=json_adapter), None
    except EditError as error:
        return None, error.code


def test_there_are_twenty_cases():
    assert len(CASES) == 20


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case_has_its_outcome_with_the_adapter(case):
    assert outcome(case, json_adapter=True) == (case["expect"]["result"], case["expect"]["error"])


@pytest.mark.parametrize("case", CASES[:-1], ids=[case["id"] for case in CASES[:-1]])
def test_case_has_the_same_outcome_without_the_adapter(case):
    assert outcome(case, json_adapter=False) == (case["expect"]["result"], case["expect"]["error"])


def test_without_the_adapter_json_is_no_edit():
    assert outcome(CASES[-1], json_adapter=False) == (None, "no_edit_block")
