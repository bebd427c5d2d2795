"""What a completion is paid: the gain over the program that it revises, and what that is held against.

A group mean alone pays nothing where a whole group writes one text, and pays the level in every round. The
gain over the parent on the same questions pushes down a text that harms a program which has it already. A
loss counts less than a gain: an acceptance refuses what is worse, so it costs a round and no more. Paid in
full, losses teach the one edit that changes nothing (docs/training.md).
Source: LSE, arXiv 2603.18620 (gain over the parent); Darling, arXiv 2509.02534 (rarity).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Literal

from loriner.train.reward import VALID, Scored

Estimator = Literal["group", "gain", "mixed"]

_AGAINST_GROUP: dict[str, float] = {"group": 1.0, "gain": 0.0, "mixed": 0.5}
"""Share of the group's mean gain that is taken off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pay:
    """How completions are paid."""

    estimator: Estimator = "mixed"
    invalid_gain: float = -0.1
    harm: float = 0.25
    bonus: bool = False
    rarity: float = 0.5
    scaled: bool = False
    """Divide by the group's deviation; for the estimator `group` alone."""

    def gain(self, scored: Scored) -> float | None:
        """The gain of one completion, in [-1.3, 1.3]; None where it or its parent could not be scored."""
        reward, before = scored.reward, scored.before
        if reward is None or before is None:
            return None
        if self.bonus:
            return reward.total - before - VALID
        if not reward.applied:
            return self.invalid_gain
        gain = reward.score - before
        return gain if gain > 0 else self.harm * gain

    def gains(self, group: Sequence[Scored]) -> list[float | None]:
        """The gains of a group, shape (G,); a positive one is less the more often its program occurs."""
        ids = [each.rollout.candidate.id if each.rollout.candidate else "" for each in group]
        times = Counter(each for each in ids if each)
        return [
            self._rare(self.gain(each), times[at], times.total()) for each, at in zip(group, ids, strict=True)
        ]

    def _rare(self, gain: float | None, times: int, n_valid: int) -> float | None:
        """The gain of a program that stands `times` times among the valid ones of its group."""
        if gain is None or gain <= 0 or times < 2:
            return gain
        return gain * (1 - self.rarity * (times - 1) / (n_valid - 1))

    def advantages(self, gains: Sequence[float | None]) -> list[float]:
        """The advantages of a group from its gains, shape (G,); 0 for what could not be scored."""
        known = [each for each in gains if each is not None]
        mean = _AGAINST_GROUP[self.estimator] * fmean(known) if known else 0.0
        scale = pstdev(known) + 1e-4 if self.scaled and self.estimator == "group" and known else 1.0
        return [0.0 if each is None else (each - mean) / scale for each in gains]
