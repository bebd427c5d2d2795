"""A trial as a page shows it: every text of a question, a program or a model made fit for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from loriner.report.evidence import calls_shown
from loriner.report.facts import SHORT
from loriner.report.page import part
from loriner.report.text import line, plain
from loriner.report.trials.viewer import Seen

WHOLE = 100_000
"""Characters of a text on the page of one trial."""
CUT = 1_000
"""Characters of a text in a file that holds many trials."""
N_CALLS = 200
N_CALLS_CUT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """Another program's trial on the same question, as a link."""

    name: str
    score: str
    href: str
    now: bool = False
    """Whether it is what stands beside."""


def name_of(seen: Seen) -> str:
    """What its program is called: `seed`, `round 2` or the beginning of its id."""
    short = seen.trial.harness_id[:SHORT]
    if seen.round is None:
        return short
    return f"seed {short}" if seen.round == 0 else f"round {seen.round}, {short}"


def score_of(seen: Seen) -> str:
    return "unscored" if seen.trial.score is None else f"{seen.trial.score:.2f}"


def expected_of(seen: Seen, limit: int = WHOLE) -> str:
    """The right answers, or why none is shown."""
    if seen.expected:
        return plain("\n".join(seen.expected), limit)
    if seen.question is None:
        return f"(not known: {line(seen.missing, 200)})"
    return "(not shown)" if seen.purpose == "test" else "(none: the scorer judges alone)"


def words_of(seen: Seen, limit: int = WHOLE) -> str:
    """What the scorer or the sandbox said."""
    return plain(seen.trial.detail, limit)


def view(
    seen: Seen, *, whole: bool = True, others: Sequence[Other] = (), title: str = "", level: int = 2
) -> Markup:
    """Everything of one trial; cut short unless `whole`."""
    limit, n = (WHOLE, N_CALLS) if whole else (CUT, N_CALLS_CUT)
    trial = seen.trial
    question = plain(seen.question.text, limit) if seen.question else ""
    left = len(trial.calls) - n
    values: dict[str, Any] = {
        "title": title or name_of(seen),
        "level": level,
        "facts": _facts(seen),
        "question": question or f"(not known: {line(seen.missing, 200)})",
        "expected": expected_of(seen, limit),
        "answer": plain(trial.answer, limit) or "(empty)",
        "right": trial.score == 1,
        "words": words_of(seen, limit),
        "fault": seen.fault,
        "evidence": plain(seen.diagnosis.evidence, limit) if seen.diagnosis else "",
        "where": plain(seen.diagnosis.where, 200) if seen.diagnosis and seen.diagnosis.evidence else "",
        "calls": calls_shown(trial, n, limit),
        "left": f"{left} more calls: loriner trials" if left > 0 else "",
        "texts": [(name, plain(text, limit)) for name, text in _outputs(seen) if text],
        "others": others,
    }
    return part("trial_view.html", **values)


def others_of(found: Sequence[Seen], href: Callable[[Seen], str], now: int | None = None) -> list[Other]:
    """The other trials as links."""
    return [
        Other(name=name_of(each), score=score_of(each), href=href(each), now=each.number == now)
        for each in found
    ]


def _facts(seen: Seen) -> list[tuple[str, str]]:
    trial = seen.trial
    tokens = sum(call.prompt_tokens + call.completion_tokens for call in trial.calls)
    return [
        ("trial", str(seen.number)),
        ("task", line(trial.task)),
        ("question", line(trial.question_id)),
        ("split", seen.purpose),
        *([("sample", str(trial.sample))] if trial.sample else []),
        ("program", name_of(seen)),
        ("score", score_of(seen)),
        ("ended", str(trial.status)),
        ("took", f"{trial.seconds:.2f} s, {len(trial.calls)} calls, {tokens:,} tokens"),
    ]


def _outputs(seen: Seen) -> list[tuple[str, str]]:
    return [("printed", seen.trial.stdout), ("error", seen.trial.error)]
