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
"""Parameters of the model that `GENERATED_PER_S` was measured with; larger ones are slower in proportion."""
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
    """Of the trainer on one device: masters, gradients, optimizer and the copy that generates."""
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
    calls = ceil(completions * config.contexts.grade * CALLS_PER_TRIAL)
    size = max(1.0, config.policy.n_parameters / SMALL)
    seconds = (
        written / 4 / (GENERATED_PER_S / size)  # most completions are far shorter than the cap
        + calls / (CALLS_PER_S * config.hardware.machines)
        + _update_s(prompt + written, config)
    )
    return Estimate(
        updates=updates,
        completions=completions,
        prompt_tokens=prompt,
        completion_tokens=written,
        solver_calls=calls,
        memory_gib=_memory(config, full=table.adapter is None, rows=table.device_batch),
        hours=seconds / 3600,
    )


def of_sft(config: TrainConfig, n_rows: int) -> Estimate:
    """What `train sft` would take on so many rows."""
    updates = ceil(config.sft.epochs * ceil(n_rows / config.sft.batch))
    rows = updates * config.sft.batch
    prompt = rows * config.contexts.max_prompt_tokens
    written = rows * config.teacher.max_chars // 3
    return Estimate(
        updates=updates,
        completions=rows,
        prompt_tokens=prompt,
        completion_tokens=written,
        solver_calls=0,
        memory_gib=_memory(config, full=False, rows=config.sft.device_batch),
        hours=_update_s(prompt + written, config) / 3600,
    )


def _update_s(tokens: int, config: TrainConfig) -> float:
    """Forward and backward cost six operations a parameter and token, recomputation two more."""
    return 8 * config.policy.n_parameters * tokens / (FLOPS * config.hardware.processes)


def _memory(config: TrainConfig, *, full: bool, rows: int) -> float:
    """Bytes a parameter: 16 for a trained one (master, gradient, two moments), 4 for a frozen one, 2 for the
    copy.

    Masters and optimizer are shared out over the processes; logits of one device step come on top.
    """
    n, shares = config.policy.n_parameters, config.hardware.processes
    states = n * (16 if full else 4.5) / shares
    longest = config.contexts.max_prompt_tokens + config.grpo.max_completion_tokens
    activations = rows * longest * 2 * 150_000 / 8
    return (states + 2 * n + activations) / GIB
