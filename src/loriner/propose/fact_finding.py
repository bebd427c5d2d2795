"""Finds the facts of a context: what its feedback shows of the task. No task is known by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from loriner.diagnosis.answer_shapes import date_form, fields_apart, object_of, options_of
from loriner.propose.facts import Facts, Field, Shape
from loriner.records import Context, Fault, FeedbackTrial, Status

SHORTEST_FRAME = 12
"""Shared text of the questions counts as a frame from so many characters."""


def facts_of(context: Context) -> Facts:
    """What the feedback of a context shows."""
    pairs = _pairs(context.feedback)
    answers = [answer for _, answer in pairs]
    objects = [each for each in map(object_of, answers) if each is not None]
    replies = [call for each in context.feedback for call in each.trial.calls if call.kind == "model"]
    scores = [each.trial.score for each in context.feedback if each.trial.score is not None]
    return Facts(
        shape=shape_of(answers),
        description=context.description.strip(),
        tools=frozenset(context.tools),
        examples=unlike_first(pairs),
        options=dict(Counter(answers).most_common()),
        fields=_fields(objects) if objects and len(objects) == len(answers) else (),
        form=date_form(answers),
        frame=frame_of([question for question, _ in pairs]),
        lost=_lost(context.feedback),
        wrong_fields=_wrong_fields(context.feedback),
        cut=sum(call.finish_reason == "length" for call in replies) / len(replies) if replies else 0.0,
        mean_score=sum(scores) / len(scores) if scores else 0.0,
        told=re.search(r"(?m)^TASK = ", context.harness.source) is not None,
    )


def shape_of(answers: Sequence[str]) -> Shape:
    """The narrowest shape that all right answers have; `choice` where few of them come again and again."""
    if not answers:
        return "text"
    if _all(r"-?\d+", answers):
        return "integer"
    if _all(r"-?\d+(\.\d+)?", answers):
        return "number"
    if date_form(answers):
        return "date"
    if all(object_of(each) is not None for each in answers):
        return "json"
    if options_of(answers):
        return "choice"
    return "line" if all("\n" not in each for each in answers) else "text"


def frame_of(questions: Sequence[str]) -> tuple[str, str]:
    """What all of several unlike questions begin and end with, to a whole word; empty where it is short."""
    if len(set(questions)) < 3:
        return "", ""
    head = re.sub(r"\S+\Z", "", _shared(questions))
    backwards = [each[len(head) :][::-1] for each in questions]
    tail = re.sub(r"\A\S+", "", _shared(backwards)[::-1])
    return _if_long(head), _if_long(tail)


def _shared(texts: Sequence[str]) -> str:
    """The longest common beginning of the texts."""
    first, last = min(texts), max(texts)  # what these two share, all between them share
    return first[: next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def _if_long(part: str) -> str:
    return part if len(part.strip()) >= SHORTEST_FRAME else ""


def unlike_first(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The pairs in rounds: one of each answer, then a second of each, in the order in which they came."""
    seen: Counter[str] = Counter()
    ranks = []
    for _, answer in pairs:
        ranks.append(seen[answer])
        seen[answer] += 1
    return tuple(pair for _, pair in sorted(zip(ranks, pairs, strict=True), key=lambda each: each[0]))


def _pairs(feedback: Sequence[FeedbackTrial]) -> list[tuple[str, str]]:
    """Each question once, with the first of its right answers."""
    found = {each.question: _first(each.target) for each in feedback if each.target}
    return list(found.items())


def _first(target: str) -> str:
    """The first of several right answers; a context holds them side by side."""
    return target if "\n" in target or target.startswith(("{", "[")) else target.split(" | ")[0]


def _all(pattern: str, texts: Sequence[str]) -> bool:
    return all(re.fullmatch(pattern, each) for each in texts)


def _fields(objects: Sequence[dict[str, object]]) -> tuple[Field, ...]:
    names = dict.fromkeys(name for each in objects for name in each)
    return tuple(
        _field(name, [each[name] for each in objects if name in each], len(objects)) for name in names
    )


def _field(name: str, values: Sequence[object], n_objects: int) -> Field:
    kinds = Counter(_kind(each) for each in values if each is not None)
    kind = kinds.most_common(1)[0][0] if kinds else "null"
    kind = "number" if set(kinds) == {"integer", "number"} else kind
    texts = [each for each in values if isinstance(each, str)]
    form = date_form(texts) if kind == "text" else ""
    options = tuple(sorted(options_of(texts))) if kind == "text" and not form else ()
    return Field(name, "date" if form else kind, form, options, always=len(values) == n_objects)


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    kinds: dict[type, str] = {str: "text", int: "integer", float: "number", list: "list", dict: "object"}
    return kinds.get(type(value), "null")


def _wrong_fields(feedback: Sequence[FeedbackTrial]) -> dict[str, int]:
    """How often each field was wrong, the most frequent first."""
    pairs = [(object_of(each.trial.answer), object_of(each.target)) for each in feedback]
    apart = [fields_apart(answer, target) for answer, target in pairs if answer and target]
    return dict(Counter(each.name for found in apart for each in found).most_common())


def _lost(feedback: Sequence[FeedbackTrial]) -> dict[Fault, float]:
    lost: Counter[Fault] = Counter()
    for each in feedback:
        if each.fault is not None and each.trial.status is not Status.INFRA_ERROR:
            lost[each.fault] += 1.0 - (each.trial.score or 0.0)  # type: ignore[assignment]
    total = sum(lost.values())
    return {fault: score / total for fault, score in lost.items()} if total else {}
