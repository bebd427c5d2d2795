"""The classifier against labels given by hand to trials of a real model (how: docs/diagnosis.md)."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from loriner.diagnosis.faults import diagnose
from loriner.records import Call, Fault, Status, Trial

DATA = Path(__file__).parents[1] / "data" / "labelled_trials.jsonl"


def read_call(raw: dict[str, str], earlier: list[Call], words: str) -> Call:
    """A request names the question and pieces of earlier replies, as `{question}` and `{reply 1 20 90}`."""

    def piece(found: re.Match[str]) -> str:
        number, *span = map(int, found[1].split())
        return earlier[number - 1].reply[slice(*span)] if span else earlier[number - 1].reply

    request = re.sub(r"\{reply ([\d ]+)\}", piece, raw["request"].replace("{question}", words))
    return Call(
        kind=raw["kind"],
        request={"text": request},
        reply=raw["reply"],
        finish_reason=raw["finish_reason"],
        error=raw["error"],
    )


def read_trial(row: dict[str, Any]) -> Trial:
    calls: list[Call] = []
    for raw in row["calls"]:
        calls.append(read_call(raw, calls, row["words"]))
    return Trial(
        task="t",
        harness_id=row["harness"],
        question_id=row["family"],
        status=Status(row["status"]),
        detail=row["detail"],
        answer=row["answer"],
        score=0.0,
        calls=tuple(calls),
        error=row["error"],
    )


@cache
def pairs() -> list[tuple[str, Fault, Fault]]:
    """(part, label, diagnosis) of each trial."""
    rows = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
    found = [(row, diagnose(read_trial(row), row["target"], row["words"])) for row in rows]
    return [(row["part"], Fault(row["fault"]), each.fault) for row, each in found if each]


def accuracy(part: str) -> float:
    chosen = [label is given for where, label, given in pairs() if where == part]
    return sum(chosen) / len(chosen)


def confusion() -> str:
    """Labels down, diagnoses across: the table of docs/diagnosis.md."""
    counts = Counter((label, given) for _, label, given in pairs())
    met = [fault for fault in Fault if any(fault in pair for pair in counts)]
    lines = ["| label | " + " | ".join(met) + " |", "| --- |" + " --- |" * len(met)]
    for label in met:
        lines.append(f"| {label} | " + " | ".join(str(counts[label, given] or "") for given in met) + " |")
    return "\n".join(lines)


def test_every_labelled_trial_gets_a_diagnosis() -> None:
    assert len(pairs()) == len(DATA.read_text("utf-8").splitlines()) >= 120


def test_it_agrees_with_the_labels_also_where_it_was_not_developed() -> None:
    assert accuracy("developed on") >= 0.95
    assert accuracy("held out") >= 0.95


def test_no_common_fault_is_missed_or_invented() -> None:
    for fault in (Fault.EXTRACTION, Fault.FORMAT, Fault.COMMUNICATION, Fault.REASONING):
        right = sum(label is given is fault for _, label, given in pairs())
        assert right / sum(label is fault for _, label, _ in pairs()) >= 0.85, fault
        assert right / sum(given is fault for _, _, given in pairs()) >= 0.85, fault


def test_the_documentation_shows_these_figures() -> None:
    page = (DATA.parents[2] / "docs" / "diagnosis.md").read_text("utf-8")
    assert confusion() in page
    for part in ("developed on", "held out"):
        n = sum(where == part for where, _, _ in pairs())
        assert f"| {part} | {n} | {accuracy(part):.3f} |" in page
