"""What a training would take, before it starts: updates, tokens, solver calls, memory, time. Rough on
purpose.

Each figure is a product of settings and the rates below, which were measured once (docs/training.md) and are
printed with the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from loriner.train.exercise import require_divisible
from loriner.train.settings import TrainConfig

CALLS_PER_TRIAL = 1.5
"""Solver calls of one trial, on average over library harnesses and their revisions."""
CALLS_PER_S = 58.0
"""Solver calls a second of one vLLM server with a 1.5 B model on one H200."""
GENERATED_PER_S = 9_900.0
"""Completion tokens a second of one vLLM server with a 0.5 B model on one H200, at prompts of 1,228
tokens.
"""
FLOPS = 2.0e14
"""Sustained floating-point operations a second of one H200 in a small model's update (a quarter of its
peak).
"""
SMALL = 5.0e8
"""Parameters of the model that these were measured with; larger ones generate slower in proportion."""
KEPT = 1.5e6
"""Bytes of activations kept for each token of a device step, without recomputation, with a 0.5 B model."""
GIB = 2**30
RATES = {
    "solver calls a trial": CALLS_PER_TRIAL,
    "solver calls a second": CALLS_PER_S,
    "completion tokens a second": GENERATED_PER_S,
    "flops": FLOPS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One stage of a training file."""

    updates: int
    completions: int
    prompt_tokens: int
    """At most: every prompt at its cap."""
    completion_tokens: int
    """At most: every completion at its cap."""
    solver_calls: int
    memory_gib: float
    """Of the trainer on one device: masters, gradients, optimizer, the copy that generates or vLLM's share
    of the device where it shares it, activations and logits of one device step.
    """
    hours: float


def of_grpo(config: TrainConfig) -> Estimate:
    """What `train grpo` would take.

    Raises:
        ConfigError: contexts that do not divide into updates.
    """
    table = config.grpo
    updates = table.epochs * require_divisible(config.contexts.n, table.contexts_per_update)
    completions = updates * table.contexts_per_update * table.completions
    prompt, written = (
        completions * config.contexts.max_prompt_tokens,
        completions * table.max_completion_tokens,
    )
    programs = updates * table.contexts_per_update  # each is scored once beside its revisions
    calls = ceil((completions + programs) * config.contexts.grade * CALLS_PER_TRIAL)
    size = max(1.0, config.policy.n_parameters / SMALL)
    seconds = (
        written / 4 / (GENERATED_PER_S / size)  # most completions are far shorter than the cap
        + calls / (CALLS_PER_S * config.hardware.machines)
        + table.passes * _update_s(prompt + written, config)
    )
    return Estimate(
        updates=updates,
        completions=completions,
        prompt_tokens=prompt,
        completion_tokens=written,
        solver_calls=calls,
        memory_gib=_memory(
            config,
            full=table.adapter is None,
            tokens=table.device_batch * (config.contexts.max_prompt_tokens + table.max_completion_tokens),
            predicted=table.device_batch * table.max_completion_tokens,
            recomputed=table.checkpointing,
        )
        + (table.vllm_memory * config.hardware.gpu_gib if table.generation == "vllm_colocate" else 0),
        hours=seconds / 3600,
    )


def of_sft(config: TrainConfig, n_rows: int) -> Estimate:
    """What `train sft` would take on so many rows."""
    updates = ceil(config.sft.epochs * ceil(n_rows / config.sft.batch))
    rows = updates * config.sft.batch
    prompt, written = config.contexts.max_prompt_tokens, config.teacher.max_chars // 3
    step = config.sft.device_batch * (prompt + written)
    return Estimate(
        updates=updates,
        completions=rows,
        prompt_tokens=rows * prompt,
        completion_tokens=rows * written,
        solver_calls=0,
        memory_gib=_memory(config, full=False, tokens=step, predicted=step, recomputed=True),
        hours=_update_s(rows * (prompt + written), config) / 3600,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TreesEstimate:
    """What trees would take at most, with every layer full."""

    tasks: int
    programs: int
    """Revised ones over all layers, the seeds among them."""
    trials: int
    solver_calls: int
    """Equal greedy calls of different candidates share one reply, so it is often a good deal less."""
    hours: float


def of_trees(config: TrainConfig, n_tasks: int, n_entries: int) -> TreesEstimate:
    """What `train trees` would take, where each of so many known revisions applies everywhere."""
    table = config.trees
    first = n_tasks * len(config.contexts.harnesses)
    layers = [first, *[n_tasks * table.beam] * (table.depth - 1)]
    reached, trials, before = n_entries, 0, 0
    for rung in sorted(table.rungs):
        trials += reached * (rung - before)
        reached, before = max(table.finalists, ceil(table.kept * reached)), rung
    finals = (table.finalists + 1) * table.fresh + before
    n = sum(layers) * (trials + finals + config.contexts.feedback)
    calls = ceil(n * CALLS_PER_TRIAL)
    return TreesEstimate(
        tasks=n_tasks,
        programs=sum(layers),
        trials=n,
        solver_calls=calls,
        hours=calls / CALLS_PER_S / config.hardware.machines / 3600,
    )


def _update_s(tokens: int, config: TrainConfig) -> float:
    """Forward and backward cost six operations a parameter and token, recomputation two more."""
    return 8 * config.policy.n_parameters * tokens / (FLOPS * config.hardware.processes)


def _memory(config: TrainConfig, *, full: bool, tokens: int, predicted: int, recomputed: bool) -> float:
    """GiB, where a device step holds so many tokens, with logits at so many of them.

    Bytes a parameter: 16 for a trained one (master, gradient, two moments), 4 for a frozen one, 2 for the
    copy; masters and optimizer are shared out over the processes. Activations grow with layers times width,
    about the 0.7th power of the parameters; recomputation keeps the layers' inputs and one layer's inside.
    Logits stand four times, in 4 or 2 bytes.
    """
    n = config.policy.n_parameters
    states = n * (16 if full else 4.5) / config.hardware.processes
    activations = tokens * KEPT * float((n / SMALL) ** 0.7) * (0.06 if recomputed else 1)
    logits = predicted * 150_000 * 14
    return (states + 2 * n + activations + logits) / GIB
