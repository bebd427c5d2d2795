"""What a proposer is given: the harness, its feedback trials with their faults, and what was tried before."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loriner.diagnosis.faults import diagnose
from loriner.harness.contract import GRANTED
from loriner.records import (
    Context,
    Evaluation,
    Fault,
    FeedbackTrial,
    Harness,
    PastRevision,
    Question,
    Trial,
    target_texts,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What a proposer may know of a task. Holds no target."""

    task: str
    description: str
    tools: tuple[str, ...]


def brief_of(task: str, description: str, tools: Iterable[str]) -> Brief:
    """The brief of a task, with the tools that are granted with every task."""
    return Brief(task=task, description=description, tools=tuple(sorted(GRANTED.union(tools))))


def make_context(
    brief: Brief,
    harness: Harness,
    feedback: Evaluation,
    questions: Iterable[Question],
    *,
    round: int,
    history: Sequence[PastRevision] = (),
) -> Context:
    """The context of one round. Its id is a digest of what it shows, so equal contexts have equal ids."""
    by_id = {question.id: question for question in questions}
    trials = tuple(
        FeedbackTrial(
            question=by_id[trial.question_id].text,
            target=" | ".join(target_texts(by_id[trial.question_id].target)),
            trial=trial,
            fault=_fault(trial, by_id[trial.question_id]),
        )
        for trial in feedback.trials
    )
    shown = [
        brief.task,
        harness.id,
        len(history),
        [[each.trial.question_id, each.trial.answer] for each in trials],
    ]
    return Context(
        id=hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16],
        task=brief.task,
        description=brief.description,
        tools=brief.tools,
        round=round,
        harness=harness,
        feedback=trials,
        history=tuple(history),
    )


def faults(evaluation: Evaluation, questions: Iterable[Question]) -> Counter[Fault]:
    """How often each fault occurs among the trials of an evaluation that are not right."""
    by_id = {question.id: question for question in questions}
    found = (_fault(trial, by_id[trial.question_id]) for trial in evaluation.trials)
    return Counter(fault for fault in found if fault is not None)


def _fault(trial: Trial, question: Question) -> Fault | None:
    found = diagnose(trial, target_texts(question.target), question.text)
    return None if found is None else found.fault
