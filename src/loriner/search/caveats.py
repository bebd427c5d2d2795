"""What a reader of an episode's scores must know, such as that the program never asked the model."""

from __future__ import annotations

import math
from statistics import fmean

from loriner.events import Scores, Standing
from loriner.search.history import Adaptation
from loriner.statistics import Interval, interval


def remarks(episode: Adaptation) -> list[str]:
    """The sentences that are true of this episode."""
    best, scores = episode.best, episode.start.constant_scores
    said = (
        disagreement(best.grade, best.test),
        no_model(best),
        no_more_than_constant(best.test, episode.start.constant or "", scores),
        no_more_than_copying(best.test, episode.start.copied_scores),
    )
    return [each for each in said if each]


def disagreement(grade: Scores, test: Scores) -> str:
    """Says that the grade score and the sealed score differ by more than chance; else empty."""
    if not test or not grade:
        return ""
    before, after = (interval(list(each.values())) for each in (grade, test))
    low, high = between(before, after)
    if low <= 0 <= high:
        return ""
    word = "below" if high < 0 else "above"
    return (
        f"The sealed score of the best program ({after.mean:.2f}) is {word} its grade score "
        f"({before.mean:.2f}) by more than chance ({low:+.2f} to {high:+.2f}): trust the sealed one."
    )


def between(before: Interval, after: Interval) -> tuple[float, float]:
    """The 95 % interval of `after` minus `before`, two means over different questions.

    Source: Newcombe, Statistics in Medicine 17 (1998), method 10, on the intervals of the two means.
    """
    difference = after.mean - before.mean
    low = math.hypot(after.mean - after.low, before.high - before.mean)
    high = math.hypot(after.high - after.mean, before.mean - before.low)
    return difference - low, difference + high


def no_model(best: Standing) -> str:
    """Says that the program never asked the model; else empty."""
    n = len(best.grade) + len(best.test)
    if not n or best.asks_model:
        return ""
    return f"The best program asked the model nothing in {n} trials: its answers are its own code's."


def no_more_than_constant(test: Scores, constant: str, scores: Scores) -> str:
    """Says that the program scores no more than one answer given to every question; else empty."""
    own, always = _beside(test, scores)
    if own is None or own > always:
        return ""
    shown = constant if len(constant) <= 40 else constant[:39] + "…"
    return (
        f"The best program scores {own:.2f} on the sealed questions, no more than the answer "
        f"{shown!r} given always ({always:.2f})."
    )


def no_more_than_copying(test: Scores, scores: Scores) -> str:
    """Says that copying the answer of the nearest feedback item does as well; else empty."""
    own, copied = _beside(test, scores)
    if own is None or own > copied or not copied:
        return ""
    return (
        f"The best program scores {own:.2f} on the sealed questions, no more than copying the answer of the "
        f"nearest feedback item does without a model ({copied:.2f})."
    )


def _beside(test: Scores, scores: Scores) -> tuple[float | None, float]:
    """The means of the program and of a baseline over the questions that both were scored on."""
    shared = sorted(test.keys() & scores.keys())
    if not shared:
        return None, 0.0
    return fmean(test[each] for each in shared), fmean(scores[each] for each in shared)
