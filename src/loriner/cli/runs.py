"""`runs list` and `runs show`: what was done, read from the store while it happens or later."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loriner.cli.globals import Globals
from loriner.cli.watching import arms, watch

if TYPE_CHECKING:
    from loriner.records import Usage
    from loriner.store.runs import RunRow

app = typer.Typer()
app.command()(watch)


@app.command("list")
def list_(context: typer.Context, limit: Annotated[int, typer.Option(min=1)] = 20) -> None:
    """Lists the latest runs, newest first; a comparison is one line, without its arms."""
    from loriner.cli import documents, render

    given: Globals = context.obj
    rows = _latest(given, limit)
    if given.json:
        documents.emit([documents.run(row, spent) for row, spent in rows])
        return
    render.table(
        "Runs" if rows else "No runs yet",
        ["run", "command", "task", "status", "started", "calls"],
        [
            [
                row.id,
                row.command,
                _task(row),
                row.status,
                row.started,
                spent.calls,
            ]
            for row, spent in rows
        ],
    )


def _task(row: RunRow) -> str | None:
    """What the run is about: as it ended, or as it was asked for."""
    asked = row.config.get("evaluate", {}).get("suite") if row.command == "evaluate" else None
    name: str | None = row.summary.get("task") or asked or row.config.get("adapt", {}).get("task")
    return name


def _latest(given: Globals, limit: int) -> list[tuple[RunRow, Usage]]:
    """The latest runs with what they cost: none before the first; a home that is named must have a store."""
    from loriner.store.connection import holds_store

    if given.home is None and not holds_store(given.settings().home):
        return []
    with given.store() as store:
        return [(row, store.spent(row.id)) for row in store.runs(limit)]


@app.command()
def show(
    context: typer.Context, run: Annotated[str, typer.Argument(help="A run id, or its beginning.")]
) -> None:
    """Shows a run: its cost, its candidates and its trials by status, or the arms of a comparison."""
    from loriner.cli import documents, render

    given: Globals = context.obj
    with given.store() as store:
        row = store.run(run)
        trials = store.trials(row.id)
        rollouts = store.rollouts(row.id)
        below = store.runs_below(row.id) if row.command == "compare" else []
        spent = store.spent(row.id)
        compared = arms(store, row.id) if below and not given.json else None
    if given.json:
        documents.emit(
            {
                **documents.run(row, spent),
                "arms": below,
                "candidates": [documents.rollout(each) for each in rollouts],
                "trials": [documents.trial(each) for each in trials],
            }
        )
        return
    render.table(f"Run {row.id}", ["what", "value"], _facts(row, spent))
    if compared is not None:
        render.console().print(compared)
        return
    render.table(
        "Candidates",
        ["context", "index", "outcome", "harness"],
        [
            [
                each.context_id,
                each.index,
                each.failure.code if each.failure else "candidate",
                each.candidate.id[:12] if each.candidate else None,
            ]
            for each in rollouts
        ],
    )
    for each in rollouts:
        if each.failure is not None:
            render.refused(f"Candidate {each.index + 1} of {each.context_id}", each)
    render.table("Trials", ["harness", "status", "n", "mean score"], _by_status(trials))


def _facts(row: Any, spent: Any) -> list[list[Any]]:
    from loriner.report.evidence import duration, money

    return [
        ["command", row.command],
        ["status", row.status],
        ["started", row.started],
        ["finished", row.finished],
        ["seed", row.seed],
        ["model calls", spent.calls],
        ["tokens in, out", f"{spent.prompt_tokens:,}, {spent.completion_tokens:,}"],
        ["USD", money(spent.usd)],
        ["wall time", duration(spent.seconds)],
    ]


def _by_status(trials: Any) -> list[list[Any]]:
    from loriner.cli.render import outcome

    groups: Counter[tuple[str, str]] = Counter((each.harness_id[:12], outcome(each)) for each in trials)
    rows = []
    for (harness, status), n in groups.most_common():
        scores = [
            each.score
            for each in trials
            if (each.harness_id[:12], outcome(each)) == (harness, status) and each.score is not None
        ]
        rows.append([harness, status, n, f"{sum(scores) / len(scores):.2f}" if scores else None])
    return rows
