"""The policy's weights: loaded with float32 masters, saved as one merged model with its tokenizer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loriner.errors import ConfigError, MissingExtra
from loriner.models.base import Message
from loriner.train.settings import AdapterTable

try:
    import torch
    from datasets import disable_progress_bars
    from peft import LoraConfig, PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar
except ModuleNotFoundError as error:
    raise MissingExtra("train", "training a proposer") from error


def load_policy(base: str) -> tuple[Any, Any]:
    """Model and tokenizer of a directory or hub name.

    The masters are float32: a step of 1e-6 rounds to nothing in bfloat16. Source: docs/training.md. cuDNN's
    attention is switched off for the process: with a mask, and a padded length of 64 over a multiple of 128,
    its backward pass can give no number on Hopper GPUs. Source: pytorch/pytorch issue 196678.

    Raises:
        ConfigError: they cannot be loaded, or the tokenizer has no chat template.
    """
    disable_progress_bar()
    disable_progress_bars()
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(base, padding_side="left")
    except (OSError, ValueError) as error:
        raise ConfigError(f"the policy {base} cannot be loaded: {str(error).splitlines()[0]}") from None
    if tokenizer.chat_template is None:
        raise ConfigError(f"the tokenizer of {base} has no chat template: use an instruction-tuned model")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer


def lora(table: AdapterTable) -> Any:
    """An adapter on every linear layer but the output head."""
    return LoraConfig(
        r=table.rank,
        lora_alpha=table.alpha,
        lora_dropout=0.0,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def export_policy(base: str, trained: Path, directory: Path) -> None:
    """Writes what a trainer saved in `trained` as one bfloat16 model with its tokenizer.

    Read from files, so it does not matter how the trainer had spread the weights. An adapter is merged into
    `base`.
    """
    model, tokenizer = load_policy(base if (trained / "adapter_config.json").exists() else str(trained))
    if (trained / "adapter_config.json").exists():
        model = PeftModel.from_pretrained(model, str(trained)).merge_and_unload()
    directory.mkdir(parents=True, exist_ok=True)
    model.to(torch.bfloat16).save_pretrained(directory)
    tokenizer.save_pretrained(directory)


def checkpoints(directory: Path) -> list[tuple[int, Path]]:
    """The whole checkpoints of a trainer with their steps, the earliest first."""
    return sorted(
        (int(match.group(1)), path)
        for path in directory.glob("checkpoint-*")
        if (match := re.fullmatch(r"checkpoint-(\d+)", path.name)) and (path / "trainer_state.json").exists()
    )


def last_checkpoint(directory: Path, every: int = 1) -> Path | None:
    """The checkpoint of the most steps, of those whose steps `every` divides; or None."""
    found = [path for steps, path in checkpoints(directory) if steps % every == 0]
    return found[-1] if found else None


def chat(messages: Sequence[Message]) -> list[dict[str, str]]:
    """The messages as libraries write them."""
    return [{"role": each.role, "content": each.content} for each in messages]


def prompt_ids(
    tokenizer: Any, messages: Sequence[Mapping[str, str]], options: Mapping[str, Any]
) -> list[int]:
    """The tokens of a prompt, up to where the assistant begins."""
    found: list[int] = tokenizer.apply_chat_template(
        list(messages), add_generation_prompt=True, tokenize=True, return_dict=False, **options
    )
    return found


def types(model: Any) -> dict[str, str]:
    """The type of every parameter, by name."""
    return {name: str(each.dtype) for name, each in model.named_parameters()}


def device_options(*, checkpointing: bool = True) -> dict[str, Any]:
    """Precision and device for a trainer: bfloat16 autocast on a GPU, float32 on a CPU."""
    if torch.cuda.is_available():
        return {"bf16": True, "gradient_checkpointing": checkpointing}
    return {"use_cpu": True, "bf16": False, "gradient_checkpointing": False}
