"""A sheet of scores as tables for people, as Markdown, and as the document of `--json`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loriner.cli import documents, render
from loriner.search.scoreboard import Baseline, Cell, Sheet
from loriner.statistics import Interval

WIDEST = 5
"""So many tasks stand beside each other, one harness a row; more make several tables."""
LONGEST = 80
"""Characters of a suite's name in a title; a longer one is told by its number of tasks."""


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def show(sheet: Sheet, *, json: bool, trials: bool) -> None:
    """Prints the sheet on stdout."""
    if json:
        documents.emit(document(sheet, trials=trials))
        return
    for each in tables(sheet):
        render.table(each.title, each.columns, each.rows)
    for line in remarks(sheet):
        render.console().print(line, markup=False, soft_wrap=True)


def tables(sheet: Sheet) -> Iterator[Table]:
    """A table of the tasks for one harness; for several, tables of the harnesses, a few tasks in each."""
    plan = sheet.plan
    if len(plan.harnesses) == 1:
        yield _by_task(sheet, plan.harnesses[0])
        return
    for start in range(0, len(plan.tasks), WIDEST):
        yield _side_by_side(sheet, slice(start, start + WIDEST))


def _title(sheet: Sheet) -> str:
    suite, n = sheet.plan.suite, len(sheet.plan.tasks)
    named = suite if len(suite) <= LONGEST else f"{n} tasks"
    return f"{named}, {sheet.plan.split} questions, solver {sheet.solver}"


def _by_task(sheet: Sheet, harness: str) -> Table:
    columns = ["task", "score, 95 % interval", "right", "n", "constant answer", "right", "nearest copied"]
    columns.append("calls a trial")
    rows = [[cell.task, _text(cell.score, cell), *_beside(cell)] for cell in sheet.of(harness)]
    mean = sheet.mean(harness)
    total = ["mean of the tasks", _text(mean), "", "-" if mean is None else str(mean.n), "", "", "", ""]
    return Table(f"{_title(sheet)}, harness {harness}", columns, [*rows, total])


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


def _side_by_side(sheet: Sheet, shown: slice) -> Table:
    """The harnesses on some of the tasks. The mean over all tasks stands in the last table."""
    tasks = sheet.plan.tasks
    first = sheet.of(sheet.plan.harnesses[0])[shown]
    heads = [f"{cell.task} (n = {_n(sheet, cell.asked)})" for cell in first]
    shared = [f"mean of {len(tasks)}"] if len(tasks) > 1 and shown.stop >= len(tasks) else []
    beside = [_baseline(sheet, cell.asked) for cell in first]
    constant, copied = ([_text(each.score) for each in beside], [_text(each.copied) for each in beside])
    rows = [
        ["(constant answer)", *constant, *("-" for _ in shared), "0.0"],
        ["(nearest item copied)", *copied, *("-" for _ in shared), "0.0"],
    ]
    for name in sheet.plan.harnesses:
        cells = sheet.of(name)[shown]
        scores = [_text(cell.score, cell) for cell in cells] + [_text(sheet.mean(name)) for _ in shared]
        rows.append([name.removeprefix("library:"), *scores, f"{_calls(cells):.1f}"])
    return Table(_title(sheet), ["harness", *heads, *shared, "calls a trial"], rows)


def _n(sheet: Sheet, asked: str) -> int:
    return max(len(cell.scores) for cell in sheet.cells if cell.asked == asked)


def _baseline(sheet: Sheet, asked: str) -> Baseline:
    """The baseline of a task, which is the same for every harness that was scored on it."""
    found = (cell.baseline for cell in sheet.cells if cell.asked == asked and cell.evaluation)
    return next(found, Baseline())


def _calls(cells: Sequence[Cell]) -> float:
    """Model calls a trial, cached ones too."""
    n = sum(len(cell.trials) for cell in cells)
    return sum(cell.usage.calls for cell in cells) / n if n else 0.0


def _text(score: Interval | None, cell: Cell | None = None) -> str:
    if cell is not None and cell.error is not None:
        return "not scored"
    return "-" if score is None else render.interval_text(score)


def remarks(sheet: Sheet) -> Iterator[str]:
    """What the tables do not say: what was not scored and why, and where the run is."""
    for task, error in sheet.errors.items():
        yield f"{task} is not in the means: {error}"
    lost = sum(cell.evaluation.n_infra_errors for cell in sheet.cells if cell.evaluation)
    if lost:
        yield f"{lost} trials failed through no fault of a harness and are in no mean."
    levels = sorted({cell.evaluation.level for cell in sheet.cells if cell.evaluation})
    yield f"Sandbox level {', '.join(map(str, levels))}. Run {sheet.run_id}: loriner runs show {sheet.run_id}"


def markdown(sheet: Sheet) -> str:
    """The tables in Markdown, each under its title."""
    return "\n".join(_markdown(each) for each in tables(sheet))


def _markdown(table: Table) -> str:
    lines = [table.columns, ["---"] * len(table.columns), *table.rows]
    body = "\n".join(
        "| " + " | ".join(str(each).replace("|", "\\|") for each in line) + " |" for line in lines
    )
    return f"{table.title}\n\n{body}\n"


def document(sheet: Sheet, *, trials: bool) -> dict[str, Any]:
    """The sheet as one document: of one harness flat, of several under `harnesses`."""
    head = {"run": sheet.run_id, "suite": sheet.plan.suite, "solver": sheet.solver, "split": sheet.plan.split}
    found = [_of_harness(sheet, name, trials) for name in sheet.plan.harnesses]
    return head | (found[0] if len(found) == 1 else {"harnesses": found})


def _of_harness(sheet: Sheet, name: str, trials: bool) -> dict[str, Any]:
    return {
        "harness": name,
        "mean": _score(sheet.mean(name)),
        "tasks": [_of_cell(sheet, cell, trials) for cell in sheet.of(name)],
    }


def _of_cell(sheet: Sheet, cell: Cell, trials: bool) -> dict[str, Any]:
    if cell.evaluation is None:
        return {"task": cell.task, "error": str(cell.error)}
    whole = documents.evaluation(
        sheet.run_id, cell.task, cell.evaluation.harness_id, sheet.solver, cell.evaluation, cell.usage
    )
    whole["usage"]["model_seconds"] = whole["usage"].pop("seconds")  # of its calls: a task has no clock
    if not trials:
        del whole["trials"]
    return {
        **whole,
        "strict": _score(cell.strict),
        "constant": _score(cell.baseline.score),
        "constant_strict": _score(cell.baseline.strict),
        "copied": _score(cell.baseline.copied),
    }


def _score(score: Interval | None) -> dict[str, Any] | None:
    return None if score is None else documents.of_interval(score)
