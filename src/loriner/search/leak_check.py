"""Whether a candidate contains answers of the questions that it is scored on."""

from __future__ import annotations

from collections.abc import Sequence

from loriner.diagnosis.memorised import check
from loriner.records import Failure, Harness, Question, target_texts

MAX_SEALED = 1_000
"""Only the first so many questions are checked, since each takes time for every candidate."""


def memorised(
    candidate: Harness, seed: Harness, *, sealed: Sequence[Question], shown: Sequence[Question]
) -> Failure | None:
    """Why the candidate must not be scored, or None.

    `sealed` are the grade and test questions, whose answers no program may contain. `shown` are the feedback
    questions, whose answers any program may contain.
    """
    known = [(answer, each.text) for each in sealed[:MAX_SEALED] for answer in target_texts(each.target)]
    answers, questions = zip(*known, strict=True) if known else ((), ())
    texts = [text for each in shown for text in (each.text, *target_texts(each.target))]
    found = check(candidate.source, answers, questions, baseline=seed.source, shown=texts)
    return None if found is None else Failure("memorised", found.message)
