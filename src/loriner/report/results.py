"""Sections on scores: seed and best, round by round, question by question, fault by fault."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loriner.events import Standing
from loriner.report.charts import Bar, Dot, IntervalRow, Point, Series, bars, intervals, lines
from loriner.report.facts import SHORT, Episode
from loriner.report.page import Cell, Figure, Fold, PageTable, Section, part
from loriner.report.scores import interval_of
from loriner.report.text import line
from loriner.report.verdicts import interval_text, score_text
from loriner.statistics import Interval


def standings(episode: Episode) -> Section:
    """Seed and best on grade and test, with what the luck of choice made of it."""
    programs = (episode.seed, episode.best, episode.candidate, episode.oracle)
    found = [each for each in programs if each is not None]
    rows: list[IntervalRow] = []
    table: list[Sequence[Cell]] = []
    for number, each in enumerate(found):
        for what, scores in (
            ("chosen at", each.grade),
            ("sampled afresh", each.fresh),
            ("sealed", each.test),
        ):
            if (found_interval := interval_of(scores)) is not None:
                rows.append(IntervalRow(f"{each.name}, {what}", found_interval, number))
        table.append(_standing(each))
    always = episode.start.constant_scores
    if (constant := interval_of(always)) is not None:
        rows.append(IntervalRow("constant answer, sealed", constant, 5))
        name = f"always “{line(episode.start.constant or '', 40)}”"
        table.append((name, None, None, None, score_text(always), len(always), "0"))
    copied = episode.start.copied_scores
    if (nearest := interval_of(copied)) is not None:
        rows.append(IntervalRow("nearest item's answer, sealed", nearest, 5))
        name = "the answer of the nearest feedback item"
        table.append((name, None, None, None, score_text(copied), len(copied), "0"))
    columns = (
        "program",
        "id",
        "grade, chosen at",
        "grade, sampled afresh",
        "sealed",
        "n sealed",
        "calls a question",
    )
    caption = "Score of each program, 95 % intervals over questions"
    if not table:
        return Section(title="Seed and best")
    return Section(
        title="Seed and best",
        text=(
            "The score by which a program was chosen contains some luck. Fresh samples on the same questions "
            "take out the luck of the samples, sealed questions take out the luck of the choice.",
        ),
        figures=(
            Figure(
                caption=caption,
                chart=intervals(caption, rows, bounds=(0.0, 1.0)),
                table=PageTable(caption="The same figures", columns=columns, rows=table),
            ),
        ),
    )


def _standing(each: Standing) -> tuple[Cell, ...]:
    calls = None if each.calls_a_question is None else f"{each.calls_a_question:.1f}"
    scores = (score_text(each.grade), score_text(each.fresh), score_text(each.test))
    return (each.name, each.harness_id[:SHORT], *scores, len(each.test), calls)


def by_round(episode: Episode) -> Section:
    """The current program's grade score after each round, and every candidate's."""
    seed = episode.grade_of(episode.start.harness_id)
    if seed is None or not episode.rounds:
        return Section(title="Score by round")
    after = [(each.number, episode.grade_of(each.current_id)) for each in episode.rounds]
    points = (Point(0, seed), *(Point(number, grade) for number, grade in after if grade))
    dots = [
        Dot(
            each.round,
            each.grade.mean,
            each.attempt.accepted,
            f"round {each.round}: {line(each.attempt.note, 60)}",
        )
        for each in episode.candidates
        if each.grade
    ]
    caption = "Grade score of the current program after each round"
    rows = [("seed", interval_text(seed), "", "", episode.n_seed_calls)] + [
        (
            f"round {each.number}",
            interval_text(episode.grade_of(each.current_id)),
            ", ".join(_short(episode.grade_of(one.harness_id or "")) for one in each.attempts),
            "accepted" if each.accepted else "",
            each.n_calls,
        )
        for each in episode.rounds
    ]
    columns = ("after", "current program", "candidates", "outcome", "solver calls so far")
    return Section(
        title="Score by round",
        text=("Filled dots are accepted candidates, open ones were tried and not kept.",),
        figures=(
            Figure(
                caption=caption,
                chart=lines(
                    caption, [Series("current program", points)], x="round", y="grade score", dots=dots
                ),
                table=PageTable(caption="The same figures", columns=columns, rows=rows),
            ),
        ),
    )


def questions(episode: Episode) -> Section:
    """Question by program: where the score comes from."""
    columns = [("seed", episode.start.harness_id)]
    columns += [
        (f"{each.round}.{each.attempt.index + 1}", each.attempt.harness_id)
        for each in episode.candidates
        if each.attempt.harness_id
    ]
    if not episode.grid or len(columns) < 2:
        return Section(title="Task by round")
    names = sorted({question for cells in episode.grid.values() for question in cells}, key=_natural)
    cells = {name: [episode.grid.get(harness, {}).get(name) for _, harness in columns] for name in names}
    means = [_mean([cells[name][place] for name in names]) for place in range(len(columns))]
    heads = [name for name, _ in columns]
    label = "Mean grade score of each candidate by round"
    whole = part(
        "heat.html", label=label, corner="task", columns=heads, rows=[(line(episode.start.task), means)]
    )
    label = "Grade score by question and candidate"
    each = part("heat.html", label=label, corner="question", columns=heads, rows=list(cells.items()))
    return Section(
        title="Task by round",
        text=("Columns are candidates, by round and number; refused edits have none.",),
        folds=(
            Fold(title="The task as a whole", body=whole, open=True),
            Fold(title="Question by question", body=each),
        ),
    )


def faults(episode: Episode) -> Section:
    """Why trials were not right, before and after."""
    seed, best = episode.seed, episode.best
    if seed is None or best is None or not {**seed.faults, **best.faults}:
        return Section(title="Faults before and after")
    names = sorted({*seed.faults, *best.faults}, key=lambda each: (-seed.faults.get(each, 0), each))
    pairs = [(name, seed.faults.get(name, 0), best.faults.get(name, 0)) for name in names]
    caption = "Failed grade trials by fault, seed and best"
    return Section(
        title="Faults before and after",
        figures=(
            Figure(
                caption=caption,
                chart=bars(caption, ("seed", "best"), [Bar(name, (old, new)) for name, old, new in pairs]),
                table=PageTable(caption="The same figures", columns=("fault", "seed", "best"), rows=pairs),
            ),
        ),
    )


def _short(grade: Interval | None) -> str:
    return f"{grade.mean:.2f}" if grade else "refused"


def _mean(cells: Iterable[float | None]) -> float | None:
    known = [cell for cell in cells if cell is not None]
    return sum(known) / len(known) if known else None


def _natural(name: str) -> tuple[int, str]:
    """Sorts `q10` after `q9`."""
    return (len(name), name)
