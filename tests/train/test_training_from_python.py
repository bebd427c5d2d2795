"""Training started from Python: contexts, teacher data, and the rewards that a trainer asks for."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import loriner as lo
from additions import TRAINING, additions
from loriner.propose.catalogue import catalogue_proposer
from loriner.train.contexts import State
from loriner.train.exercise import load
from loriner.train.settings import TrainConfig
from loriner.verbs.training import reward_engine
from stub_server import Stub


@pytest.fixture
def config(tmp_path: Path, stub: Stub) -> TrainConfig:
    folder = additions(tmp_path, 60)
    path = tmp_path / "training.toml"
    path.write_text(TRAINING.format(output=tmp_path / "out", solver=stub.url, folder=folder))
    return lo.training_file(path, "seed=3")


def test_a_trainer_gets_rewards_contexts_and_scores_from_plain_code(
    config: TrainConfig, tmp_path: Path
) -> None:
    told: list[str] = []
    with lo.open(tmp_path / "home") as lab:
        assert lab.contexts(config)["n"] == 2
        exercises = load(config.contexts_file)
        written = asyncio.run(catalogue_proposer().write(exercises[0].context, 0)).text
        with reward_engine(lab.door, config, told.append) as engine:
            good, none = engine.scored([exercises[0], exercises[0]], [written, "no edit"], [0, 1])
            drawn = engine.redraw([State(task="sums", harness=exercises[0].context.harness)], 2, 1)
            seeds, run_id = engine.unrevised(exercises), engine.run_id
        store = lab.door.inside.store
        run = store.run(run_id)
    assert good.reward is not None and none.reward is not None
    assert (good.reward.score, good.reward.applied, none.reward.total) == (1.0, True, 0.0)
    assert seeds == [0.0, 0.0] and [each.context.task for each in drawn] == ["sums", "sums"]
    assert (run.command, run.status, run.seed) == ("train grpo", "done", 3)


def test_the_teacher_s_data_is_kept_and_reported(config: TrainConfig, tmp_path: Path) -> None:
    with lo.open(tmp_path / "home") as lab:
        lab.contexts(config)
        found = lab.teach(config)
    assert found["n_kept"] > 0 and found["after"] > found["before"]
    assert json.loads((config.output / "lessons-report.json").read_text())["n_kept"] == found["n_kept"]
    assert len(config.lessons_file.read_text().splitlines()) > 0


def test_without_contexts_training_says_what_to_do_first(config: TrainConfig, tmp_path: Path) -> None:
    with (
        lo.open(tmp_path / "home") as lab,
        pytest.raises(lo.LorinerError, match="train contexts"),
    ):
        lab.grpo(config, start="base")
