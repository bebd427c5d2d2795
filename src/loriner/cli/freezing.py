"""`tasks freeze`, and what `tasks show` says of a suite."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loriner.cli.globals import Globals
from loriner.errors import MissingExtra, TaskError

if TYPE_CHECKING:
    from loriner.tasks.reasoning_gym.frozen import Frozen


def register(app: typer.Typer) -> None:
    app.command()(freeze)


def freeze(
    context: typer.Context,
    suite: Annotated[
        str | None, typer.Argument(help="A suite, rg:FAMILY, or several with commas; default: every suite.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", min=1, help="Families at a time; default: one per core.")
    ] = None,
) -> None:
    """Generates all splits of Reasoning Gym families now, and prints how long each took."""
    from loriner.cli import documents

    given: Globals = context.obj
    settings = given.settings()
    families = _families(suite, settings.suites)
    begun = time.perf_counter()
    made = []
    for each in _made(families, settings.home, jobs or os.cpu_count() or 1):
        made.append(each)
        if given.verbosity >= 0 and not given.json:
            sizes = " ".join(f"{name} {n}" for name, n in each["splits"].items())
            typer.echo(f"rg:{each['family']:<24} {each['seconds']:6.1f} s   {sizes}")
    total = {
        "families": made,
        "splits": sum(len(each["splits"]) for each in made),
        "questions": sum(sum(each["splits"].values()) for each in made),
        "seconds": round(time.perf_counter() - begun, 1),
    }
    if given.json:
        documents.emit(total)
    else:
        typer.echo(
            f"{len(made)} families, {total['splits']} splits, {total['questions']} questions in "
            f"{total['seconds']} s, under {settings.home / 'tasks'}"
        )


def _families(suite: str | None, own: dict[str, list[str]]) -> tuple[str, ...]:
    from loriner.tasks.suites import FAMILY_SUITES, families_of, spelt_out, split_names

    families = families_of(spelt_out(split_names(suite) if suite else FAMILY_SUITES, own))
    if not families:
        raise TaskError(f"{suite} holds no Reasoning Gym family: there is nothing to freeze")
    return families


def _made(families: Sequence[str], home: Path, jobs: int) -> Iterator[dict[str, Any]]:
    """One row a family, as they get ready."""
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(_timed, family, home) for family in families]
        try:
            for each in as_completed(running):
                yield each.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _timed(family: str, home: Path) -> dict[str, Any]:
    from loriner.tasks.reasoning_gym import frozen
    from loriner.tasks.reasoning_gym.families import check_family

    check_family(family, anyway=True)
    begun = time.perf_counter()
    splits: list[Frozen] = frozen.freeze([family], home)
    seconds = round(time.perf_counter() - begun, 1)
    return {"family": family, "splits": {each.split: each.n for each in splits}, "seconds": seconds}


def show_suite(given: Globals, suite: str, tasks: Sequence[str]) -> None:
    """Prints the tasks of a suite, how many questions they have and whether they are made here."""
    from loriner.cli import documents, render

    home = given.settings().home
    rows = [_member(task, home) for task in tasks]
    if given.json:
        documents.emit({"name": suite, "tasks": rows})
        return
    render.table(
        f"{suite}: {len(rows)} tasks",
        ["task", "feedback", "grade", "test", "frozen here"],
        [[row["task"], *row["questions"].values(), _FROZEN[row["frozen"]]] for row in rows],
    )
    typer.echo(f"generate what is missing with: loriner tasks freeze {suite}")


_FROZEN = {True: "yes", False: "no", None: "-"}


def _member(task: str, home: Path) -> dict[str, Any]:
    """A task of a suite; nulls where that is known only when it is opened."""
    from loriner.tasks.base import SPLITS
    from loriner.tasks.reasoning_gym.families import default_n
    from loriner.tasks.reasoning_gym.frozen import committed_digests, is_frozen
    from loriner.tasks.reasoning_gym.task import ADAPTING
    from loriner.tasks.suites import families_of

    family = next(iter(families_of([task])), "")
    known = committed_digests()["families"].get(family, {}).get(str(default_n(family)), {})
    counts = {split: known.get(ADAPTING[split], [None])[0] for split in SPLITS}
    try:
        frozen = is_frozen(family, home) if family else None
    except MissingExtra:
        frozen = False
    return {"task": task, "questions": counts, "frozen": frozen}
