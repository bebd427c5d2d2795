"""SFT on a tiny policy: it learns, resumes exactly, keeps types, and leaves a model that loads with its
tokenizer.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sums import GOOD, HALF, edit, exercise

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

    from loriner.train.estimate import of_sft
    from loriner.train.sft import train_sft

    whole = config(policy, tmp_path / "whole")
    said: list[str] = []
    model = train_sft(whole, said.append)
    found = losses(whole)
    assert len(found) == of_sft(whole, 12).updates == 9  # 2.9 epochs of 3 updates, rounded up
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


def lines(path: Path) -> list[dict[str, Any]]:
    return list(map(json.loads, path.read_text().splitlines()))


def test_the_model_is_that_of_the_checkpoint_that_leaves_room(policy: Path, tmp_path: Path) -> None:
    """The tiny policy writes no edit, so the threshold is one that every checkpoint but none has."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    from loriner.train.exercise import save
    from loriner.train.sft import train_sft

    made, said = config(policy, tmp_path, samples=2, min_distinct=0, min_valid=0), list[str]()
    made = made.model_copy(update={"grpo": made.grpo.model_copy(update={"max_completion_tokens": 6})})
    save([exercise(number=7), exercise(number=8)], made.validation_file)
    with made.lessons_file.open("a") as file:
        file.write(json.dumps({**row(1), "task": "sums+varied"}) + "\n")
    model = train_sft(made, said.append)
    assert said[0] == "1 rows are of families held out for validation and are left out; 12 stay"
    found = lines(made.output / "sft" / "checkpoints.jsonl")
    assert [each["update"] for each in found] == [4, 8, 9], "all are kept, the last one too"
    assert [each["chosen"] for each in found] == [False, False, True]
    assert {each["n_contexts"] for each in found} == {each["n_samples"] for each in found} == {2}
    samples = lines(made.output / "sft" / "samples.jsonl")
    assert len(samples) == 3 * 2 * 2 and all(each["completion"] for each in samples)
    assert "the model is that of update 9" in said[-1]

    adapter = made.output / "sft" / "checkpoints" / "checkpoint-9"
    base = AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32)
    merged = PeftModel.from_pretrained(base, str(adapter)).merge_and_unload().bfloat16().state_dict()
    assert all(
        torch.equal(weight, merged[name])
        for name, weight in AutoModelForCausalLM.from_pretrained(model).state_dict().items()
    )


def test_a_sampler_can_take_the_place_of_generate(policy: Path, tmp_path: Path) -> None:
    from loriner.train.exercise import save
    from loriner.train.sft import chosen, train_sft

    made = config(policy, tmp_path, min_distinct=2)
    train_sft(made, lambda _: None)
    with pytest.raises(ConfigError, match=r"validation\.jsonl: no such file"):
        chosen(made, print)
    save([exercise(number=7)], made.validation_file)
    writes = {4: [edit(GOOD)] * 8, 8: [edit(GOOD), edit(HALF)] * 4, 9: ["prose"] * 8}

    def sampler(checkpoint: Path, exercises: Any, n: int) -> list[list[str]]:
        return [writes[int(checkpoint.name.removeprefix("checkpoint-"))][:n]]

    assert chosen(made, lambda _: None, sampler).name == "checkpoint-8"


def test_checkpoints_sampled_one_after_the_other_are_each_their_own(policy: Path, tmp_path: Path) -> None:
    from loriner.train.rollouts import CheckpointSampler
    from loriner.train.settings import GrpoTable
    from loriner.train.sft import train_sft

    made = config(policy, tmp_path, learning_rate=0.1)
    train_sft(made, lambda _: None)
    saved = made.output / "sft" / "checkpoints"
    sampler = CheckpointSampler(str(policy), GrpoTable(max_completion_tokens=12, chunk=3), {}, 0)
    rows = [exercise(number=0), exercise(number=1)]
    first, second, again = (sampler(saved / f"checkpoint-{n}", rows, 2) for n in (4, 9, 4))
    assert first == again != second
    assert [len(each) for each in first] == [2, 2]


def spoiling(monkeypatch: pytest.MonkeyPatch, spoilt: Callable[[int], bool]) -> None:
    """Has the backward pass of the n-th micro-batch, from 0, give no numbers where `spoilt(n)` says so."""
    from loriner.train import sft

    load, passes = sft.load_policy, count()

    def load_spoilt(base: str) -> tuple[Any, Any]:
        model, tokenizer = load(base)

        def hook(module: Any, inputs: Any, output: Any) -> Any:
            n = next(passes)
            if output.requires_grad:
                output.register_hook(lambda grad: grad * float("nan") if spoilt(n) else grad)
            return output

        model.model.layers[-1].mlp.register_forward_hook(hook)
        return model, tokenizer

    monkeypatch.setattr(sft, "load_policy", load_spoilt)


def test_an_update_without_a_finite_gradient_is_left_out(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    from loriner.train.sft import train_sft

    spoiling(monkeypatch, lambda n: n == 5)  # two micro-batches an update: the third
    said: list[str] = []
    made = config(policy, tmp_path)
    model = train_sft(made, said.append)
    assert [line for line in said if "left out" in line] == ["update 3 left out: its gradient is not finite"]
    found = losses(made)
    assert len(found) == 9 and found[-1] < found[0] - 0.5
    assert all(
        torch.isfinite(each).all() for each in AutoModelForCausalLM.from_pretrained(model).parameters()
    )


def test_training_stops_when_no_gradient_is_finite(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loriner.train.finite_gradients import NotFinite
    from loriner.train.policy import last_checkpoint
    from loriner.train.sft import train_sft

    spoiling(monkeypatch, lambda n: n >= 4)
    made = config(policy, tmp_path)
    with pytest.raises(NotFinite, match="3 updates in a row"):
        train_sft(made, lambda _: None)
    assert last_checkpoint(made.output / "sft" / "checkpoints").name == "checkpoint-5"
    assert not made.sft_model.exists()
