"""What a proposer reads: a `Context` laid out within a token budget.

The layout is stable text: no ids, no absolute paths, no times, so that equal contexts give equal prompts.
Everything is shown whole where it fits; `_bands` says what is given room first where it does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from loriner.errors import ConfigError
from loriner.models.base import Message
from loriner.propose.prompt_budget import Count, Levels, PromptBudget, Slot
from loriner.propose.spread_order import distance, farthest_first, words
from loriner.propose.wording import (
    BRIEF,
    CALLS,
    EDIT,
    FULL,
    LINE,
    LONG,
    NOTE,
    PART,
    REPLIES,
    WHOLE,
    asked_in,
    cut,
    harmless,
    past_text,
    trial_text,
)
from loriner.records import Context, FeedbackTrial, Status
from loriner.runtime.base import Limits

TOKEN_BUDGET = 16_000
"""Tokens of the whole prompt. With 8,192 of the reply it fits a context of 32,768, which the models that are
served as proposers have; sixteen trials of a task with questions of a page stand in it whole."""

SYSTEM = (files("loriner.propose") / "system.txt").read_text(encoding="utf-8").rstrip()
"""Role, interface, edit format and an example on another program: the fixed head of every prompt."""

ALLOWED = """What is allowed
- Any Python that answers the whole kind of question, such as an algorithm that works the answer out and \
asks the model where it cannot. It is judged on other questions of the same kind.
- Examples out of the feedback, in the program or in its prompts. The answers of other questions cannot be \
known: do not guess at them.{limits}"""

CLOSING = "Find the most frequent cause of failure{where}, then give edit blocks that remove it."
NONE_FAILED = (
    "No trial failed on {n} questions. If the program would fail on other questions of this kind, make it "
    "sturdier for them with edit blocks; else leave it."
)

TOOL_HELP = {
    "run_python": "run_python(code): runs Python code and returns what it printed.",
    "search": 'search(query, k=5): a list of {"title", "text"} passages, the best first.',
    "examples": 'examples(query=None, k=5): a list of {"question", "answer"} with right answers, out of the '
    "feedback questions; never the present one; with a query the nearest first.",
}
"""How the tools are called that come with the package."""

_FEW = 4
"""Unlike failing trials whose questions are whole before there are more of them."""
_PASSING = 4
_FREQUENT = 12
"""Distinct right answers up to which all are named."""
_UNLIKE = 6
"""How many are named where there are more."""
_SHORT_DESCRIPTION = 300

__all__ = ["SYSTEM", "TOKEN_BUDGET", "Count", "Shown", "estimate_tokens", "messages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What of the feedback a proposer is shown; ablations switch parts off."""

    history: bool = True
    traces: bool = True
    """Trials with questions, answers and calls; without them only scores and counts."""
    targets: bool = True


def estimate_tokens(text: str) -> int:
    """A cautious count without a tokenizer: one token for three characters."""
    return len(text) // 3 + 1


def messages(
    context: Context,
    *,
    shown: Shown | None = None,
    budget: int = TOKEN_BUDGET,
    count: Count = estimate_tokens,
    limits: Limits | None = None,
) -> tuple[Message, ...]:
    """The system and user message for a context, within `budget` tokens. `limits` are those of a question.

    Raises:
        ConfigError: program and format alone exceed the budget.
    """
    layout = _Layout(context, shown or Shown(), budget, limits)
    room = PromptBudget(budget - _tokens(layout.messages({}), count), layout.piece, count)
    for band in layout.bands():
        if not layout.fill(room, band):
            break
    while (n_tokens := _tokens(found := layout.messages(room.levels), count)) > budget:
        if not room.undo():
            raise ConfigError(
                f"a prompt of {n_tokens} tokens does not fit the budget of {budget}: "
                "the program is too long; raise the budget or shorten the harness"
            )
    return found


def _tokens(shown: Sequence[Message], count: Count) -> int:
    return sum(count(message.content) for message in shown)


@dataclass(frozen=True, slots=True)
class _Band:
    """Steps of one worth, taken in turn."""

    steps: Sequence[tuple[Slot, tuple[int, ...]]]
    """Each a slot with the levels that it may take, the best first."""
    needed: bool = False
    """Whether what comes after is only given room if all of this found it."""


class _Layout:
    """A context as slots of a prompt."""

    def __init__(self, context: Context, shown: Shown, budget: int, limits: Limits | None) -> None:
        self._context = context
        self._shown = shown
        self._whole = max(600, budget)
        """Characters up to which a question is shown whole: they take a third of the budget."""
        self._limits = limits

    @cached_property
    def _failing(self) -> list[FeedbackTrial]:
        """Unlike ones first; the first is a typical one of the most frequent kind."""
        failing = [each for each in self._context.feedback if _failed(each)]
        kinds = Counter(map(_kind, failing))
        failing.sort(key=lambda each: -kinds[_kind(each)])
        return _unlike_first(failing) if self._shown.traces else []

    @cached_property
    def _passing(self) -> list[FeedbackTrial]:
        passing = [each for each in self._context.feedback if each.trial.status is Status.OK]
        return _unlike_first(passing) if self._shown.traces else []

    @cached_property
    def _asked_first(self) -> list[str]:
        return asked_in(self._failing[0]) if self._failing else []

    def bands(self) -> Iterator[_Band]:
        """What is given room, in the order of its worth."""
        failing = [Slot("failing", number) for number in range(len(self._failing))]
        passing = [Slot("passing", number) for number in range(len(self._passing))]
        past = [Slot("past", age) for age in range(len(self._context.history) if self._shown.history else 0)]
        few, asked = failing[:_FEW], (WHOLE, PART, BRIEF)
        yield _band(failing[:1], BRIEF)
        yield _band(past[:1], LINE)
        yield _band(failing[:2], *asked)
        yield _band([Slot("allowed"), Slot("description")], 1)
        yield _band([Slot("answers")] if self._shown.targets and self._shown.traces else [], 1)
        yield _band(past[:1], EDIT, NOTE)
        yield _band(few, *asked)
        yield _band(few[:2], REPLIES)
        yield _band(past[1:4], LINE)
        yield _Band([(slot, asked) for slot in failing], needed=True)
        yield _band(few, CALLS, REPLIES)
        yield _band(failing, REPLIES)
        yield _band(passing[:1], CALLS, WHOLE, PART, BRIEF)
        yield _band(past, LINE)
        yield _band(past[:1], FULL)
        yield _band(passing[1:_PASSING], WHOLE)
        yield _band(past[1:2], EDIT, NOTE)
        yield _band(failing, CALLS)
        yield _band(past, NOTE)
        yield _band(few, LONG)
        yield _band(failing, LONG)
        yield _band(passing[:_PASSING], CALLS)
        yield _band(passing[: 2 * _PASSING], WHOLE)

    def fill(self, room: PromptBudget, band: _Band) -> bool:
        """Offers room to the band; False where what comes after is not to have any."""
        found = [room.offer(slot, *levels) for slot, levels in band.steps]
        return all(found) or not band.needed

    def piece(self, slot: Slot, level: int, levels: Levels) -> str:
        """The text of a slot at a level."""
        match slot.kind:
            case "failing":
                return self._failing_text(slot.number, level, levels)
            case "passing":
                each = self._passing[slot.number]
                return f"## Passing trial\n{self._trial(each, level, levels)}"
            case "past":
                return past_text(self._context.history[-1 - slot.number], level)
            case "allowed":
                return ALLOWED.format(limits=_limits(self._limits))
            case "answers":
                return _answers([each.target for each in self._context.feedback if each.target])
            case _:
                return self._context.description

    def messages(self, levels: Levels) -> tuple[Message, ...]:
        """Both messages with the slots of these levels."""
        system = "\n\n".join([SYSTEM, *self._all("allowed", levels)])
        return (Message("system", system), Message("user", self._body(levels)))

    def _body(self, levels: Levels) -> str:
        context = self._context
        description = self._all("description", levels) or [cut(context.description, _SHORT_DESCRIPTION)]
        trials = self._all("failing", levels)
        parts = [
            "\n".join([f"# Task\n{description[0]}", *_tools(context)]),
            f"# Program\n```python\n{context.harness.source}```",
            "\n".join([f"# Result\n{_result(context)}", *self._all("answers", levels)]),
            *trials,
            *_left_out(len(self._failing) - len(trials) if trials else 0),
            *(passing := self._all("passing", levels)),
        ]
        if past := self._all("past", levels)[::-1]:
            parts.append("\n".join(["# Earlier revisions", *past]))
        return "\n\n".join([*parts, f"# Now\n{_closing(context, bool(trials or passing))}"])

    def _all(self, kind: str, levels: Levels) -> list[str]:
        slots = sorted(slot for slot in levels if slot.kind == kind)
        return [self.piece(slot, levels[slot], levels) for slot in slots]

    def _failing_text(self, number: int, level: int, levels: Levels) -> str:
        each = self._failing[number]
        kind, kinds = _kind(each), Counter(map(_kind, self._failing))
        of_all = f"{kinds[kind]} of {len(self._failing)} failures"
        head = f"## Failing trial {number + 1} (kind: {kind}, {of_all})"
        return f"{head}\n{self._trial(each, level, levels, repeated=number > 0)}"

    def _trial(self, each: FeedbackTrial, level: int, levels: Levels, *, repeated: bool = True) -> str:
        told = repeated and levels.get(Slot("failing"), BRIEF) >= CALLS
        return trial_text(
            each,
            level,
            whole=self._whole,
            targets=self._shown.targets,
            asked_before=self._asked_first if told else (),
        )


def _band(slots: Sequence[Slot], *levels: int) -> _Band:
    return _Band([(slot, levels) for slot in slots])


def _unlike_first(trials: Sequence[FeedbackTrial]) -> list[FeedbackTrial]:
    """By kind of failure, question and answer."""
    seen = [(_kind(each), words(each.question), each.target) for each in trials]

    def apart(one: tuple[str, frozenset[str], str], other: tuple[str, frozenset[str], str]) -> float:
        return (one[0] != other[0]) + distance(one[1], other[1]) + 0.5 * (one[2] != other[2])

    return [trials[place] for place in farthest_first(seen, apart)]


def _tools(context: Context) -> list[str]:
    """A line for each granted tool."""
    help_of = {**context.tool_help, **{name: TOOL_HELP[name] for name in context.tools if name in TOOL_HELP}}
    lines = [
        f"- {harmless(help_of.get(name, name))}{'' if name in TOOL_HELP else ' (arguments by keyword)'}"
        for name in context.tools
    ]
    return ["Tools granted:", *lines] if lines else ["Tools granted: none"]


def _limits(limits: Limits | None) -> str:
    if limits is None:
        return ""
    return (
        f"\n- For one question: {limits.n_calls} model calls, {limits.n_tool_calls} tool calls, "
        f"{limits.n_completion_tokens:,} reply tokens asked for, {limits.cpu_s:g} s of CPU and "
        f"{limits.wall_s:g} s beside the calls, {limits.memory_bytes // 2**20:,} MB."
    )


def _result(context: Context) -> str:
    scored = [each.trial for each in context.feedback if each.trial.score is not None]
    if not scored:
        return "No trial was scored."
    mean = sum(trial.score or 0.0 for trial in scored) / len(scored)
    kinds = Counter(_kind(each) for each in context.feedback if _failed(each))
    by_kind = ", ".join(f"{name} {n}" for name, n in kinds.most_common())
    return f"Mean score {mean:.2f} over {len(scored)} trials. Failures: {by_kind or 'none'}."


def _answers(targets: Sequence[str]) -> str:
    """The right answers with their counts, or a few unlike ones where nearly all differ."""
    counts = Counter(targets)
    if len(counts) <= _FREQUENT:
        each = ", ".join(f"{cut(text, 80)!r} {n}" for text, n in counts.most_common())
        return harmless(f"Right answers: {each}.")
    seen = list(counts)
    order = farthest_first([words(text) for text in seen], distance)[:_UNLIKE]
    few = ", ".join(repr(cut(seen[place], 80)) for place in order)
    return harmless(f"Right answers: {few} … {len(counts)} distinct ones of {len(targets)}.")


def _left_out(n: int) -> list[str]:
    return [f"({n} more failing trial{'s' if n > 1 else ''} left out: no room)"] if n else []


def _closing(context: Context, trials: bool) -> str:
    scored = sum(each.trial.score is not None for each in context.feedback)
    if scored and not any(map(_failed, context.feedback)):
        return NONE_FAILED.format(n=scored)
    return CLOSING.format(where=" in the trials above" if trials else "")


def _failed(each: FeedbackTrial) -> bool:
    return each.trial.status not in (Status.OK, Status.INFRA_ERROR)


def _kind(each: FeedbackTrial) -> str:
    return str(each.fault) if each.fault else str(each.trial.status)
