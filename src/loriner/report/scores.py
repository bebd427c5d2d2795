"""Intervals of scores, remembered: a live report works most of them out again and again."""

from __future__ import annotations

from functools import lru_cache

from loriner.events import Scores
from loriner.statistics import Interval, Paired, interval, paired


def interval_of(scores: Scores) -> Interval | None:
    """The mean with its 95 % interval; None where nothing is scored."""
    return _interval(tuple(sorted(scores.values()))) if scores else None


def paired_of(before: Scores, after: Scores) -> Paired | None:
    """`after` against `before` on the questions that both have; None where there is none."""
    common = sorted(before.keys() & after.keys())
    return _paired(tuple((before[name], after[name]) for name in common)) if common else None


@lru_cache(maxsize=10_000)
def _interval(scores: tuple[float, ...]) -> Interval:
    return interval(scores)


@lru_cache(maxsize=10_000)
def _paired(pairs: tuple[tuple[float, float], ...]) -> Paired:
    before = {str(n): old for n, (old, _) in enumerate(pairs)}
    return paired(before, {str(n): new for n, (_, new) in enumerate(pairs)})
