"""Reinforcement learning of the policy: groups of revisions of one context, paid by what they gain when run.

One update takes `contexts_per_update` contexts in the order of the file, with `completions` rollouts each,
and makes `passes` steps of the optimizer with them. An epoch is one call of the trainer, so that a later
epoch can bring contexts drawn from the policy's own revisions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from loriner.errors import ConfigError, LorinerError, MissingExtra
from loriner.train.advantage import Pay
from loriner.train.choices import choices, figures
from loriner.train.exercise import Exercise, require_divisible
from loriner.train.finite_gradients import FiniteUpdates
from loriner.train.journal import Journal, RolloutRow, require_signal, summary
from loriner.train.patience import Rewards
from loriner.train.policy import (
    chat,
    device_options,
    export_policy,
    last_checkpoint,
    load_policy,
    lora,
    prompt_ids,
    types,
)
from loriner.train.reward import Scored
from loriner.train.rollouts import Rollouts
from loriner.train.settings import GrpoTable, TrainConfig

try:
    import torch
    from accelerate.utils import broadcast_object_list, gather_object
    from datasets import Dataset
    from safetensors.torch import load_file
    from transformers import PrinterCallback, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer
except ModuleNotFoundError as error:
    raise MissingExtra("train", "training a proposer") from error

Source = Callable[[int], Sequence[Exercise]]
"""The exercises of an epoch, counted from 0. It is asked in order, and again for a past epoch after a
resume.
"""

LOOK_BACK = 8
"""Updates whose revisions say together what the policy chooses: one update has few contexts of a family."""

_LOSSES: dict[str, dict[str, Any]] = {
    "grpo": {"loss_type": "grpo", "scale_rewards": "group"},
    "dr_grpo": {"loss_type": "dr_grpo", "scale_rewards": "none"},
    "dapo": {"loss_type": "dapo", "scale_rewards": "group", "epsilon_high": 0.28},
}
"""Source: GRPO, arXiv 2402.03300; Dr. GRPO, arXiv 2503.20783; DAPO, arXiv 2503.14476."""


def train_grpo(
    config: TrainConfig,
    base: str,
    source: Source,
    rewards: Rewards,
    *,
    tell: Callable[[str], None] = print,
    rollouts: Callable[[Sequence[Any], Any], dict[str, Any]] | None = None,
) -> Path:
    """The directory of the trained model. Goes on from the last checkpoint if there is one.

    `rollouts` takes the place of the configured generation, with the signature of `Rollouts`.

    Raises:
        ConfigError: contexts that do not divide into updates, or a batch that does not divide over devices.
        DeadSignal, NotFinite: nothing left to learn from; a checkpoint was written.
        InfrastructureError: the solver stayed away; the last checkpoint stands.
    """
    run = _Run(config, source, rewards, tell)
    model, tokenizer = load_policy(base)
    trainer = _Trainer(
        run,
        model=model,
        reward_funcs=[run.reward],
        args=run.arguments(tokenizer),
        train_dataset=run.dataset(0),
        processing_class=tokenizer,
        peft_config=None if config.grpo.adapter is None else lora(config.grpo.adapter),
        callbacks=[_Watch(run), run.finite],
        rollout_func=rollouts or run.generation(),
    )
    trainer.remove_callback(PrinterCallback)
    run.accelerator, run.started = trainer.accelerator, time.monotonic()
    for epoch in range(run.first_epoch(), config.grpo.epochs):
        run.train_epoch(trainer, epoch)
        if run.out_of_time():
            break
    final = config.output / "grpo" / "final"
    trainer.save_model(str(final))
    if trainer.is_world_process_zero():
        export_policy(base, final, config.grpo_model)
    trainer.accelerator.end_training()
    return config.grpo_model


class _Trainer(GRPOTrainer):  # type: ignore[misc,unused-ignore]  # untyped where the extra is absent
    """The library's trainer with our advantages: its own are the reward less the group's mean, always."""

    def __init__(self, run: _Run, **options: Any) -> None:
        self._paying = run
        super().__init__(**options)

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        made = super()._generate_and_score_completions(inputs)
        made["advantages"] = made["advantages"].new_tensor(self._paying.advantages)
        return made


class _Run:
    """What one process of a training keeps between the trainer's calls."""

    def __init__(
        self, config: TrainConfig, source: Source, rewards: Rewards, tell: Callable[[str], None]
    ) -> None:
        self.config, self.table = config, config.grpo
        self.checkpoints = config.output / "grpo" / "checkpoints"
        self.journal = Journal(config.output / "grpo")
        self.source, self.rewards, self.tell = source, rewards, tell
        self.exercises: Sequence[Exercise] = ()
        self.per_epoch = 0
        self.pending: dict[str, Any] = {}
        self.pay = pay_of(self.table)
        self.advantages: list[float] = []
        """Of this process's completions in the present batch."""
        self.finite = FiniteUpdates(tell)
        self.stopped: LorinerError | None = None
        self.started = self.clock = time.monotonic()
        self.accelerator: Any = None

    def arguments(self, tokenizer: Any) -> Any:
        table, processes = self.table, self.config.hardware.processes
        batch = table.contexts_per_update * table.completions
        if batch % (table.device_batch * processes):
            raise ConfigError(
                f"an update of {batch} completions is no multiple of {table.device_batch} on {processes} "
                "devices: change grpo.device_batch"
            )
        return GRPOConfig(
            output_dir=str(self.checkpoints),
            num_generations=table.completions,
            per_device_train_batch_size=table.device_batch,
            gradient_accumulation_steps=batch // (table.device_batch * processes),
            num_iterations=table.passes,
            learning_rate=table.learning_rate,
            lr_scheduler_type="constant",
            beta=table.beta,
            temperature=table.temperature,
            top_p=1.0,
            top_k=0,
            max_completion_length=table.max_completion_tokens,
            mask_truncated_completions=False,
            chat_template_kwargs=self.config.policy.chat or None,
            shuffle_dataset=False,
            logging_steps=1,
            save_steps=table.save_every * table.passes,
            save_total_limit=2,
            seed=self.config.seed,
            report_to="none",
            disable_tqdm=True,
            ddp_timeout=int(table.patience_s + 2 * table.deadline_s + 600),
            **_LOSSES[table.loss],
            **self._vllm(tokenizer),
            **device_options(checkpointing=table.checkpointing),
        )

    def _vllm(self, tokenizer: Any) -> dict[str, Any]:
        if self.table.generation == "generate":
            return {}
        longest = self._longest_prompt(tokenizer) + self.table.max_completion_tokens
        common = {"use_vllm": True, "vllm_max_model_length": longest}
        if self.table.generation == "vllm_server":
            return {**common, "vllm_mode": "server", "vllm_server_base_url": self.table.vllm_url}
        memory = self.table.vllm_memory
        return {**common, "vllm_mode": "colocate", "vllm_gpu_memory_utilization": memory}

    def _longest_prompt(self, tokenizer: Any) -> int:
        """Tokens to make room for. The contexts' cap is an estimate from characters, and texts full of digits
        have more; an eighth is for the contexts of later epochs.
        """
        options = self.config.policy.chat
        shown = [prompt_ids(tokenizer, chat(each.messages), options) for each in self.source(0)]
        return max(self.config.contexts.max_prompt_tokens, *map(len, shown)) * 9 // 8

    def generation(self) -> Rollouts | None:
        """Our own generation; None leaves it to the trainer's client of vLLM."""
        return Rollouts(self.table, self.config.policy.chat) if self.table.generation == "generate" else None

    def dataset(self, epoch: int) -> Any:
        """The exercises of the epoch as the trainer takes them: a prompt, and its place among the
        exercises.
        """
        if self.accelerator is not None:
            if self.main():
                self.source(epoch)  # one process draws what is not there yet; the others then read it
            self.accelerator.wait_for_everyone()
        self.exercises = self.source(epoch)
        n = require_divisible(len(self.exercises), self.table.contexts_per_update)
        if self.per_epoch not in (0, n):
            raise ConfigError(
                f"epoch {epoch} has {n} updates, the first had {self.per_epoch}: draw as many contexts"
            )
        self.per_epoch = n
        return Dataset.from_list(
            [{"prompt": chat(each.messages), "place": at} for at, each in enumerate(self.exercises)]
        )

    def first_epoch(self) -> int:
        """The epoch in which training goes on. After the last update it is the last one: it has nothing left
        to do, but it loads the checkpoint that is then saved as the model.
        """
        checkpoint = self.last_checkpoint()
        reached = 0 if checkpoint is None else self.n_updates(checkpoint) // self.per_epoch
        return min(reached, self.table.epochs - 1)

    def train_epoch(self, trainer: Any, epoch: int) -> None:
        checkpoint = self.last_checkpoint()
        if self.main():
            self.journal.cut_back(0 if checkpoint is None else self.n_updates(checkpoint))
        self.accelerator.wait_for_everyone()
        trainer.train_dataset = self.dataset(epoch)
        trainer.args.max_steps = (epoch + 1) * self.per_epoch * self.table.passes
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
        if self.stopped is not None:
            raise self.stopped
        self.finite.require_ended_well()

    def last_checkpoint(self) -> Path | None:
        """The last one between two batches: within one, its rollouts would be lost."""
        return last_checkpoint(self.checkpoints, self.table.passes)

    def n_updates(self, checkpoint: Path) -> int:
        """The updates that led to a checkpoint, whose name counts steps of the optimizer."""
        return int(checkpoint.name.rpartition("-")[2]) // self.table.passes

    def out_of_time(self) -> bool:
        """Whether the time that training may take is over, by the clock of the first process."""
        limit = self.table.max_minutes
        if limit is None:
            return False
        over: list[bool] = broadcast_object_list([time.monotonic() - self.started > 60 * limit])
        return over[0]

    def main(self) -> bool:
        return bool(self.accelerator.is_main_process)

    def reward(
        self, completions: Sequence[Any], place: Sequence[int], trainer_state: Any, **_: Any
    ) -> list[Any]:
        """The rewards of this process's completions, in their order; None for what could not be scored."""
        started = time.monotonic()
        generating = started - self.clock
        texts = [each[0]["content"] if isinstance(each, list) else each for each in completions]
        first = self.accelerator.process_index * len(texts)
        indices = [(first + at) % self.table.completions for at in range(len(texts))]
        exercises = [self.exercises[at] for at in place]
        scored = self.rewards(exercises, texts, indices)
        update = trainer_state.global_step // self.table.passes + 1
        rows = self._paid(update, gather_object(list(zip(exercises, scored, strict=True))))
        self.advantages = [each.advantage for each in rows[first : first + len(texts)]]
        self.clock = time.monotonic()
        self.pending = {
            "update": update,
            "paid": self.table.advantage,
            **summary(rows, self.table.completions),
            "seconds_generating": round(generating, 3),
            "seconds_scoring": round(self.clock - started, 3),
            "seconds_updating": 0.0,
        }
        if self.main():
            self.journal.add_rollouts(rows)
            self.pending |= self._chosen(update)
        return [each.gain for each in rows[first : first + len(texts)]]

    def _paid(self, update: int, found: Sequence[tuple[Exercise, Scored]]) -> list[RolloutRow]:
        """The rows of all processes' completions, group after group, with what each is paid."""
        rows = list[RolloutRow]()
        for at in range(0, len(found), self.table.completions):
            group = found[at : at + self.table.completions]
            gains = self.pay.gains([each for _, each in group])
            pays = zip(group, gains, self.pay.advantages(gains), strict=True)
            rows += [
                RolloutRow.of(update, exercise.context, each, gain=gain, advantage=advantage)
                for (exercise, each), gain, advantage in pays
            ]
        return rows

    def _chosen(self, update: int) -> dict[str, Any]:
        """What the policy chose in the last updates, and whether by the family."""
        found = self.journal.read_choices(update - LOOK_BACK + 1, update)
        return figures(choices(found, seed=self.config.seed)) if found else {}


class _Watch(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Times the phases, keeps the journal, and guards what must not change."""

    def __init__(self, run: _Run) -> None:
        self.run = run
        self.types: dict[str, str] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        require_full_precision(types(model))
        self.types = types(model)
        checkpoint = self.run.last_checkpoint()
        if checkpoint is not None:
            require_reloaded(model, checkpoint)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.run.clock = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        so_far = self.run.pending.get("seconds_updating", 0.0)
        took = time.monotonic() - self.run.clock
        self.run.pending["seconds_updating"] = round(so_far + took, 3)
        require_same_types(self.types, types(model))

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        run = self.run
        if not run.pending or "loss" not in (logs or {}):
            return
        run.pending |= _figures(logs)
        if state.global_step % run.table.passes:
            return
        line, run.pending = run.pending, {}
        if run.main():
            run.journal.add_update(line)
            run.tell(_line(line, run.per_epoch * run.table.epochs))
        run.accelerator.wait_for_everyone()
        if run.out_of_time():
            control.should_training_stop = control.should_save = True
        try:
            require_signal(run.journal.read_updates(), run.table.dead_after)
        except LorinerError as error:
            run.stopped = error
            control.should_training_stop = control.should_save = True


def pay_of(table: GrpoTable) -> Pay:
    """How the settings pay completions."""
    return Pay(
        estimator=table.advantage,
        invalid_gain=table.invalid_gain,
        harm=table.harm,
        bonus=table.bonus,
        rarity=table.rarity,
        scaled=_LOSSES[table.loss]["scale_rewards"] == "group",
    )


def require_full_precision(found: dict[str, str]) -> None:
    """Passes parameters that are all float32; raises ConfigError naming one that is not."""
    for name, kind in found.items():
        if kind != "torch.float32":
            raise ConfigError(
                f"the parameter {name} is {kind}: a learning rate of 1e-6 needs float32 masters"
            )


def require_same_types(before: dict[str, str], after: dict[str, str]) -> None:
    """Passes parameters whose types are what they were; a generation path can cast them for good."""
    changed = [name for name, kind in before.items() if after.get(name) != kind]
    if changed:
        raise ConfigError(
            f"{len(changed)} parameters changed their type in an update, {changed[0]} from "
            f"{before[changed[0]]} to {after.get(changed[0])}: small steps are lost from here on"
        )


def require_reloaded(model: Any, checkpoint: Path) -> None:
    """Passes when the weights in memory are those of the checkpoint; a resume can silently restore others.

    Sharded checkpoints, whose tensors no single process holds, are not checked.
    """
    adapter, whole = checkpoint / "adapter_model.safetensors", checkpoint / "model.safetensors"
    path = adapter if adapter.exists() else whole
    if not path.exists():
        return
    live = {name.replace(".default.", "."): value for name, value in model.state_dict().items()}
    for name, value in load_file(path).items():
        if name not in live or not torch.equal(live[name].cpu(), value):
            raise ConfigError(
                f"after resuming, {name} is not what {path} holds: the checkpoint was not restored; "
                "start from the merged model with a fresh adapter instead"
            )


def _line(line: dict[str, Any], n_updates: int) -> str:
    """An update in words."""
    seconds = "+".join(f"{line[f'seconds_{each}']:.0f}" for each in ("generating", "scoring", "updating"))
    return (
        f"update {line['update']}/{n_updates}: gain {line['gain']:+.3f} "
        f"(score {line['score']:.3f}, applied {line['applied']:.0%}, better {line['better']:.0%}), "
        f"{line['distinct_in_a_group']:.1f} programs a group, "
        f"information {line.get('information_beyond_chance', 0.0):+.2f} bits, {seconds} s"
    )


def _figures(logs: dict[str, Any]) -> dict[str, Any]:
    """Of the trainer's own figures those that the journal keeps, under our names."""
    names = {
        "loss": "loss",
        "grad_norm": "grad_norm",
        "learning_rate": "learning_rate",
        "entropy": "entropy",
        "kl": "kl",
        "completions/mean_length": "tokens_mean",
        "completions/max_length": "tokens_max",
        "completions/clipped_ratio": "share_cut",
        "num_tokens": "tokens_seen",
        "sampling/sampling_logp_difference/mean": "sampling_difference",
        "clip_ratio/region_mean": "share_clipped",
    }
    return {
        ours: float(value)
        for theirs, ours in names.items()
        if (value := logs.get(theirs)) is not None and math.isfinite(value)
    }
