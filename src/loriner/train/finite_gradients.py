"""Gradients that are not numbers: one such update and every weight is lost, while the loss still looks well.

The backward pass of a fused attention kernel can give them for a batch whose loss is finite; the one that was
met (docs/earlier-runs.md) is switched off in `load_policy`, and this is for the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loriner.errors import LorinerError, MissingExtra

try:
    import torch
    from transformers import TrainerCallback
except ModuleNotFoundError as error:
    raise MissingExtra("train", "training a proposer") from error

MOST_IN_A_ROW = 3
"""Updates left out one after the other, after which training stops."""


class NotFinite(LorinerError):
    """Update after update had a gradient that is not finite."""

    exit_code = 1


class FiniteUpdates(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Leaves out each update whose gradient is not finite, and stops when there is nothing else."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.in_a_row = 0

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        gradients = [each.grad for each in model.parameters() if each.grad is not None]
        if all(torch.isfinite(each).all() for each in gradients):
            self.in_a_row = 0
            return
        model.zero_grad(set_to_none=True)  # the optimizer passes over what has no gradient
        self.in_a_row += 1
        if state.is_world_process_zero:
            self.tell(f"update {state.global_step + 1} left out: its gradient is not finite")
        if self.in_a_row >= MOST_IN_A_ROW:
            control.should_training_stop = control.should_save = True

    def require_ended_well(self) -> None:
        """Raises NotFinite if training was stopped."""
        if self.in_a_row >= MOST_IN_A_ROW:
            raise NotFinite(
                f"{self.in_a_row} updates in a row had a gradient that is not finite and were left out; the "
                "weights are those of before, in the last checkpoint. Lower the learning rate, or change "
                "device_batch: another batch shape takes another path through the attention kernels"
            )
