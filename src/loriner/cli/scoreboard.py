"""A scoreboard as tables for people, as Markdown, and as the document of `--json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loriner.cli import documents, render
from loriner.records import Status
from loriner.report import figures
from loriner.statistics import Interval
from loriner.verbs.scoreboard import Baseline, Cell, Scoreboard

WIDEST = 5
"""Tasks that stand beside each other in one table, a harness a row; more make several tables."""
LONGEST = 80
"""Characters of a suite's name in a title; in place of a longer one stands the number of tasks."""


@dataclass(frozen=True, slots=True)
class TextTable:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def show(filled: Scoreboard, *, json: bool, trials: bool) -> None:
    """Prints the scoreboard on stdout."""
    if json:
        documents.emit(document(filled, trials=trials))
        return
    for each in tables(filled):
        render.table(each.title, each.columns, each.rows)
    for line in remarks(filled):
        render.console().print(line, markup=False, soft_wrap=True)


def tables(filled: Scoreboard) -> Iterator[TextTable]:
    """A table of the tasks for one harness; for several, tables of the harnesses, a few tasks in each."""
    board = filled.board
    if len(board.harnesses) == 1:
        yield _by_task(filled, board.harnesses[0])
        return
    for start in range(0, len(board.tasks), WIDEST):
        yield _side_by_side(filled, slice(start, start + WIDEST))


def _title(filled: Scoreboard) -> str:
    name = filled.name if len(filled.name) <= LONGEST else f"{len(filled.board.tasks)} tasks"
    return f"{name}, {filled.board.split} questions, solver {filled.solver}"


def _by_task(filled: Scoreboard, harness: str) -> TextTable:
    columns = ["task", "score, 95 % interval", "right", "n", "constant answer", "right", "nearest copied"]
    columns.append("calls a trial")
    rows = [[cell.task, _text(cell.score, cell), *_beside(cell)] for cell in filled.of(harness)]
    if len(rows) > 1:
        mean = filled.mean(harness)
        n = "-" if mean is None else str(mean.n)
        rows.append(["mean of the tasks", _text(mean), "", n, "", "", "", ""])
    return TextTable(f"{_title(filled)}, harness {_with_id(filled, harness)}", columns, rows)


def _with_id(filled: Scoreboard, harness: str) -> str:
    """The name of a harness, with its id where it is the same program on every task."""
    ids = {cell.evaluation.harness_id[:12] for cell in filled.of(harness) if cell.evaluation}
    if len(ids) != 1:
        return harness
    (shared,) = ids
    return shared if harness.startswith(shared) else f"{harness} ({shared})"


def _beside(cell: Cell) -> list[str]:
    """What stands beside a score: partial credit left out, n, the constant answer's both scores, what copying
    the nearest feedback item's answer earns, calls.
    """
    base = cell.baseline
    n = str(len(cell.scores)) if cell.scores else "-"
    without = [_text(base.score), _share(base.strict), _text(base.copied)]
    return [_share(cell.strict), n, *without, f"{_calls([cell]):.1f}"]


def _share(score: Interval | None) -> str:
    return "-" if score is None else f"{score.mean:.2f}"


def _side_by_side(filled: Scoreboard, shown: slice) -> TextTable:
    """The harnesses on some of the tasks. The mean over all tasks stands in the last table."""
    tasks = filled.board.tasks
    first = filled.of(filled.board.harnesses[0])[shown]
    heads = [f"{cell.task} (n = {_n(filled, cell.asked)})" for cell in first]
    shared = [f"mean of {len(tasks)}"] if len(tasks) > 1 and shown.stop >= len(tasks) else []
    beside = [_baseline(filled, cell.asked) for cell in first]
    constant, copied = ([_text(each.score) for each in beside], [_text(each.copied) for each in beside])
    rows = [
        ["(constant answer)", *constant, *("-" for _ in shared), "0.0"],
        ["(nearest item copied)", *copied, *("-" for _ in shared), "0.0"],
    ]
    for name in filled.board.harnesses:
        cells = filled.of(name)[shown]
        scores = [_text(cell.score, cell) for cell in cells] + [_text(filled.mean(name)) for _ in shared]
        rows.append([name.removeprefix("library:"), *scores, f"{_calls(cells):.1f}"])
    return TextTable(_title(filled), ["harness", *heads, *shared, "calls a trial"], rows)


def _n(filled: Scoreboard, asked: str) -> int:
    return max(len(cell.scores) for cell in filled.cells if cell.asked == asked)


def _baseline(filled: Scoreboard, asked: str) -> Baseline:
    """The baseline of a task, which is the same for every harness that was scored on it."""
    found = (cell.baseline for cell in filled.cells if cell.asked == asked and cell.evaluation)
    return next(found, Baseline())


def _calls(cells: Sequence[Cell]) -> float:
    """Model calls a trial, cached ones too."""
    n = sum(len(cell.trials) for cell in cells)
    return sum(cell.usage.calls for cell in cells) / n if n else 0.0


def _text(score: Interval | None, cell: Cell | None = None) -> str:
    if cell is not None and cell.error is not None:
        return "not scored"
    return "-" if score is None else render.interval_text(score)


def remarks(filled: Scoreboard) -> Iterator[str]:
    """What the tables do not say: what was not scored and why, the statuses, the bill, where the run is."""
    for task, error in filled.errors.items():
        yield f"{task} is not in the means: {error}"
    statuses = Counter(render.outcome(trial) for trial in filled.trials)
    yield "Trials: " + ", ".join(f"{name} {count}" for name, count in statuses.most_common())
    if lost := statuses[Status.INFRA_ERROR]:
        yield f"{lost} trials failed through no fault of a harness and are in no mean."
    yield render.bill(filled.spent)
    levels = sorted({cell.evaluation.level for cell in filled.cells if cell.evaluation})
    run = filled.run_id
    yield f"Sandbox level {', '.join(map(str, levels))}. Run {run}: loriner runs show {run}"


def markdown(filled: Scoreboard) -> str:
    """The tables in Markdown, each under its title."""
    return "\n".join(_markdown(each) for each in tables(filled))


def _markdown(table: TextTable) -> str:
    lines = [table.columns, ["---"] * len(table.columns), *table.rows]
    body = "\n".join(
        "| " + " | ".join(str(each).replace("|", "\\|") for each in line) + " |" for line in lines
    )
    return f"{table.title}\n\n{body}\n"


def document(filled: Scoreboard, *, trials: bool) -> dict[str, Any]:
    """The scoreboard as one document, which leaves out the levels that hold one thing only: of several
    harnesses a list of them, of one its tasks, of one on a single task that cell itself, with its trials.
    """
    board, bill = filled.board, figures.usage(filled.spent)
    head = {"run": filled.run_id, "suite": board.suite, "solver": filled.solver, "split": board.split}
    if board.single:
        return {**head, **_of_cell(filled, filled.cells[0], trials=True), "usage": bill}
    found = [_of_harness(filled, name, trials) for name in board.harnesses]
    return {**head, **(found[0] if len(found) == 1 else {"harnesses": found}), "usage": bill}


def _of_harness(filled: Scoreboard, name: str, trials: bool) -> dict[str, Any]:
    return {
        "harness": name,
        "mean": _score(filled.mean(name)),
        "tasks": [_of_cell(filled, cell, trials) for cell in filled.of(name)],
    }


def _of_cell(filled: Scoreboard, cell: Cell, trials: bool) -> dict[str, Any]:
    evaluation = cell.evaluation
    if evaluation is None:
        return {"task": cell.task, "error": str(cell.error)}
    used = figures.usage(cell.usage)
    used["model_seconds"] = used.pop("seconds")  # of its calls: a task has no clock
    return {
        "run": filled.run_id,
        "task": cell.task,
        "harness": evaluation.harness_id,
        "solver": filled.solver,
        "level": evaluation.level,
        "score": _score(cell.score),
        "strict": _score(cell.strict),
        "constant": _score(cell.baseline.score),
        "constant_strict": _score(cell.baseline.strict),
        "copied": _score(cell.baseline.copied),
        "infra_errors": evaluation.n_infra_errors,
        **({"trials": [documents.trial(one) for one in evaluation.trials]} if trials else {}),
        "usage": used,
    }


def _score(score: Interval | None) -> dict[str, Any] | None:
    return None if score is None else figures.of_interval(score)
