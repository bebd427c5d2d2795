"""What training keeps on disk survives strange texts and kills, and never goes on with something else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sums import GOOD, edit, exercise

from loriner.errors import ConfigError
from loriner.propose.proposer import Completion, read
from loriner.records import FeedbackTrial, Harness, Status, Trial
from loriner.train import jsonl
from loriner.train.exercise import load, save
from loriner.train.fingerprint import Began
from loriner.train.journal import Journal, RolloutRow
from loriner.train.reward import Reward, Scored
from loriner.train.settings import TrainConfig

LINE_ENDS = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\rh\r\ni\nj"


@given(st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=9), max_size=3), max_size=5))
def test_rows_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    jsonl.write(path, rows)
    assert jsonl.read(path) == rows
    jsonl.append(path, rows)
    assert jsonl.read(path) == rows + rows


def test_a_context_with_strange_line_ends_is_what_was_frozen(tmp_path: Path) -> None:
    trial = Trial(
        task="t",
        harness_id=GOOD.id,
        question_id="q",
        sample=0,
        status=Status.WRONG,
        answer=LINE_ENDS,
        score=0.0,
        seconds=0.0,
    )
    start = exercise()
    feedback = FeedbackTrial(question=LINE_ENDS, target=LINE_ENDS, trial=trial, fault=None)
    shown = replace(start, context=replace(start.context, feedback=(feedback,)))
    save([shown, start], tmp_path / "contexts.jsonl")
    assert load(tmp_path / "contexts.jsonl") == (shown, start)


def rollouts(journal: Journal, update: int, text: str) -> None:
    context = exercise().context
    reward = Reward(score=1.0, parsed=True, applied=True, completion_rate=1.0)
    scored = Scored(rollout=read(context, 0, Completion(text)), reward=reward)
    journal.add_rollouts([RolloutRow.of(update, context, scored)])


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_journal_that_a_kill_cut_off_goes_on(tmp_path: Path, cut: int) -> None:
    journal = Journal(tmp_path)
    rollouts(journal, 1, edit(GOOD) + LINE_ENDS)
    whole = journal.rollouts.read_bytes()
    rollouts(journal, 2, edit(GOOD) + "é" * 9)
    journal.rollouts.write_bytes(journal.rollouts.read_bytes()[:-cut])
    journal.cut_back(2 if cut > 1 else 1)
    assert journal.rollouts.read_bytes() == whole
    rollouts(journal, 2, "prose")
    (first, second) = journal.read_rollouts([exercise()], 1, 2)
    assert first.rollout.candidate == Harness(GOOD.source)
    assert second.rollout.failure is not None


def test_a_line_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lessons.jsonl"
    path.write_text('{"a": 1}\n{"a"\n{"a": 2}\n')
    with pytest.raises(ConfigError, match=r"lessons.jsonl, line 2: not JSON"):
        jsonl.read(path, torn=True)
    path.write_text("[1]\n")
    with pytest.raises(ConfigError, match="line 1: expected an object"):
        jsonl.read(path)
    path.write_bytes(b'{"a": "\xff"}\n')
    with pytest.raises(ConfigError, match="not UTF-8"):
        jsonl.read(path)


def began(tmp_path: Path, *, base: str = "P", contexts: str = "d1", rate: float = 1e-6) -> Began:
    config = TrainConfig.model_validate(
        {
            "name": "t",
            "output": tmp_path,
            "solver": "s",
            "policy": {"base": "p", "n_parameters": 1},
            "contexts": {"tasks": ["sums"]},
            "grpo": {"learning_rate": rate},
        }
    )
    return Began.of(config, base, contexts, 0)


def test_a_training_goes_on_only_with_what_it_began_with(tmp_path: Path) -> None:
    assert began(tmp_path).run() is None
    began(tmp_path).keep("run-1")
    assert began(tmp_path).run() == "run-1"
    assert began(tmp_path, contexts="d2").run() is None, "no checkpoint yet: it begins anew"
    (tmp_path / "grpo" / "checkpoints" / "checkpoint-4").mkdir(parents=True)
    assert began(tmp_path).run() == "run-1"
    with pytest.raises(
        ConfigError, match=r"began otherwise \(base P there, Q now, contexts d1 there, d2 now\)"
    ):
        began(tmp_path, base="Q", contexts="d2").run()
    with pytest.raises(ConfigError, match="learning_rate 1e-06 there, 1e-05 now"):
        began(tmp_path, rate=1e-5).run()
    (tmp_path / "grpo" / "began-0.json").write_text(json.dumps(["x"]))
    with pytest.raises(ConfigError, match="not a note of a training"):
        began(tmp_path).run()
