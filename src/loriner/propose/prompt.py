"""What a proposer reads: a `Context` laid out within a token budget.

The layout is stable text: no ids, no absolute paths, rounded times, a seeded choice of trials, so that
equal contexts give equal prompts. Text from trials is data: it is capped field by field, and lines that look
like a fence or an edit marker are indented, so they can be neither. Source: docs/proposers.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.resources import files

from loriner.errors import ConfigError
from loriner.models.base import Message
from loriner.records import Call, Context, FeedbackTrial, PastRevision, Status
from loriner.runtime.text import defuse
from loriner.seeding import generator

TOKEN_BUDGET = 6_000
"""Tokens of the whole prompt."""

SYSTEM = (files("loriner.propose") / "system.txt").read_text(encoding="utf-8").rstrip()
"""Role, interface, edit format and an example on another program: the fixed head of every prompt."""

CLOSING = "Find the most frequent cause of failure{where}, then give edit blocks that remove it."

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What of the feedback a proposer is shown; ablations switch parts off."""

    history: bool = True
    traces: bool = True
    """Trials with questions, answers and calls; without them only scores and counts."""
    targets: bool = True
    failing: int = 4
    passing: int = 1
    prompts: bool = True
    stdout: bool = True
    past: int = 10


def estimate_tokens(text: str) -> int:
    """A cautious count without a tokenizer: one token for three characters."""
    return len(text) // 3 + 1


def messages(
    context: Context,
    *,
    shown: Shown | None = None,
    budget: int = TOKEN_BUDGET,
    count: Count = estimate_tokens,
) -> tuple[Message, ...]:
    """The system and user message for a context, cut to `budget` tokens.

    What goes first when it is too long: printed output, the passing trial, prompts of calls, the oldest
    history, failing trials down to two, all history but the latest revision, the second trial. Then one of
    the two that are left goes, the revision first. Program and edit format are never cut.

    Raises:
        ConfigError: program and format alone exceed the budget.
    """
    shown = shown or Shown()
    for attempt in _ever_shorter(shown):
        body = _body(context, attempt)
        if count(SYSTEM) + count(body) <= budget:
            return (Message("system", SYSTEM), Message("user", body))
    raise ConfigError(
        f"a prompt of {count(SYSTEM) + count(body)} tokens does not fit the budget of {budget}: "
        "the program is too long; raise the budget or shorten the harness"
    )


def _ever_shorter(shown: Shown) -> list[Shown]:
    steps = [shown]
    for change in (
        {"stdout": False},
        {"passing": 0},
        {"prompts": False},
        {"past": 3},
        {"failing": 3},
        {"failing": 2},
        {"past": 1},
        {"failing": 1},
        {"past": 0},
        {"traces": False, "past": 1},
        {"past": 0},
    ):
        steps.append(replace(steps[-1], **change))
    return steps


def _body(context: Context, shown: Shown) -> str:
    parts = [
        f"# Task\n{_cut(context.description, 900)}\nTools granted: {', '.join(context.tools) or 'none'}",
        f"# Program\n```python\n{context.harness.source}```",
        f"# Result\n{_result(context)}",
    ]
    trials = _trials(context, shown) if shown.traces else []
    parts += trials
    if shown.history and context.history and shown.past:
        past = "\n".join(_past(each) for each in context.history[-shown.past :])
        parts.append(f"# Earlier revisions\n{past}")
    parts.append(f"# Now\n{CLOSING.format(where=' in the trials above' if trials else '')}")
    return "\n\n".join(parts)


def _result(context: Context) -> str:
    scored = [each.trial for each in context.feedback if each.trial.score is not None]
    if not scored:
        return "No trial was scored."
    mean = sum(trial.score or 0.0 for trial in scored) / len(scored)
    kinds = Counter(_kind(each) for each in context.feedback if _failed(each))
    by_kind = ", ".join(f"{name} {n}" for name, n in kinds.most_common())
    return f"Mean score {mean:.2f} over {len(scored)} trials. Failures: {by_kind or 'none'}."


def _failed(each: FeedbackTrial) -> bool:
    return each.trial.status not in (Status.OK, Status.INFRA_ERROR)


def _kind(each: FeedbackTrial) -> str:
    return str(each.fault) if each.fault else str(each.trial.status)


def _trials(context: Context, shown: Shown) -> list[str]:
    """Failing trials, one for each kind first, the most frequent kind first; then a passing one."""
    failing = _one_of_each_kind(context)[: shown.failing]
    kinds = Counter(_kind(each) for each in context.feedback if _failed(each))
    total = sum(kinds.values())
    parts = [
        f"## Failing trial {number} (kind: {kind}, {kinds[kind]} of {total} failures)\n{_trial(each, shown)}"
        for number, (kind, each) in enumerate(((_kind(one), one) for one in failing), 1)
    ]
    passing = [each for each in context.feedback if each.trial.status is Status.OK][: shown.passing]
    return parts + [f"## Passing trial\n{_trial(each, shown, short=True)}" for each in passing]


def _one_of_each_kind(context: Context) -> list[FeedbackTrial]:
    groups: dict[str, list[FeedbackTrial]] = {}
    for each in context.feedback:
        if _failed(each):
            groups.setdefault(_kind(each), []).append(each)
    draw = generator(0, "shown", context.id)
    ordered = sorted(groups.values(), key=len, reverse=True)
    for group in ordered:
        draw.shuffle(group)
    depth = max(map(len, ordered), default=0)
    return [group[i] for i in range(depth) for group in ordered if i < len(group)]


def _trial(each: FeedbackTrial, shown: Shown, *, short: bool = False) -> str:
    trial = each.trial
    lines = [f"question: {_cut(each.question, 600, head=400)}"]
    lines.append(f"answer returned: {_cut(trial.answer, 200)!r}")
    if shown.targets:
        lines.append(f"expected: {_cut(each.target, 200)!r}")
    lines.append(f"status: {trial.status}{f' ({trial.detail})' if trial.detail else ''}, score {trial.score}")
    if short:
        return _harmless("\n".join(lines))
    models = [call for call in trial.calls if call.kind == "model"]
    lines.append(f"model calls: {len(models)}, tool calls: {len(trial.calls) - len(models)}")
    lines += [line for call in trial.calls[-2:] for line in _call(call, shown)]
    if shown.stdout and trial.stdout:
        lines.append(f"printed: {_tail(trial.stdout, 200)}")
    if trial.error:
        lines.append(f"error: {_tail(trial.error, 400)}")
    return _harmless("\n".join(lines))


def _call(call: Call, shown: Shown) -> list[str]:
    lines = []
    if shown.prompts:
        asked = call.request.get("messages")
        text = asked[-1]["content"] if asked else ", ".join(f"{k}={v}" for k, v in call.request.items())
        lines.append(f"last {call.kind} call, asked: {_tail(str(text), 300)}")
    stopped = f" [stopped: {call.finish_reason}]" if call.finish_reason not in ("", "stop") else ""
    lines.append(f"last {call.kind} call, replied{stopped}: {_tail(call.reply or call.error, 300)!r}")
    return lines


def _past(each: PastRevision) -> str:
    before = "?" if each.before is None else f"{each.before:.2f}"
    if each.code:
        return f"- round {each.round}: not applied, {each.code}. {_cut(each.message, 320)}"
    after = "?" if each.after is None else f"{each.after:.2f}"
    verdict = "kept" if each.accepted else "not kept"
    return f"- round {each.round}: {_cut(each.summary, 120)}: {before} -> {after}, {verdict}"


def _harmless(text: str) -> str:
    """Text that holds no chat-template token, and no line that is a fence or an edit marker."""
    return re.sub(r"(?m)^(?=\s{0,3}(?:`{3,}|~{3,}|<{7}|={7}|>{7}|\\+[<=>]{7}))", "    ", defuse(text))


def _cut(text: str, limit: int, *, head: int | None = None) -> str:
    """The text, its middle left out when it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3 if head is None else head
    tail = limit - head
    return f"{text[:head]}[... {len(text) - limit:,} characters cut ...]{text[len(text) - tail :]}"


def _tail(text: str, limit: int) -> str:
    """The end of the text: answers and cut-offs are there."""
    return text if len(text) <= limit else f"[... {len(text) - limit:,} characters cut ...]{text[-limit:]}"
