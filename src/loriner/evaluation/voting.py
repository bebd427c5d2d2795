"""Majority voting over repeated samples of one harness: the use of a budget by plain sampling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from loriner.records import Trial


def votes(trials: Iterable[Trial]) -> dict[str, float]:
    """The score of the commonest answer to each question; the earliest sample decides between equals.

    Answers that differ in case or blanks only are one. A question on which no sample answered scores 0; one
    whose samples all failed by our fault is left out.
    """
    by_question: dict[str, list[Trial]] = {}
    for trial in sorted(trials, key=lambda each: each.sample):
        if trial.score is not None:
            by_question.setdefault(trial.question_id, []).append(trial)
    return {question: _elected(samples) for question, samples in by_question.items()}


def _elected(samples: list[Trial]) -> float:
    answered = [trial for trial in samples if trial.completed]
    counts = Counter(map(_answer, answered))
    if not counts:
        return 0.0
    winner = max(counts, key=lambda answer: counts[answer])  # Counter keeps the order of first sight
    return next(trial.score or 0.0 for trial in answered if _answer(trial) == winner)


def _answer(trial: Trial) -> str:
    return " ".join(trial.answer.split()).casefold()
