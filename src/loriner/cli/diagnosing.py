"""`diagnose`: why the trials of a run were not right, before and after."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from loriner.cli.globals import Globals

if TYPE_CHECKING:
    from loriner.verbs.diagnose import Diagnosed


def diagnose(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="A run id, or its beginning.")],
    purpose: Annotated[str, typer.Option(help="Which trials: feedback, grade or test.")] = "grade",
    of: Annotated[str | None, typer.Option("--task", help="The task, if the run has several.")] = None,
    examples: Annotated[int, typer.Option(min=0, help="Trials to show for each fault.")] = 1,
) -> None:
    """Explains why trials of a run were not right: faults by harness, with the evidence."""
    from loriner.cli import documents
    from loriner.verbs.diagnose import diagnose as verb

    given: Globals = context.obj
    with given.store() as store:
        found = verb(store, given.settings(), run, purpose=purpose, of=of)
    if given.json:
        documents.emit(documents.faults(found))
    else:
        _print(found, purpose, examples)


def _print(diagnosed: Diagnosed, purpose: str, examples: int) -> None:
    from loriner.cli import render

    counts = diagnosed.counts.most_common()
    render.table(
        f"Faults in run {diagnosed.run_id}, {diagnosed.task}, {purpose} trials",
        ["harness", "fault", "trials", "of"],
        [[harness[:12], fault, count, diagnosed.n[harness]] for (harness, fault), count in counts],
    )
    shown: Counter[tuple[str, str]] = Counter()
    for trial, each in diagnosed.found:
        key = (trial.harness_id, str(each.fault))
        shown[key] += 1
        if shown[key] <= examples:
            where = f"{each.evidence} ({each.where})"
            typer.echo(f"{trial.harness_id[:12]} {trial.question_id} {each.fault}: {where}")
