"""A trial and an earlier revision in words, at several levels of detail.

Text that a program or a model wrote is data: it is cut field by field, and lines that look like a fence or an
edit marker are indented, so they can be neither. Nothing is written twice: a prompt that holds the question
says `[the question]`, one that holds an earlier reply says which. (Not `{question}`: a program that forgets
the `f` before a text asks for just that, and it must be seen.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loriner.models.base import text_of
from loriner.records import Call, FeedbackTrial, PastRevision, Status
from loriner.runtime.text import defuse

BRIEF, PART, WHOLE, REPLIES, CALLS, LONG = range(6)
"""Levels of a trial: its question cut short, in part, whole; then replies; prompts and output; all longer."""
LINE, NOTE, EDIT, FULL = range(4)
"""Levels of an earlier revision: one line; the whole note and reason; the edit, cut, and whole."""

_ALL = 1_000_000
_LEAST_KNOWN = 12
"""Characters from which a text is recognised in another; shorter ones are plain to see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The longest that each field of a trial may be, in characters; 0 leaves it out."""

    question: int
    answer: int
    evidence: int = 0
    reply: int = 0
    asked: int = 0
    printed: int = 0
    error: int
    calls: int = 0
    """How many calls, the last ones."""


TRIAL = (
    Fields(question=300, answer=100, error=160),
    Fields(question=900, answer=200, evidence=200, error=300),
    Fields(question=_ALL, answer=300, evidence=300, error=400),
    Fields(question=_ALL, answer=300, evidence=300, error=400, reply=300, calls=2),
    Fields(question=_ALL, answer=300, evidence=300, error=400, reply=300, calls=2, asked=300, printed=300),
    Fields(question=_ALL, answer=1500, evidence=600, error=1500, reply=1500, calls=6, asked=900, printed=900),
)
_EDIT_CHARS = {EDIT: 1_600, FULL: 12_000}


def trial_text(
    each: FeedbackTrial, level: int, *, whole: int, targets: bool, asked_before: Sequence[str] = ()
) -> str:
    """A trial in lines. A question is cut at `whole` characters but on the last level. What another trial
    was asked in the same words (`asked_before`) is not repeated.
    """
    trial, most = each.trial, TRIAL[level]
    question = most.question if level == LONG else min(most.question, whole)
    lines = [
        f"question: {cut(each.question, question)}",
        f"answer returned: {cut(trial.answer, most.answer)!r}",
    ]
    if targets and each.target and each.target != trial.answer:
        lines.append(f"expected: {cut(each.target, most.answer)!r}")
    lines.append(_verdict(each))
    if targets and most.evidence and each.evidence:
        lines.append(f"diagnosis: {cut(each.evidence, most.evidence)}")
    if most.calls:
        calls = trial.program_calls
        models = sum(call.kind == "model" for call in calls)
        lines.append(f"model calls: {models}, tool calls: {len(calls) - models}")
        lines += _calls(each, most, asked_before)
    if most.printed and trial.stdout:
        lines.append(f"printed: {tail(trial.stdout, most.printed)}")
    if trial.error:
        lines.append(f"error: {tail(trial.error, most.error)}")
    return harmless("\n".join(lines))


def asked_in(each: FeedbackTrial) -> list[str]:
    """What the calls of a trial were asked, one after the other, with `[the question]` for the question."""
    known = {"[the question]": each.question.strip()}
    asked: list[str] = []
    for number, call in enumerate(each.trial.program_calls, 1):
        asked.append(_named(_request(call), known))
        known[f"[the reply of call {number}]"] = call.reply.strip()
    return asked


def _verdict(each: FeedbackTrial) -> str:
    trial = each.trial
    score = "" if trial.score is None else f", score {trial.score:.3g}"
    if trial.detail and " " in trial.detail and trial.status in (Status.OK, Status.WRONG):
        return f"status: {trial.status}{score}; the scorer said: {cut(trial.detail, 300)}"
    return f"status: {trial.status}{f' ({cut(trial.detail, 300)})' if trial.detail else ''}{score}"


def _calls(each: FeedbackTrial, most: Fields, asked_before: Sequence[str]) -> Iterator[str]:
    calls = list(zip(each.trial.program_calls, asked_in(each), strict=True))
    for number, (call, asked) in list(enumerate(calls, 1))[-most.calls :]:
        name = f"call {number} ({call.kind})"
        if most.asked and asked in asked_before:
            yield f"{name}, asked: as in failing trial 1"
        elif most.asked:
            yield f"{name}, asked: {cut(asked, most.asked)}"
        stopped = f" [stopped: {call.finish_reason}]" if call.finish_reason not in ("", "stop") else ""
        yield f"{name}, replied{stopped}: {_reply(call, each, most.reply)}"


def _reply(call: Call, each: FeedbackTrial, limit: int) -> str:
    text = call.reply or call.error
    if text == each.trial.answer and len(text) > 20:
        return "the answer returned"
    return repr(tail(_named(text, {"[the question]": each.question.strip()}), limit))


def _request(call: Call) -> str:
    """The messages of a model call, or the arguments of a tool call."""
    asked = call.request.get("messages")
    if not asked:
        return ", ".join(f"{key}={value}" for key, value in call.request.items())
    texts = [(str(each.get("role", "")), text_of(each.get("content"))) for each in asked]
    return texts[0][1] if len(texts) == 1 else "\n".join(f"[{role}] {text}" for role, text in texts)


def _named(text: str, known: dict[str, str]) -> str:
    """The text, in which every known one stands by its name; the longest are looked for first."""
    for name, each in sorted(known.items(), key=lambda pair: -len(pair[1])):
        if len(each) >= _LEAST_KNOWN:
            text = text.replace(each, name)
    return text


def past_text(each: PastRevision, level: int) -> str:
    """An earlier revision: what it was, what came of it and why; from `EDIT` on with what it changed."""
    note, reason = (cut(each.summary, 1_000), each.reason) if level else (cut(each.summary, 120), "")
    before, after = (_score(each.before), _score(each.after))
    verdict = ("kept" if each.accepted else "not kept") + (f" ({cut(reason, 300)})" if reason else "")
    line = f"- round {each.round}: {note}: {before} -> {after}, {verdict}"
    if each.code:
        line = f"- round {each.round}: not applied, {each.code}. {cut(each.message, 1_300 if level else 320)}"
    edit = cut(each.edit, _EDIT_CHARS.get(level, 0)) if level >= EDIT else ""
    return harmless(f"{line}\nIts edit:\n{edit.rstrip()}" if edit.strip() else line)


def _score(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f}"


def harmless(text: str) -> str:
    """Text that holds no chat-template token, and no line that is a fence or an edit marker."""
    return re.sub(r"(?m)^(?=\s{0,3}(?:`{3,}|~{3,}|<{7}|={7}|>{7}|\\+[<=>]{7}))", "    ", defuse(text))


def cut(text: str, limit: int) -> str:
    """The text, its middle left out when it is longer than `limit` characters: a third is kept of the end."""
    if len(text) <= limit:
        return text
    end = limit // 3
    return f"{text[: limit - end]}[... {len(text) - limit:,} characters cut ...]{text[len(text) - end :]}"


def tail(text: str, limit: int) -> str:
    """The end of the text: answers and cut-offs are there."""
    return (
        text
        if len(text) <= limit
        else f"[... {len(text) - limit:,} characters cut ...]{text[len(text) - limit :]}"
    )
