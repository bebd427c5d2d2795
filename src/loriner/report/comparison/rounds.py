"""Sections of a comparison that follow the rounds: by mode, by solver calls, by task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from markupsafe import Markup

from loriner.events import Scores
from loriner.report.charts import Point, Series, lines
from loriner.report.comparison.results import SEED, Comparison
from loriner.report.facts import Episode
from loriner.report.page import Cell, Figure, Fold, PageTable, Section, part
from loriner.report.text import line
from loriner.report.verdicts import interval_text
from loriner.statistics import Interval, pooled


def by_round(comparison: Comparison) -> Section:
    """Grade score by round and by solver calls, the mean over arms with a band over questions and seeds."""
    of_mode = {
        mode: [each for each in comparison.episodes if each.start.mode == mode and each.rounds]
        for mode in dict.fromkeys(arm.mode for arm, _ in comparison.arms)
    }
    series = [(mode, _path(episodes)) for mode, episodes in of_mode.items() if episodes and _path(episodes)]
    if not series:
        return Section(title="Score by round")
    most = max(len(path) for _, path in series)
    rows: list[Sequence[Cell]] = []
    for number in range(most):
        cells = [path[number] if number < len(path) else None for _, path in series]
        name = "seed" if number == 0 else f"round {number}"
        rows.append((name, *(None if cell is None else interval_text(cell[1]) for cell in cells)))
    columns = ("after", *(mode for mode, _ in series))
    round_caption = "Grade score of the current program after each round, by mode"
    calls_caption = "Grade score against solver calls of the search, by mode"
    calls = [
        (f"{mode}, {'seed' if number == 0 else f'round {number}'}", f"{spent:,.0f}", interval_text(score))
        for mode, path in series
        for number, (spent, score) in enumerate(path)
    ]
    by_number = [
        Series(mode, tuple(Point(number, score) for number, (_, score) in enumerate(path)))
        for mode, path in series
    ]
    by_calls = [Series(mode, tuple(Point(spent, score) for spent, score in path)) for mode, path in series]
    return Section(
        title="Score by round",
        text=("Grade scores decide what is accepted, so they flatter; the sealed scores are above.",),
        figures=(
            Figure(
                caption=round_caption,
                chart=lines(round_caption, by_number, x="round", y="grade score"),
                table=PageTable(caption="The same figures", columns=columns, rows=rows),
            ),
            Figure(
                caption=calls_caption,
                chart=lines(calls_caption, by_calls, x="solver calls", y="grade score"),
                table=PageTable(
                    caption="The same figures", columns=("after", "solver calls", "grade score"), rows=calls
                ),
            ),
        ),
    )


def _path(episodes: Sequence[Episode]) -> list[tuple[float, Interval]]:
    """Mean calls and pooled grade score after each round; an episode that ended early keeps its last."""
    n_rounds = max(len(each.rounds) for each in episodes)
    path = []
    for number in range(n_rounds + 1):
        points = [_after(each, number) for each in episodes]
        by_seed: dict[int, dict[str, float]] = {}
        for episode, (_, scores) in zip(episodes, points, strict=True):
            joined = by_seed.setdefault(episode.start.seed, {})
            joined |= {f"{episode.start.task}\x1f{question}": score for question, score in scores.items()}
        common = set.intersection(*(set(each) for each in by_seed.values()))
        if common:
            path.append((fmean(spent for spent, _ in points), pooled(list(by_seed.values()))))
    return path


def _after(episode: Episode, number: int) -> tuple[float, dict[str, float]]:
    """Solver calls, and scores by question of the program that stands after a round."""
    seed_cells = episode.grid.get(episode.start.harness_id, {})
    if number == 0 or not episode.rounds:
        return float(episode.n_seed_calls), {
            name: cell for name, cell in seed_cells.items() if cell is not None
        }
    made = episode.rounds[min(number, len(episode.rounds)) - 1]
    cells = episode.grid.get(made.current_id, {})
    return float(made.n_calls), {name: cell for name, cell in cells.items() if cell is not None}


def by_task(comparison: Comparison) -> Section:
    """Task by mode on sealed questions, and task by round on grade questions."""
    modes = list(dict.fromkeys(arm.mode for arm, _ in comparison.arms))
    sealed = []
    for task in comparison.tasks:
        cells = [_sealed(comparison, task, mode, lambda each: each.test) for mode in modes]
        seed = [
            _sealed(comparison, task, mode, lambda each: each.seed.test if each.seed else {})
            for mode in modes
        ]
        sealed.append((line(task), [next((each for each in seed if each is not None), None), *cells]))
    label = "Mean sealed score by task and mode"
    folds = [
        Fold(
            title=label,
            body=part("heat.html", label=label, corner="task", columns=[SEED, *modes], rows=sealed),
            open=True,
        )
    ]
    for mode in modes:
        body = _rounds_of(comparison, mode)
        if body is not None:
            folds.append(
                Fold(title=f"Grade score by task and round: {mode}", body=body, open=mode == "sequential")
            )
    return Section(title="Task by mode and round", folds=tuple(folds))


def _sealed(comparison: Comparison, task: str, mode: str, pick: Callable[[Episode], Scores]) -> float | None:
    """The mean over the seeds that have come so far."""
    of_mode = (each for each in comparison.episodes if (each.start.task, each.start.mode) == (task, mode))
    means = [fmean(scores.values()) for each in of_mode if (scores := pick(each))]
    return fmean(means) if means else None


def _rounds_of(comparison: Comparison, mode: str) -> Markup | None:
    episodes = [each for each in comparison.episodes if each.start.mode == mode and each.rounds]
    if not episodes:
        return None
    n_rounds = max(len(each.rounds) for each in episodes)
    rows = []
    for task in comparison.tasks:
        of_task = [each for each in episodes if each.start.task == task]
        cells: list[float | None] = []
        for number in range(n_rounds + 1):
            reached = [_after(each, number)[1] for each in of_task if number <= len(each.rounds)]
            means = [fmean(scores.values()) for scores in reached if scores]
            cells.append(fmean(means) if means else None)
        rows.append((line(task), cells))
    heads = ["seed", *(str(number) for number in range(1, n_rounds + 1))]
    label = f"Mean grade score by task and round: {mode}"
    return part("heat.html", label=label, corner="task", columns=heads, rows=rows)
