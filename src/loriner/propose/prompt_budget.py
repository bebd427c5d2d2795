"""Shares a budget of tokens among the parts of a prompt, the most useful ones first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

Count = Callable[[str], int]


class Slot(NamedTuple):
    """A place in the prompt."""

    kind: str
    number: int = 0


Levels = Mapping[Slot, int]
"""At which level of detail each slot stands; one that is absent is not shown."""

Piece = Callable[[Slot, int, Levels], str]
"""The text of a slot at a level, beside the others at theirs."""


class PromptBudget:
    """What is left of a budget while slots are added and made longer.

    A slot stays, unless `undo` is called.
    """

    def __init__(self, tokens: int, piece: Piece, count: Count) -> None:
        self.levels: dict[Slot, int] = {}
        self._left = tokens
        self._piece = piece
        self._count = count
        self._before: list[tuple[Slot, int | None, int]] = []
        """Each step: the slot, its level before, what it cost."""

    def offer(self, slot: Slot, *levels: int) -> bool:
        """Raises the slot to the first of the levels that fits; whether the slot is shown now."""
        now = self.levels.get(slot)
        for level in levels:
            if now is not None and level <= now:
                return True
            cost = self._tokens(slot, level) - (0 if now is None else self._tokens(slot, now))
            if cost <= self._left:
                self._before.append((slot, now, cost))
                self.levels[slot], self._left = level, self._left - cost
                return True
        return False

    def undo(self) -> bool:
        """Takes the last step back; False without one."""
        if not self._before:
            return False
        slot, level, cost = self._before.pop()
        self._left += cost
        if level is None:
            del self.levels[slot]
        else:
            self.levels[slot] = level
        return True

    def _tokens(self, slot: Slot, level: int) -> int:
        return self._count(f"\n\n{self._piece(slot, level, self.levels)}")
