"""Supervised fine-tuning of the policy on a teacher's revisions: a LoRA adapter, merged at the end.

Where there are validation contexts, the model is that of the last checkpoint that leaves room to learn
(`choosing`); else of the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from loriner.errors import ConfigError, MissingExtra
from loriner.train import jsonl
from loriner.train.choosing import Sampler, choose, without_held_out
from loriner.train.exercise import load
from loriner.train.finite_gradients import FiniteUpdates
from loriner.train.policy import (
    checkpoints,
    device_options,
    export_policy,
    last_checkpoint,
    load_policy,
    lora,
    prompt_ids,
)
from loriner.train.rollouts import CheckpointSampler
from loriner.train.settings import TrainConfig

try:
    from datasets import Dataset
    from transformers import PrinterCallback, TrainerCallback
    from trl import SFTConfig, SFTTrainer
except ModuleNotFoundError as error:
    raise MissingExtra("train", "training a proposer") from error


def train_sft(config: TrainConfig, tell: Callable[[str], None] = print) -> Path:
    """The directory of the merged model. Goes on from the last checkpoint if there is one.

    Rows of the validation contexts' families are left out.

    Raises:
        ConfigError: no rows, a row too long, or a batch that does not divide over devices.
        NotFinite: the gradients of several updates in a row were not finite; a checkpoint was written.
    """
    model, tokenizer = load_policy(config.policy.base)
    rows = training_rows(config, tell)
    require_short(rows, tokenizer, config)
    saved, finite = config.output / "sft" / "checkpoints", FiniteUpdates(tell)
    trainer = SFTTrainer(
        model=model,
        args=_arguments(config, saved),
        train_dataset=Dataset.from_list([_features(row, config) for row in rows]),
        processing_class=tokenizer,
        peft_config=lora(config.sft.adapter),
        callbacks=[_Told(tell), finite],
    )
    trainer.remove_callback(PrinterCallback)
    last = last_checkpoint(saved)
    trainer.train(resume_from_checkpoint=None if last is None else str(last))
    finite.require_ended_well()
    adapter = config.output / "sft" / "adapter"
    trainer.save_model(str(adapter))
    if trainer.is_world_process_zero():
        jsonl.write(config.output / "sft" / "log.jsonl", trainer.state.log_history)
        if config.sft.samples and config.validation_file.exists():
            model.cpu()
            adapter = chosen(config, tell)
        export_policy(config.policy.base, adapter, config.sft_model)
    trainer.accelerator.end_training()
    return config.sft_model


def chosen(config: TrainConfig, tell: Callable[[str], None], sampler: Sampler | None = None) -> Path:
    """The checkpoint that the settings choose by its samples in the validation contexts.

    `sampler` takes the place of `generate`.

    Raises:
        ConfigError: no validation contexts, no checkpoint, or `sft.samples` is 0.
    """
    if not config.sft.samples:
        raise ConfigError("sft.samples = 0: give the completions by which checkpoints are told apart")
    exercises = load(config.validation_file)
    if sampler is None:
        table = config.grpo.model_copy(update={"temperature": 1.0})
        sampler = CheckpointSampler(config.policy.base, table, config.policy.chat, config.seed)
    directory = config.output / "sft"
    found = checkpoints(directory / "checkpoints")
    return choose(found, exercises, sampler, config.sft, directory, tell)


def training_rows(config: TrainConfig, tell: Callable[[str], None]) -> list[dict[str, Any]]:
    """The rows of the teacher without those of held-out families.

    Raises:
        ConfigError: there are none.
    """
    rows = read_rows(config.lessons_file)
    if not config.validation_file.exists():
        return rows
    rows, n_left = without_held_out(rows, load(config.validation_file))
    if n_left:
        tell(f"{n_left} rows are of families held out for validation and are left out; {len(rows)} stay")
    if not rows:
        raise ConfigError(
            f"every row of {config.lessons_file} is of a family in {config.validation_file}: hold out fewer"
        )
    return rows


class _Told(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Says how an update went."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        if state.is_world_process_zero and logs and "loss" in logs:
            self.tell(f"update {state.global_step}/{state.max_steps}: loss {float(logs['loss']):.3f}")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The chat rows of a teacher.

    Raises:
        ConfigError: there are none, or a line is none.
    """
    try:
        rows = jsonl.read(path)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; write it with: loriner train teach CONFIG") from None
    if not rows:
        raise ConfigError(f"{path} holds no rows: the teacher's report says why each was dropped")
    return rows


def require_short(rows: list[dict[str, Any]], tokenizer: Any, config: TrainConfig) -> None:
    """Passes rows that fit. A trainer would cut the others without a word, completions first.

    Raises:
        ConfigError: how many do not, and the longest.
    """
    lengths = [_length(row, tokenizer, config) for row in rows]
    over = sum(length > config.sft.max_tokens for length in lengths)
    if over:
        raise ConfigError(
            f"{over} of {len(rows)} rows exceed sft.max_tokens = {config.sft.max_tokens} (the longest has "
            f"{max(lengths)}): raise it, or lower contexts.max_prompt_tokens and draw and teach again"
        )


def _length(row: dict[str, Any], tokenizer: Any, config: TrainConfig) -> int:
    shown = prompt_ids(tokenizer, row["prompt"], config.policy.chat)
    return len(shown) + len(tokenizer.encode(row["completion"][0]["content"], add_special_tokens=False)) + 2


def _features(row: dict[str, Any], config: TrainConfig) -> dict[str, Any]:
    features = {"prompt": row["prompt"], "completion": row["completion"]}
    return {**features, "chat_template_kwargs": config.policy.chat} if config.policy.chat else features


def _arguments(config: TrainConfig, checkpoints: Path) -> Any:
    table, each = config.sft, config.sft.device_batch * config.hardware.processes
    if table.batch % each:
        raise ConfigError(
            f"sft.batch = {table.batch} is no multiple of {table.device_batch} rows on "
            f"{config.hardware.processes} devices: change sft.device_batch"
        )
    return SFTConfig(
        output_dir=str(checkpoints),
        num_train_epochs=table.epochs,
        learning_rate=table.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=5,
        per_device_train_batch_size=table.device_batch,
        gradient_accumulation_steps=table.batch // each,
        max_length=table.max_tokens,
        completion_only_loss=True,
        logging_steps=1,
        save_steps=table.save_every,
        seed=config.seed,
        report_to="none",
        disable_tqdm=True,
        **device_options(),
    )
