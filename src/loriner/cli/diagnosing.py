"""`diagnose`: why the trials of a run were not right, before and after."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from loriner.cli.globals import Globals

if TYPE_CHECKING:
    from loriner.config import Settings
    from loriner.records import Question
    from loriner.store.database import Store
    from loriner.store.runs import RunRow
    from loriner.tasks.base import Task


def diagnose(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="A run id, or its beginning.")],
    purpose: Annotated[str, typer.Option(help="feedback, grade or test.")] = "grade",
    of: Annotated[
        str | None, typer.Option("--task", help="Of a run over several tasks, one of them.")
    ] = None,
    examples: Annotated[int, typer.Option(min=0, help="Trials shown of each fault.")] = 1,
) -> None:
    """Why the trials of a run were not right: faults by harness, with the evidence."""
    from loriner.cli import documents, render
    from loriner.diagnosis.faults import diagnose as find
    from loriner.tasks.splits import split_named

    given: Globals = context.obj
    with given.store() as store:
        row = store.run(run)
        _require_no_comparison(store, row)
        task = _task(given, row, _compared(given, store, row) or of)
        trials = store.trials(row.id, task=task.name, purpose=purpose, with_calls=True)
    questions = {each.id: each for each in task.questions(split_named(purpose))}
    found = [
        (trial, diagnosis)
        for trial in trials
        if (question := questions.get(trial.question_id)) is not None
        and (diagnosis := find(trial, _targets(question), question.text)) is not None
    ]
    counts = Counter((trial.harness_id, str(each.fault)) for trial, each in found)
    if given.json:
        documents.emit(
            [
                {
                    "harness": trial.harness_id,
                    "question": trial.question_id,
                    "fault": str(each.fault),
                    "evidence": each.evidence,
                    "where": each.where,
                }
                for trial, each in found
            ]
        )
        return
    n = Counter(trial.harness_id for trial in trials)
    render.table(
        f"Faults in run {row.id}, {task.name}, {purpose} trials",
        ["harness", "fault", "trials", "of"],
        [[harness[:12], fault, count, n[harness]] for (harness, fault), count in counts.most_common()],
    )
    shown: Counter[tuple[str, str]] = Counter()
    for trial, each in found:
        key = (trial.harness_id, str(each.fault))
        shown[key] += 1
        if shown[key] <= examples:
            typer.echo(
                f"{trial.harness_id[:12]} {trial.question_id} {each.fault}: {each.evidence} ({each.where})"
            )


def _targets(question: Question) -> list[str]:
    from loriner.records import target_texts

    return target_texts(question.target)


def _require_no_comparison(store: Store, row: RunRow) -> None:
    """Raises `ConfigError` for a comparison, with its arms: the trials are theirs."""
    from loriner.errors import ConfigError
    from loriner.search.history import trail

    if row.command != "compare":
        return
    arms = [f"\n  {arm.run_id}  {arm.task}, {arm.mode}, seed {arm.seed}" for arm in trail(store, row.id).arms]
    raise ConfigError(
        f"run {row.id} is a comparison: diagnose an arm of it (of sampling: with --purpose test)"
        f"{''.join(arms) or ', of which none has begun'}"
    )


def _compared(given: Globals, store: Store, row: RunRow) -> str | None:
    """The task of a comparison's arm as the comparison was given it; None for any other run."""
    from loriner.config import Settings, changed
    from loriner.search.history import trail
    from loriner.tasks.suites import spelt_out
    from loriner.workspace import task_of

    told = trail(store, row.id).start
    if told is None or row.parent is None or store.run(row.parent).command != "compare":
        return None
    then = changed(Settings.model_validate(row.config), home=given.settings().home)
    names = spelt_out(then.compare.tasks, then.suites)
    named = (name for name in names if task_of(changed(then, adapt={"task": name})).name == told.task)
    return told.task if told.task in names else next(named, None)


def _task(given: Globals, row: RunRow, of: str | None) -> Task:
    """The run's task, which is opened anew: the store holds no target."""
    from loriner.config import Settings, changed
    from loriner.workspace import task_of

    then = changed(Settings.model_validate(row.config), home=given.settings().home)
    if row.command == "evaluate" and of is None:
        of = _only_task(then)
    return task_of(changed(then, adapt={"task": of}))


def _only_task(evaluated: Settings) -> str:
    from loriner.errors import ConfigError
    from loriner.search.board import asked_for

    board = asked_for(evaluated)
    if len(board.tasks) > 1:
        raise ConfigError(f"the run is over several tasks ({board.suite}): name one with --task")
    return board.tasks[0]
