"""SFT and GRPO from the command line on a tiny policy, to an exported model; a dead signal on the way."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from test_training_commands import Command, config, document, loriner

from stub_server import Stub

__all__ = ["config", "loriner"]


@pytest.mark.timeout(1800)  # four imports of a trainer: a minute, or ten on a crowded machine
def test_the_whole_line(loriner: Command, config: Path, policy: Path, stub: Stub, tmp_path: Path) -> None:
    shutil.copytree(policy, tmp_path / "policy")
    document(loriner("train", "contexts", str(config), "--json"))
    document(loriner("train", "teach", str(config), "--json"))
    tuned = loriner("train", "sft", str(config))
    assert tuned.returncode == 0, tuned.stderr
    assert tuned.stdout.strip() == "out/sft/model"
    shutil.copy(tmp_path / "out/contexts.jsonl", tmp_path / "out/validation.jsonl")
    stub.calls.clear()
    served = stub.url.partition("::")[0]
    chosen = loriner("train", "choose", str(config), "--at", served, "--set", "sft.samples=2")
    assert chosen.returncode == 0, chosen.stderr
    assert "the model is that of update 2: 0.0 different programs of 2, 0% valid (none of 1" in chosen.stderr
    assert chosen.stdout.strip() == "out/sft/model"
    assert [(each["model"], each["temperature"]) for each in stub.calls] == [("checkpoint-2", 1.0)] * 8
    dead = loriner("train", "grpo", str(config), "--set", "grpo.dead_after=1")
    assert dead.returncode == 1, dead.stderr
    assert "no group had rewards that differ" in dead.stderr
    trained = loriner("train", "grpo", str(config))
    assert trained.returncode == 0, trained.stderr
    assert trained.stdout.strip() == "out/grpo/model"
    lines = [json.loads(line) for line in (tmp_path / "out/grpo/updates.jsonl").read_text().splitlines()]
    assert [line["update"] for line in lines] == [1, 2]
    shown = document(loriner("train", "choices", "out/grpo/rollouts.jsonl", "--json"))
    assert shown["out/grpo/rollouts.jsonl"]["written"]["n"] == 0, "a random policy writes no edit"
    empty = loriner("train", "choices", "out/grpo/rollouts.jsonl")
    assert "out/grpo/rollouts.jsonl: no valid revision" in empty.stderr
    assert (tmp_path / "out/grpo/model/tokenizer.json").exists()
