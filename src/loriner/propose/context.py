"""What a proposer is given: the harness, its feedback trials with their faults, and what was tried before."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from loriner.diagnosis.answer_shapes import options_of
from loriner.diagnosis.faults import Diagnosis, diagnose
from loriner.errors import EditError
from loriner.harness.contract import GRANTED
from loriner.harness.edits import parse
from loriner.records import (
    Context,
    Edit,
    Evaluation,
    Fault,
    FeedbackTrial,
    Harness,
    PastRevision,
    Question,
    Rollout,
    Trial,
    target_texts,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What a proposer may know of a task. Holds no target."""

    task: str
    description: str
    tools: tuple[str, ...]
    tool_help: Mapping[str, str] = field(default_factory=dict)
    """How each tool is called, where that is known."""


def brief_of(task: str, description: str, tools: Mapping[str, object] | Iterable[str]) -> Brief:
    """The brief of a task, with the tools that are granted with every task.

    If `tools` maps names to functions, the functions say how they are called.
    """
    functions = tools if isinstance(tools, Mapping) else {}
    return Brief(
        task=task,
        description=description,
        tools=tuple(sorted(GRANTED.union(tools))),
        tool_help={name: _how_called(name, functions[name]) for name in sorted(functions)},
    )


def _how_called(name: str, function: object) -> str:
    """Signature and first docstring line. A docstring that starts with the call, as those of builtins do,
    stands for both: a function that passes its arguments on has another signature than what it calls.
    """
    first = (inspect.getdoc(function) or "").partition("\n")[0]
    if first.startswith(f"{name}("):
        return first
    try:
        signature = str(inspect.signature(function))  # type: ignore[arg-type]
        call = name + re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)  # postponed annotations are texts
    except (TypeError, ValueError):
        call = f"{name}(...)"
    return f"{call}: {first}" if first else call


def edit_of(rollout: Rollout) -> str:
    """The change that a completion asked for, as a diff without line numbers.

    The quoted text of a completion that cannot be read.
    """
    try:
        revision = rollout.revision or parse(rollout.completion)
    except EditError:
        return "".join(f"| {line}\n" for line in rollout.completion.splitlines())
    return "".join(map(_diff, revision.edits))


def _diff(edit: Edit) -> str:
    lines = difflib.unified_diff(edit.old.split("\n")[:-1], edit.new.split("\n")[:-1], lineterm="", n=2)
    return "".join(f"{'@@' if line.startswith('@@') else line}\n" for line in islice(lines, 2, None))


def make_context(
    brief: Brief,
    harness: Harness,
    feedback: Evaluation,
    questions: Iterable[Question],
    *,
    round: int,
    history: Sequence[PastRevision] = (),
    known: Mapping[int, FeedbackTrial] | None = None,
) -> Context:
    """The context of one round. Its id is a digest of what it shows, so equal contexts have equal ids.

    `known` are the feedback trials of earlier rounds, by the identity of their trials. They are reused.
    """
    known = known or {}
    fresh = [trial for trial in feedback.trials if id(trial) not in known]
    found = {id(each.trial): each for each in _feedback(fresh, questions)}
    trials = tuple(known.get(id(trial)) or found[id(trial)] for trial in feedback.trials)
    digested = [
        brief.task,
        harness.id,
        len(history),
        [[each.trial.question_id, each.trial.answer] for each in trials],
    ]
    return Context(
        id=hashlib.sha256(json.dumps(digested).encode()).hexdigest()[:16],
        task=brief.task,
        description=brief.description,
        tools=brief.tools,
        round=round,
        harness=harness,
        feedback=trials,
        history=tuple(history),
        tool_help=brief.tool_help,
    )


def _feedback(trials: Sequence[Trial], questions: Iterable[Question]) -> Iterator[FeedbackTrial]:
    """The trials with their faults."""
    by_id = {question.id: question for question in questions} if trials else {}
    options = _options(by_id.values())
    for trial in trials:
        question = by_id[trial.question_id]
        found = _diagnosed(trial, question, options)
        yield FeedbackTrial(
            question=question.text,
            target=" | ".join(target_texts(question.target)),
            trial=trial,
            fault=None if found is None else found.fault,
            evidence="" if found is None else found.evidence,
        )


def faults(evaluation: Evaluation, questions: Iterable[Question]) -> Counter[Fault]:
    """How often each fault occurs among the trials of an evaluation that are not right."""
    by_id = {question.id: question for question in questions}
    options = _options(by_id.values())
    found = (_diagnosed(trial, by_id[trial.question_id], options) for trial in evaluation.trials)
    return Counter(each.fault for each in found if each is not None)


def _diagnosed(trial: Trial, question: Question, options: frozenset[str]) -> Diagnosis | None:
    return diagnose(trial, target_texts(question.target), question.text, options=options)


def _options(questions: Iterable[Question]) -> frozenset[str]:
    """The right answers if they are a choice, else nothing. Several accepted forms are no choice."""
    return options_of(text for each in questions for text in target_texts(each.target)[:1])
