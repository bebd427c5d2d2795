"""Scoring for a trainer: a batch at a time, patient with a solver that is away, never a zero in its place."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from loriner.errors import InfrastructureError
from loriner.train.exercise import Exercise
from loriner.train.reward import Scored

MAX_UNSCORED = 0.1
"""Share of a batch that may stay without a reward; the trainer leaves those out of their group's mean."""
FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 120.0


class Rewards(Protocol):
    def __call__(
        self, exercises: Sequence[Exercise], completions: Sequence[str], indices: Sequence[int]
    ) -> list[Scored]:
        """Each completion in its exercise with its reward and its program's score; the order is kept."""
        ...


def patient(
    rewards: Rewards,
    patience_s: float,
    tell: Callable[[str], None],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Rewards:
    """Rewards that are asked for again, after ever longer pauses, for what could not be scored.

    Its results hold None for at most `MAX_UNSCORED` of a batch. After `patience_s` of pauses it raises
    `InfrastructureError`: training stops, its checkpoints stay.
    """

    def patient_rewards(
        exercises: Sequence[Exercise], completions: Sequence[str], indices: Sequence[int]
    ) -> list[Scored]:
        found = rewards(exercises, completions, indices)
        waited, pause = 0.0, FIRST_PAUSE_S
        while missing := [at for at, each in enumerate(found) if not each.complete]:
            if len(missing) <= MAX_UNSCORED * len(found) and waited:
                break
            if waited >= patience_s:
                raise InfrastructureError(
                    f"{len(missing)} of {len(found)} completions could not be scored in {waited:.0f} s of "
                    "waiting: the solver or the sandbox is down. The last checkpoint is kept; the same "
                    "command goes on from it"
                )
            pause = min(pause, patience_s - waited)
            tell(f"{len(missing)} of {len(found)} completions could not be scored; again in {pause:.0f} s")
            sleep(pause)
            waited, pause = waited + pause, min(2 * pause, LONGEST_PAUSE_S)
            again = rewards(
                [exercises[at] for at in missing],
                [completions[at] for at in missing],
                [indices[at] for at in missing],
            )
            for at, each in zip(missing, again, strict=True):
                found[at] = each
        return found

    return patient_rewards
