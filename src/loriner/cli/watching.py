"""`runs watch`: a run as it goes, from any terminal, read from the store."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from loriner.cli.globals import Globals

if TYPE_CHECKING:
    from rich.console import RenderableType

    from loriner.store.database import Store
    from loriner.store.queries import Tally

EVERY_S = 1.0
N_ROUNDS = 12
"""Latest rounds that are shown."""


def watch(
    context: typer.Context,
    run: Annotated[
        str | None, typer.Argument(help="A run id, or its beginning; default: the latest.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Print the current state and exit.")] = False,
) -> None:
    """Follows a run, which may work in another terminal, until it ends."""
    from rich.live import Live

    from loriner.cli import render
    from loriner.errors import ConfigError

    given: Globals = context.obj
    if given.json:
        raise ConfigError("`runs watch` has no document: use `loriner runs show RUN --json`")
    with given.store() as store:
        latest = store.runs(1)
        if run is None and not latest:
            raise ConfigError("no run to watch: this --home has none yet")
        run_id = store.run(run).id if run is not None else latest[0].id
        if once or not sys.stdout.isatty():
            _follow_plainly(store, run_id, once)
            return
        with Live(view(store, run_id), console=render.console(), refresh_per_second=2) as live:
            while store.run(run_id).status == "running":
                time.sleep(EVERY_S)
                live.update(view(store, run_id))
            live.update(view(store, run_id))  # it may have ended between a look and the question


def _follow_plainly(store: Store, run_id: str, once: bool) -> None:
    """Prints the view whenever a round is over, and at the end."""
    from loriner.cli import render
    from loriner.search.history import history

    seen = -1
    while True:
        running = store.run(run_id).status == "running"
        told = history(store, run_id)
        n = len(told.rounds) + len(told.arms)
        if n != seen or not running:
            render.console().print(view(store, run_id))
            seen = n
        if once or not running:
            return
        time.sleep(EVERY_S)


def view(store: Store, run_id: str) -> RenderableType:
    """How a run stands: its head, its arms or rounds, its trials by harness and purpose."""
    from rich.console import Group
    from rich.text import Text

    from loriner.search.history import history

    row, told, spent = store.run(run_id), history(store, run_id), store.spent(run_id)
    task = told.start.task if told.start else str(row.summary.get("task", ""))
    head = f"{row.id}  {row.command} {task}  {row.status}  {spent.seconds:.0f} s  {spent.calls:,} model calls"
    if told.arms:
        return Group(Text(head, style="bold"), arms(store, run_id))
    parts: list[RenderableType] = [Text(head, style="bold")]
    if told.rounds:
        parts.append(_rounds(store, run_id))
    return Group(*parts, _trials(store, run_id))


def arms(store: Store, run_id: str) -> RenderableType:
    """The arms of a comparison: how each stands, and the run that records it."""
    from loriner.search.history import history

    rows = []
    for arm in history(store, run_id).arms:
        told = history(store, arm.run_id)
        n_trials = sum(each.n for each in store.tallies(arm.run_id))
        row = store.run(arm.run_id)
        rows.append(
            [
                arm.task,
                arm.mode,
                str(arm.seed),
                row.status,
                str(len(told.rounds)),
                f"{n_trials:,}",
                arm.run_id,
            ]
        )
    return _table(["task", "mode", "seed", "status", "rounds", "trials", "run"], rows)


def _rounds(store: Store, run_id: str) -> RenderableType:
    from loriner.search.history import history

    tallies = [each for each in store.tallies(run_id) if each.purpose == "grade"]
    rows = []
    for each in history(store, run_id).rounds[-N_ROUNDS:]:
        reasons = "; ".join(one.reason for one in each.attempts if one.reason) or "edits refused"
        grade = _mean(tally for tally in tallies if tally.harness_id == each.current_id)
        now = "-" if grade is None else f"{grade:.2f}"
        rows.append([str(each.number), now, "accepted" if each.accepted else "", reasons[:90]])
    return _table(["round", "current", "", "why"], rows)


def _trials(store: Store, run_id: str) -> RenderableType:
    groups: dict[tuple[str, str, str], list[Tally]] = {}
    for each in store.tallies(run_id):
        groups.setdefault((each.task, each.purpose, each.harness_id), []).append(each)
    rows = [
        [
            task,
            purpose,
            harness[:10],
            str(sum(each.n for each in tallies)),
            "-" if (mean := _mean(tallies)) is None else f"{mean:.2f}",
            ", ".join(f"{each.status} {each.n}" for each in tallies),
        ]
        for (task, purpose, harness), tallies in groups.items()
    ]
    return _table(["task", "questions", "program", "trials", "mean", "statuses"], rows)


def _mean(tallies: Iterable[Tally]) -> float | None:
    """Mean score of the scored trials."""
    scored = [each for each in tallies if each.status != "infra_error"]
    n = sum(each.n for each in scored)
    return sum(each.score for each in scored) / n if n else None


def _table(columns: list[str], rows: list[list[str]]) -> RenderableType:
    from rich.markup import escape
    from rich.table import Table

    from loriner.report.text import plain

    made = Table(header_style="bold")
    for name in columns:
        made.add_column(name, overflow="fold")
    for row in rows:
        made.add_row(*(escape(plain(cell)) for cell in row))
    return made
