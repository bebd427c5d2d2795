"""SFT on a tiny policy: it learns, resumes exactly, keeps types, and leaves a model that loads with its
tokenizer.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from sums import GOOD, edit, exercise

from loriner.errors import ConfigError
from loriner.train.settings import TrainConfig

pytestmark = pytest.mark.filterwarnings(
    "ignore:::transformers", "ignore:::torch", "ignore:::trl", "ignore:::peft"
)


def config(policy: Path, output: Path, n_rows: int = 12, **table: object) -> TrainConfig:
    made = TrainConfig.model_validate(
        {
            "name": "tiny",
            "output": output,
            "solver": "scripted:echo",
            "policy": {"base": str(policy), "n_parameters": 2e5},
            "contexts": {"tasks": ["sums"]},
            "sft": {
                "adapter": {"rank": 4, "alpha": 8},
                "batch": 4,
                "device_batch": 2,
                "learning_rate": 1e-2,
                "max_tokens": 256,
                "save_every": 4,
                **table,
            },
        }
    )
    made.output.mkdir(parents=True, exist_ok=True)
    made.lessons_file.write_text("".join(json.dumps(row(n)) + "\n" for n in range(n_rows)))
    return made


def row(number: int) -> dict[str, object]:
    shown = exercise(number=number).messages
    return {
        "prompt": [{"role": each.role, "content": each.content} for each in shown],
        "completion": [{"role": "assistant", "content": edit(GOOD)}],
    }


def losses(made: TrainConfig) -> list[float]:
    lines = map(json.loads, (made.output / "sft" / "log.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if "loss" in line]


def test_it_learns_saves_and_resumes_exactly(policy: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from loriner.train.sft import n_updates, train_sft

    whole = config(policy, tmp_path / "whole")
    said: list[str] = []
    model = train_sft(whole, said.append)
    found = losses(whole)
    assert len(found) == n_updates(12, whole) == 9  # 2.9 epochs of 3 updates, rounded up
    assert found[-1] < found[0] - 0.5
    assert said[-1].startswith("update 9/9: loss ")

    resumed = config(policy, tmp_path / "resumed")
    shutil.copytree(
        whole.output / "sft" / "checkpoints" / "checkpoint-8",
        resumed.output / "sft" / "checkpoints" / "checkpoint-8",
    )
    train_sft(resumed, said.append)
    assert losses(resumed) == found

    loaded = AutoModelForCausalLM.from_pretrained(model)
    again = AutoModelForCausalLM.from_pretrained(resumed.sft_model)
    base = AutoModelForCausalLM.from_pretrained(policy)
    assert AutoTokenizer.from_pretrained(model).chat_template
    for name, weight in loaded.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name])
    moved = [
        n
        for n, w in loaded.state_dict().items()
        if not torch.allclose(w.float(), base.state_dict()[n], atol=1e-2)
    ]
    assert any("q_proj" in name for name in moved)
    assert not any("norm" in name for name in moved)


def test_a_row_that_does_not_fit_is_refused_before_training(policy: Path, tmp_path: Path) -> None:
    from loriner.train.sft import train_sft

    with pytest.raises(ConfigError, match=r"12 of 12 rows exceed sft.max_tokens = 64"):
        train_sft(config(policy, tmp_path, max_tokens=64))


def test_missing_rows_name_the_command(policy: Path, tmp_path: Path) -> None:
    from loriner.train.sft import train_sft

    made = config(policy, tmp_path)
    made.lessons_file.unlink()
    with pytest.raises(ConfigError, match="loriner train teach"):
        train_sft(made)


def test_a_batch_must_divide(policy: Path, tmp_path: Path) -> None:
    from loriner.train.sft import train_sft

    with pytest.raises(ConfigError, match=r"sft\.device_batch"):
        train_sft(config(policy, tmp_path, batch=5))
