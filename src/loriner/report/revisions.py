"""Sections on revisions: what was tried, what it changed, its structure, and what was refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from loriner.records import Rollout
from loriner.report.charts import Bar, IntervalRow, bars, intervals
from loriner.report.diffs import diff
from loriner.report.facts import SHORT, Candidate, Episode
from loriner.report.page import Cell, Figure, Fold, PageTable, Section, part
from loriner.report.scores import interval_of
from loriner.report.text import line, plain
from loriner.report.verdicts import difference_text, interval_text

N_DIFFS = 40
"""Candidates whose diff is shown."""


def tried(episode: Episode) -> Section:
    """Each completion with its effect and the reason of its acceptance or refusal."""
    rows = [_tried(each) for each in episode.candidates]
    columns = (
        "round",
        "what it does",
        "program",
        "grade",
        "against its parent",
        "structure",
        "decision and reason",
    )
    caption = "Every completion of the proposer"
    return Section(
        title="What was tried",
        tables=(PageTable(caption=caption, columns=columns, rows=rows),) if rows else (),
    )


def _tried(each: Candidate) -> tuple[Cell, ...]:
    if each.attempt.harness_id is None:
        reason = f"edits refused, {each.attempt.code}: {line(each.attempt.message, 160)}"
    else:
        reason = each.attempt.reason or "another candidate of the round was better"
    return (
        f"{each.round}.{each.attempt.index + 1}",
        line(each.attempt.note, 140) or "(no note)",
        (each.attempt.harness_id or "–")[:SHORT],
        interval_text(each.grade),
        difference_text(each.effect.difference) if each.effect else None,
        each.growth or None,
        plain(reason, 400),
    )


def changes(episode: Episode) -> Section:
    """Side-by-side diffs: the best program against the seed, then each candidate against its parent."""
    folds = []
    seed, best = episode.seed, episode.best
    if seed and best and seed.harness_id != best.harness_id:
        label = "The best program against the seed"
        body = diff(
            label,
            f"seed {seed.harness_id[:SHORT]}",
            f"best {best.harness_id[:SHORT]}",
            episode.source(seed),
            episode.source(best),
        )
        folds.append(Fold(title=label, body=body, open=True))
    applied = [each for each in episode.candidates if each.attempt.harness_id]
    ordered = sorted(applied, key=lambda each: not each.attempt.accepted)
    folds += [fold for each in ordered[:N_DIFFS] for fold in _change(episode, each)]
    left = len(ordered) - N_DIFFS
    text = (
        (f"{left} more candidates are in the store: loriner runs show {episode.run_id}",) if left > 0 else ()
    )
    return Section(title="What changed", text=text, folds=tuple(folds))


def _change(episode: Episode, each: Candidate) -> Iterable[Fold]:
    attempt = each.attempt
    new = episode.sources.get(attempt.harness_id or "")
    if new is None:
        return
    seed = episode.start.harness_id
    against = (
        {each.parent_id: "its parent", seed: "the seed"}
        if attempt.accepted
        else {each.parent_id: "its parent"}
    )
    for other, name in against.items():
        old = episode.sources.get(other)
        if old is None:
            continue
        kept = "accepted" if attempt.accepted else "not kept"
        name = "the seed" if other == seed else name
        label = f"Round {each.round}.{attempt.index + 1} ({kept}) against {name}: {line(attempt.note, 80)}"
        yield Fold(title=label, body=diff(label, other[:SHORT], (attempt.harness_id or "")[:SHORT], old, new))


def structure(candidates: Sequence[Candidate]) -> Section:
    """The shape of revisions against what came of them."""
    made = [each for each in candidates if each.growth]
    if not made:
        return Section(title="Structure of revisions")
    rows: list[Sequence[Cell]] = []
    chart: list[IntervalRow] = []
    for number, label in enumerate(("deeper", "broader", "both", "neither")):
        of_label = [each for each in made if each.growth == label]
        effects = [each.effect.difference.mean for each in of_label if each.effect]
        better = [float(effect > 0) for effect in effects]
        mean = sum(effects) / len(effects) if effects else None
        share = interval_of({str(n): each for n, each in enumerate(better)})
        if share:
            chart.append(IntervalRow(f"{label} ({len(better)})", share, number))
        rows.append(
            (
                label,
                len(of_label),
                sum(each.attempt.accepted for each in of_label),
                None if mean is None else f"{mean:+.2f}",
                interval_text(share),
            )
        )
    caption = "Share of revisions that raised the grade score, by what they did to the program"
    columns = ("revision", "candidates", "accepted", "mean effect", "share that raised the score")
    return Section(
        title="Structure of revisions",
        text=(
            "Deeper: more calls, loops or nesting in one pipeline. Broader: more functions, classes or "
            "imports. Read from the syntax tree, against the program that was revised.",
        ),
        figures=(
            Figure(
                caption=caption,
                chart=intervals(caption, chart, bounds=(0.0, 1.0)),
                table=PageTable(caption="The same figures", columns=columns, rows=rows),
            ),
        ),
        folds=(Fold(title="Each revision", body=_shapes(made)),),
    )


def _shapes(made: Sequence[Candidate]) -> Markup:
    names = list(made[0].deltas)
    rows = [
        (
            f"{each.round}.{each.attempt.index + 1}",
            each.growth,
            *(f"{each.deltas[name]:+d}" if each.deltas[name] else "0" for name in names),
            difference_text(each.effect.difference) if each.effect else None,
        )
        for each in made
    ]
    columns = ("round", "revision", *(name.removeprefix("n_").replace("_", " ") for name in names), "effect")
    return part(
        "table_alone.html", each=PageTable(caption="Change of each count", columns=columns, rows=rows)
    )


def invalid(candidates: Sequence[Candidate], refused: Sequence[Rollout] = ()) -> Section:
    """Refused edits by code, with an example of each, and the replies that were refused."""
    by_code: dict[str, list[Candidate]] = {}
    for each in candidates:
        if each.attempt.code:
            by_code.setdefault(each.attempt.code, []).append(each)
    if not by_code:
        return Section(title="Refused edits")
    counts = sorted(
        ((code, len(found)) for code, found in by_code.items()), key=lambda each: (-each[1], each[0])
    )
    rows = [(code, n, line(by_code[code][0].attempt.message, 200)) for code, n in counts]
    caption = f"{sum(n for _, n in counts)} of {len(candidates)} completions made no candidate"
    return Section(
        title="Refused edits",
        figures=(
            Figure(
                caption=caption,
                chart=bars(caption, ("completions",), [Bar(code, (n,)) for code, n in counts]),
                table=PageTable(
                    caption="The same figures", columns=("code", "completions", "one message"), rows=rows
                ),
            ),
        ),
        folds=tuple(_reply(each) for each in refused[:N_DIFFS]),
    )


def _reply(each: Rollout) -> Fold:
    code, message = (each.failure.code, each.failure.message) if each.failure else ("", "")
    texts = [("replied", plain(each.completion, 20_000) or "(nothing)"), ("refused", plain(message))]
    title = f"Reply {each.index + 1} in context {each.context_id[:SHORT]}: {code}"
    return Fold(title=title, body=part("trial.html", facts=(), calls=(), texts=texts))
