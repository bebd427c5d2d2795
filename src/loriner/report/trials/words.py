"""A trial as text, for terminals."""

from __future__ import annotations

from collections.abc import Iterator

from loriner.report.evidence import calls_shown
from loriner.report.text import line, plain
from loriner.report.trials.shown import N_CALLS, WHOLE, expected_of, name_of, score_of, words_of
from loriner.report.trials.viewer import Seen


def in_words(seen: Seen) -> Iterator[tuple[str, str]]:
    """The parts of a trial, each with its name, in reading order."""
    trial = seen.trial
    head = f"{trial.task} {seen.purpose}, question {line(trial.question_id)}, program {name_of(seen)}"
    yield f"Trial {seen.number}", f"{head}, score {score_of(seen)} ({trial.status})"
    yield "Question", plain(seen.question.text, WHOLE) if seen.question else f"(not known: {seen.missing})"
    yield "Expected answer", expected_of(seen)
    yield "Given answer", plain(trial.answer, WHOLE) or "(empty)"
    if words := words_of(seen):
        yield "The scorer's words", words
    if seen.diagnosis is not None:
        yield f"Fault: {seen.fault}", f"{plain(seen.diagnosis.evidence)} ({plain(seen.diagnosis.where)})"
    for number, call in enumerate(calls_shown(trial, N_CALLS, WHOLE), 1):
        ends = ", ".join(filter(None, [call["kind"], call["finish"], "from the cache" * call["cached"]]))
        yield f"Call {number} ({ends}), asked", call["asked"]
        yield "Replied", call["replied"]
    for name, text in (("Printed", trial.stdout), ("Error", trial.error)):
        if text:
            yield name, plain(text, WHOLE)
