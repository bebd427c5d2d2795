"""The silent failures of trainers, each with the guard that catches it, and generation from a copy."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from loriner.errors import ConfigError
from loriner.train.settings import AdapterTable, GrpoTable

pytestmark = pytest.mark.filterwarnings(
    "ignore:::transformers", "ignore:::torch", "ignore:::trl", "ignore:::peft"
)

PROMPT = [{"role": "user", "content": "Revise this program."}]


def adapted(policy: Path) -> tuple[Any, Any]:
    from peft import get_peft_model

    from loriner.train.policy import load_policy, lora

    model, tokenizer = load_policy(str(policy))
    return get_peft_model(model, lora(AdapterTable(rank=4, alpha=8))), tokenizer


def trainer_of(model: Any, tokenizer: Any) -> Any:
    return SimpleNamespace(
        model=model,
        processing_class=tokenizer,
        accelerator=SimpleNamespace(unwrap_model=lambda each: each),
        eos_token_ids=[tokenizer.eos_token_id],
    )


def logits(model: Any, tokenizer: Any) -> Any:
    import torch

    ids = tokenizer("def solve(model, question):", return_tensors="pt").input_ids
    with torch.no_grad():
        return model(ids).logits


def nudge(model: Any) -> None:
    """Moves every trainable weight a little, as an update does."""
    import torch

    torch.manual_seed(1)
    with torch.no_grad():
        for each in model.parameters():
            if each.requires_grad:
                each.add_(0.05 * torch.randn_like(each))


def test_no_policy_is_trained_through_the_attention_that_loses_gradients(policy: Path) -> None:
    import torch

    from loriner.train.policy import load_policy

    torch.backends.cuda.enable_cudnn_sdp(True)
    load_policy(str(policy))
    assert not torch.backends.cuda.cudnn_sdp_enabled()


def test_the_policy_is_loaded_with_float32_masters(policy: Path) -> None:
    from loriner.train.grpo import require_full_precision
    from loriner.train.policy import load_policy, types

    model, _ = load_policy(str(policy))
    require_full_precision(types(model))
    with pytest.raises(ConfigError, match=r"is torch.bfloat16"):
        require_full_precision(types(model.bfloat16()))


def test_figures_that_are_no_numbers_are_left_out_of_the_journal() -> None:
    from loriner.train.grpo import _figures

    assert _figures({"loss": 0.5, "grad_norm": None, "entropy": float("nan")}) == {"loss": 0.5}


def test_a_cast_during_training_is_caught(policy: Path) -> None:
    from loriner.train.grpo import require_same_types
    from loriner.train.policy import load_policy, types

    model, _ = load_policy(str(policy))
    before = types(model)
    require_same_types(before, types(model))
    with pytest.raises(ConfigError, match="changed their type in an update"):
        require_same_types(before, types(model.bfloat16()))


def test_an_adapter_that_was_not_restored_is_caught(policy: Path, tmp_path: Path) -> None:
    from loriner.train.grpo import require_reloaded

    model, _ = adapted(policy)
    nudge(model)
    model.save_pretrained(tmp_path)
    require_reloaded(model, tmp_path)
    fresh, _ = adapted(policy)
    with pytest.raises(ConfigError, match="was not restored"):
        require_reloaded(fresh, tmp_path)


def test_whole_weights_that_were_not_restored_are_caught(policy: Path, tmp_path: Path) -> None:
    from loriner.train.grpo import require_reloaded
    from loriner.train.policy import load_policy

    model, _ = load_policy(str(policy))
    require_reloaded(model, policy)
    nudge(model)
    with pytest.raises(ConfigError, match="was not restored"):
        require_reloaded(model, policy)


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_what_generates_follows_every_update_and_leaves_the_policy_alone(policy: Path, kind: str) -> None:
    import torch

    from loriner.train.policy import load_policy
    from loriner.train.rollouts import Rollouts

    model, tokenizer = load_policy(str(policy)) if kind == "full" else adapted(policy)
    rollouts = Rollouts(GrpoTable(), {})
    before = {name: each.clone() for name, each in model.state_dict().items()}
    first = logits(rollouts.refreshed(model), tokenizer)
    assert torch.allclose(first, logits(model.eval(), tokenizer), atol=1e-5)
    assert all(torch.equal(before[name], each) for name, each in model.state_dict().items())
    nudge(model)
    second = logits(rollouts.refreshed(model), tokenizer)
    assert torch.allclose(second, logits(model.eval(), tokenizer), atol=1e-5)
    assert (second - first).abs().max() > 1e-2


def test_generation_in_chunks_keeps_the_order_and_is_never_empty(policy: Path) -> None:
    import torch

    from loriner.train.policy import load_policy
    from loriner.train.rollouts import Rollouts

    model, tokenizer = load_policy(str(policy))
    prompts = [PROMPT, [{"role": "user", "content": "x = 1\n" * 9}], PROMPT, PROMPT, PROMPT]
    torch.manual_seed(0)
    table = GrpoTable(chunk=2, max_completion_tokens=9)
    found = Rollouts(table, {})(prompts, trainer_of(model, tokenizer))
    shown = [tokenizer.apply_chat_template(p, add_generation_prompt=True, return_dict=False) for p in prompts]
    assert found["prompt_ids"] == shown
    assert [1 <= len(ids) <= 9 for ids in found["completion_ids"]] == [True] * 5


def test_a_completion_ends_with_its_first_end_token(policy: Path) -> None:
    import torch

    from loriner.train.policy import load_policy
    from loriner.train.rollouts import Rollouts

    model, tokenizer = load_policy(str(policy))
    trainer = trainer_of(model, tokenizer)
    trainer.eos_token_ids = ends = list(range(0, model.config.vocab_size, 5))
    torch.manual_seed(0)
    table = GrpoTable(chunk=16, max_completion_tokens=9)
    found = Rollouts(table, {})([PROMPT] * 16, trainer)["completion_ids"]
    assert all(each not in ends for ids in found for each in ids[:-1])
    assert len(set(map(len, found))) > 2, "some end early, and not all at once"


def test_merged_weights_equal_the_library_s_own_merge(policy: Path) -> None:
    import torch

    from loriner.train.rollouts import merged_weights

    model, _ = adapted(policy)
    nudge(model)
    ours = {name: weight.clone() for name, weight in merged_weights(model.get_base_model())}
    theirs = model.merge_and_unload().state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-6) for name in ours)
