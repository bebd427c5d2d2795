"""An order of texts in which each next one is as unlike the earlier ones as possible."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

_WORD = re.compile(r"[^\W\d_]+|\d+")
_READ = 4_000
"""Characters of a text that its words are taken from."""


def words(text: str) -> frozenset[str]:
    """The distinct words of a text, in small letters; all numbers count as one word."""
    return frozenset("0" if each[0].isdigit() else each for each in _WORD.findall(text[:_READ].lower()))


def distance(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of their words that only one of them has, in [0, 1]."""
    return 1 - len(one & other) / len(one | other) if one or other else 0.0


def farthest_first(items: Sequence[T], apart: Callable[[T, T], float]) -> list[int]:
    """The places of all items: the most central one first, then always the one farthest from all before it.

    Equals keep their order. Time grows with the square of their number. Source: Gonzalez 1985.
    """
    if not items:
        return []
    central = [sum(apart(one, other) for other in items) for one in items]
    order = [central.index(min(central))]
    nearest = [apart(each, items[order[0]]) for each in items]
    while len(order) < len(items):
        left = [place for place in range(len(items)) if place not in order]
        order.append(max(left, key=lambda place: nearest[place]))
        nearest = [min(old, apart(each, items[order[-1]])) for old, each in zip(nearest, items, strict=True)]
    return order
