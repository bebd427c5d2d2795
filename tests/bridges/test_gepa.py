"""The bridge to GEPA, with the real package."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gepa")

import gepa

import toy
from loriner.bridges.gepa import NAME, LorinerAdapter, adapter
from loriner.bridges.gepa_runs import harnesses
from loriner.errors import ConfigError, HarnessError, LorinerError
from loriner.harness.contract import from_library

pytestmark = pytest.mark.filterwarnings("ignore")
RIGHT = "def solve(model, question):\n    return len(question.split()) - 1\n"


class Quiet:
    def log(self, message: str) -> None:
        """Keeps GEPA from printing."""


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[LorinerAdapter]:
    with adapter(toy.task(tmp_path), toy.say, home=tmp_path / "home") as opened:
        yield opened


def optimize(ours: LorinerAdapter, **more: Any) -> Any:
    plan = {"max_metric_calls": 100, "reflection_minibatch_size": 4, "logger": Quiet(), **more}
    return gepa.optimize(ours.seed, ours.feedback, ours.grade, adapter=ours, callbacks=[ours], **plan)


def test_our_proposer_and_our_sandbox_in_gepa_and_its_run_directory_as_harnesses(
    ours: LorinerAdapter, tmp_path: Path
) -> None:
    found = optimize(ours, run_dir=str(tmp_path / "gepa"))
    assert (found.val_aggregate_scores[0], max(found.val_aggregate_scores)) == (0.0, 1.0)
    assert any(each.accepted for each in ours.history)
    seed, *rest = harnesses(tmp_path / "gepa")
    assert seed.source == from_library("minimal").source
    assert found.best_candidate[NAME] in {each.source for each in rest}


def test_gepas_own_reflection_over_our_sandbox(tmp_path: Path) -> None:
    asked: list[str] = []

    def reflect(prompt: Any) -> str:
        asked.append(str(prompt))
        return f"```python\n{RIGHT}```"

    with adapter(toy.task(tmp_path), toy.say, None, home=tmp_path / "home") as ours:
        found = optimize(ours, reflection_lm=reflect, max_metric_calls=60)
    assert found.val_aggregate_scores[-1] == 1.0
    assert "expected " in asked[0] and "ninety" in asked[0]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def", "syntax_error"),
        ("def solve(model):\n    return ''\n", "signature_changed"),
        ("import os\ndef solve(model, question):\n    os._exit(0)\n", "no_answer"),
    ],
)
def test_a_candidate_that_is_no_program_or_kills_itself_scores_zero_with_a_reason(
    ours: LorinerAdapter, source: str, said: str
) -> None:
    batch = ours.evaluate(ours.feedback[:2] * 2, {NAME: source})
    assert batch.scores == [0.0] * 4
    (record, *_) = ours.make_reflective_dataset({}, batch, [NAME])[NAME]
    assert said in record["Feedback"]


def test_a_dead_solver_raises_and_is_no_zero(tmp_path: Path) -> None:
    with (
        adapter(toy.task(tmp_path), "scripted:down", home=tmp_path / "home") as ours,
        pytest.raises(LorinerError, match="never answers"),
    ):
        ours.evaluate(ours.feedback[:4], ours.seed)


def test_a_run_directory_that_holds_no_harnesses_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="reading the candidates of GEPA"):
        harnesses(tmp_path)
    file = tmp_path / "candidates.json"
    file.write_text(json.dumps([{"instructions": "Be brief."}]))
    with pytest.raises(ConfigError, match=r"no component 'harness.py'; it has instructions"):
        harnesses(tmp_path)
    with pytest.raises(HarnessError, match="candidate 0: "):
        harnesses(tmp_path, "instructions")
