"""On a GPU: bfloat16 autocast leaves the masters float32, a resume restores them, vLLM follows the policy."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "train"))


def without_gpu() -> bool:
    if any(importlib.util.find_spec(name) is None for name in ("torch", "trl")):
        return True
    import torch

    return not torch.cuda.is_available()


pytestmark = [
    pytest.mark.skipif(without_gpu(), reason="needs a CUDA device and the extra [train]"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.mark.parametrize("length", [640, 704, 2496])
def test_masked_attention_has_a_finite_gradient_whatever_the_length(tmp_path: Path, length: int) -> None:
    """A head whose scores are all far below zero, as Qwen2.5 has; 64 over a multiple of 128 is what fails."""
    import torch
    from tiny import make_policy
    from torch.nn.functional import scaled_dot_product_attention

    from loriner.train.policy import load_policy

    load_policy(str(make_policy(tmp_path / "policy")))
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 1, 1, length, 64, device="cuda", dtype=torch.bfloat16)
    query[..., 0], key[..., 0] = 10.0, -100.0
    given = [each.requires_grad_() for each in (query, key, value)]
    mask = torch.ones(length, length, dtype=torch.bool, device="cuda").tril()[None, None]
    scaled_dot_product_attention(*given, attn_mask=mask).sum().backward()
    assert all(torch.isfinite(each.grad).all() for each in given)


@pytest.mark.parametrize("generation", ["generate", "vllm_colocate"])
@pytest.mark.parametrize("adapter", [None, {"rank": 8, "alpha": 16}], ids=["full", "lora"])
def test_two_updates_and_a_resume(tmp_path: Path, generation: str, adapter: object) -> None:
    if generation == "vllm_colocate" and importlib.util.find_spec("vllm") is None:
        pytest.skip("needs vllm")
    from sums import exercise, vowels
    from tiny import make_policy

    from loriner.train.grpo import train_grpo
    from loriner.train.settings import TrainConfig

    policy = make_policy(tmp_path / "policy")
    config = TrainConfig.model_validate(
        {
            "name": "gpu",
            "output": tmp_path / "out",
            "solver": "scripted:echo",
            "policy": {"base": str(policy), "n_parameters": 2e5},
            "contexts": {"tasks": ["sums"], "n": 8, "max_prompt_tokens": 512},
            "grpo": {
                "contexts_per_update": 2,
                "completions": 8,
                "device_batch": 16,
                "learning_rate": 1e-6,
                "max_completion_tokens": 32,
                "save_every": 2,
                "generation": generation,
                "vllm_memory": 0.1,
                "adapter": adapter,
                "epochs": 2,
            },
        }
    )

    said: list[str] = []
    exercises = [exercise(number=number) for number in range(8)]
    model = train_grpo(config, str(policy), lambda epoch: exercises, vowels, tell=said.append)
    assert [line.split(":")[0] for line in said] == [f"update {n}/8" for n in range(1, 9)]
    assert (model / "config.json").exists()
