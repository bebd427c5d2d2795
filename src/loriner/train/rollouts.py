"""Completions of the policy without an inference server: `generate`, in chunks, from a bfloat16 copy.

A step of `generate` takes its time whatever the batch (docs/training.md), so chunks should be as large as the
memory allows.

The copy is refreshed once an update. Generating from the masters themselves would cast every weight at every
token, and the library's own faster path turns them into bfloat16 for good. Source: docs/training.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from loriner.errors import MissingExtra
from loriner.train.exercise import Exercise
from loriner.train.policy import chat, load_policy, prompt_ids
from loriner.train.settings import GrpoTable

try:
    import torch
    from peft import PeftModel
    from peft.tuners.tuners_utils import BaseTunerLayer
except ModuleNotFoundError as error:
    raise MissingExtra("train", "training a proposer") from error


class Rollouts:
    """What TRL calls a rollout function: prompts in, token ids out; one completion for each prompt given."""

    def __init__(self, table: GrpoTable, chat_options: dict[str, Any]) -> None:
        self._table = table
        self._chat = chat_options
        self._copy: Any = None

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        """`prompt_ids` and `completion_ids`, in the order of `prompts`. No log-probabilities: training is
        on-policy.
        """
        shown = [prompt_ids(trainer.processing_class, prompt, self._chat) for prompt in prompts]
        policy = self.refreshed(trainer.accelerator.unwrap_model(trainer.model))
        pad = trainer.processing_class.pad_token_id
        written = self.written(policy, shown, pad, trainer.eos_token_ids)
        return {"prompt_ids": shown, "completion_ids": written, "logprobs": None}

    def written(self, policy: Any, shown: Sequence[list[int]], pad: int, ends: list[int]) -> list[list[int]]:
        """A completion of each prompt, in token ids; prompts of like length are together in a chunk."""
        order = sorted(range(len(shown)), key=lambda at: len(shown[at]))
        written: list[list[int]] = [[] for _ in shown]
        for start in range(0, len(order), self._table.chunk):
            places = order[start : start + self._table.chunk]
            found = self._generated(policy, [shown[at] for at in places], pad, ends)
            for at, ids in zip(places, found, strict=True):
                written[at] = ids
        return written

    def refreshed(self, policy: Any) -> Any:
        """The copy with the policy's present weights, an adapter merged in. The policy is not touched."""
        plain = policy.get_base_model() if isinstance(policy, PeftModel) else policy
        if self._copy is None:
            kind = torch.bfloat16 if plain.device.type == "cuda" else torch.float32
            self._copy = _plain_copy(plain).to(kind).eval()
        with torch.no_grad():
            targets = dict(self._copy.named_parameters())
            for name, weight in merged_weights(plain):
                targets[name].copy_(weight)
        return self._copy

    @torch.no_grad()  # type: ignore[untyped-decorator,unused-ignore]
    def _generated(self, policy: Any, shown: list[list[int]], pad: int, ends: list[int]) -> list[list[int]]:
        longest = max(map(len, shown))
        device = policy.device
        ids = torch.tensor([[pad] * (longest - len(each)) + each for each in shown], device=device)
        mask = torch.tensor([[0] * (longest - len(each)) + [1] * len(each) for each in shown], device=device)
        found = policy.generate(
            input_ids=ids,
            attention_mask=mask,
            do_sample=True,
            temperature=self._table.temperature,
            top_p=1.0,
            top_k=0,
            max_new_tokens=self._table.max_completion_tokens,
            pad_token_id=pad,
            eos_token_id=ends,
        )
        return [_until_end(row, ends) for row in found[:, longest:].tolist()]


class CheckpointSampler:
    """Samples of the checkpoints of an adapter, one after the other, from one base (`choosing.Sampler`)."""

    def __init__(self, base: str, table: GrpoTable, chat_options: dict[str, Any], seed: int) -> None:
        self._model, self._tokenizer = load_policy(base)
        if torch.cuda.is_available():
            self._model.to("cuda")
        self._rollouts = Rollouts(table, chat_options)
        self._chat, self._seed = chat_options, seed

    def __call__(self, checkpoint: Path, exercises: Sequence[Exercise], n: int) -> list[list[str]]:
        torch.manual_seed(self._seed)
        prompts = [prompt_ids(self._tokenizer, chat(each.messages), self._chat) for each in exercises]
        adapted = PeftModel.from_pretrained(self._model, str(checkpoint))
        policy = self._rollouts.refreshed(adapted)
        self._model = adapted.unload()
        shown = [each for each in prompts for _ in range(n)]
        ids = self._rollouts.written(
            policy, shown, self._tokenizer.pad_token_id, _ends(policy, self._tokenizer)
        )
        texts = self._tokenizer.batch_decode(ids, skip_special_tokens=True)
        return [texts[at : at + n] for at in range(0, len(texts), n)]


def _ends(policy: Any, tokenizer: Any) -> list[int]:
    """The tokens that end a completion: the tokenizer's, and those of the model's own configuration."""
    own = policy.generation_config.eos_token_id
    listed = own if isinstance(own, list) else [own]
    return sorted({tokenizer.eos_token_id, *(each for each in listed if each is not None)})


def merged_weights(plain: Any) -> list[tuple[str, Any]]:
    """Name and value of every weight of the model without its adapter, the adapter's part added."""
    weights = {}
    for name, module in plain.named_modules():
        if isinstance(module, BaseTunerLayer):
            base = module.get_base_layer()
            weights[f"{name}.weight"] = base.weight + sum(
                module.get_delta_weight(each) for each in module.active_adapters
            )
            if getattr(base, "bias", None) is not None:
                weights[f"{name}.bias"] = base.bias
    for name, weight in plain.named_parameters():
        if ".lora_" not in name and ".base_layer." not in name:
            weights.setdefault(name, weight)
    return list(weights.items())


def _plain_copy(plain: Any) -> Any:
    """A model of the same shape without adapter layers or a trainer's changes."""
    with torch.random.fork_rng():
        copy = type(plain)(deepcopy(plain.config))
    copy.generation_config = deepcopy(plain.generation_config)
    return copy.to(plain.device)


def _until_end(ids: list[int], ends: Sequence[int]) -> list[int]:
    """The ids up to and including the first end token; never empty."""
    at = next((place for place, each in enumerate(ids) if each in ends), len(ids) - 1)
    return ids[: at + 1]
