"""Sections on what stands behind the scores: cost, raw transcripts, settings and versions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from loriner.models.base import text_of
from loriner.records import Call, Trial
from loriner.report.charts import Bar, bars
from loriner.report.facts import SHORT, Episode, Spent
from loriner.report.page import Figure, Fold, PageTable, Section, part
from loriner.report.text import line, plain
from loriner.report.versions import versions

N_CALLS = 12
"""Calls of a trial that are shown."""


def costs(spent: Sequence[Spent], statuses: Mapping[str, int]) -> Section:
    """Calls, tokens, money and latency by part, and how trials ended."""
    rows = [
        (
            each.part,
            f"{each.usage.calls:,}",
            f"{each.n_cached:,}",
            f"{each.usage.prompt_tokens:,}",
            f"{each.usage.completion_tokens:,}",
            money(each.usage.usd),
            f"{each.usage.seconds:,.1f} s",
            None if each.p50_s is None else f"{each.p50_s:.2f} s",
            None if each.p95_s is None else f"{each.p95_s:.2f} s",
        )
        for each in spent
    ]
    columns = (
        "part",
        "calls",
        "of them cached",
        "prompt tokens",
        "completion tokens",
        "USD",
        "model time",
        "p50 of a call",
        "p95 of a call",
    )
    caption = "Model calls; a reply from the cache costs nothing and takes no time"
    if not rows:
        return Section(title="Cost, tokens, latency")
    chart = [Bar(each.part, (each.usage.calls,)) for each in spent]
    trials = sorted(statuses.items(), key=lambda each: (-each[1], each[0]))
    return Section(
        title="Cost, tokens, latency",
        figures=(
            Figure(
                caption="Model calls by part",
                chart=bars("Model calls by part", ("calls",), chart),
                table=PageTable(caption=caption, columns=columns, rows=rows),
            ),
        ),
        tables=(PageTable(caption="Trials by how they ended", columns=("status", "trials"), rows=trials),)
        if trials
        else (),
    )


def transcripts(episode: Episode) -> Section:
    """The slowest and the dearest trials, with all that was said."""
    folds = [_transcript("Slow", each) for each in episode.slowest]
    folds += [_transcript("Expensive", each) for each in episode.dearest]
    return Section(title="Slowest and most expensive trials", folds=tuple(folds))


def _transcript(kind: str, trial: Trial) -> Fold:
    tokens = sum(call.prompt_tokens + call.completion_tokens for call in trial.calls)
    score = "unscored" if trial.score is None else f"{trial.score:.2f}"
    size = f"{trial.seconds:.2f} s, {tokens:,} tokens"
    title = f"{kind}: question {line(trial.question_id, 40)}, {size}, {trial.status}"
    facts = [
        ("program", trial.harness_id[:SHORT]),
        ("status", f"{trial.status} {line(trial.detail)}".strip()),
        ("score", score),
        ("answer", plain(trial.answer, 400) or "(empty)"),
    ]
    calls = calls_shown(trial)
    texts = [
        (name, plain(text)) for name, text in (("printed", trial.stdout), ("error", trial.error)) if text
    ]
    if len(trial.calls) > N_CALLS:
        texts.append(("left out", f"{len(trial.calls) - N_CALLS} more calls are in the store"))
    return Fold(title=title, body=part("trial.html", facts=facts, calls=calls, texts=texts))


def calls_shown(trial: Trial, n: int = N_CALLS, limit: int = 4_000) -> list[dict[str, Any]]:
    """The first calls of a trial as the template takes them, each text cut to so many characters."""
    return [
        {
            "kind": line(call.kind, 40),
            "finish": line(call.finish_reason, 40),
            "cached": call.cached,
            "asked": plain(_asked(call), limit),
            "replied": plain(call.reply or call.error, limit) or "(nothing)",
        }
        for call in trial.calls[:n]
    ]


def _asked(call: Call) -> str:
    messages = call.request.get("messages")
    if isinstance(messages, list):
        return "\n\n".join(f"[{each.get('role')}] {text_of(each.get('content'))}" for each in messages)
    return json.dumps(dict(call.request), ensure_ascii=False, default=str)


def configuration(config: Mapping[str, Any]) -> Section:
    """The settings that the run was started with, and the versions of what it stands on."""
    text = json.dumps(config, indent=2, ensure_ascii=False, default=str)
    body = part("text.html", text=plain(text, 40_000))
    rows = list(versions())
    return Section(
        title="Configuration and versions",
        tables=(PageTable(caption="Made on this machine", columns=("what", "version"), rows=rows),),
        folds=(Fold(title="Settings of the run", body=body),),
    )


def money(usd: float | None) -> str:
    return "unpriced" if usd is None else f"{usd:,.4f}"


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def moment(iso: str) -> str:
    """`2026-11-29 18:57 UTC`."""
    return iso[:16].replace("T", " ") + " UTC"
