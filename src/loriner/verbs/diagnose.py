"""`diagnose`: why the trials of a run were not right, before and after."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from loriner.config import Settings, changed
from loriner.diagnosis import faults
from loriner.diagnosis.faults import Diagnosis
from loriner.errors import ConfigError
from loriner.records import Trial, target_texts
from loriner.search.history import history
from loriner.store.database import Store
from loriner.store.runs import RunRow
from loriner.tasks.base import Task
from loriner.tasks.splits import split_named
from loriner.tasks.suites import spelt_out
from loriner.verbs.board import asked_for
from loriner.verbs.workspace import task_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosed:
    """The faults of a run's trials on one task."""

    run_id: str
    task: str
    found: tuple[tuple[Trial, Diagnosis], ...]
    """Each trial that was not right, in order."""
    n: Counter[str]
    """Trials of each harness, by its id."""

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """How often each harness has each fault."""
        return Counter((trial.harness_id, str(each.fault)) for trial, each in self.found)


def diagnose(
    store: Store, settings: Settings, run: str, *, purpose: str = "grade", of: str | None = None
) -> Diagnosed:
    """The faults of a run. `of` names its task, where the run is over several.

    Raises:
        ConfigError: there is no such run, it is a comparison, or its task is not known.
        TaskError: its task cannot be opened again.
    """
    row = store.run(run)
    _require_no_comparison(store, row)
    task = _task(settings, row, _compared(settings, store, row) or of)
    trials = store.trials(row.id, task=task.name, purpose=purpose, with_calls=True)
    questions = {each.id: each for each in task.questions(split_named(purpose))}
    known = [(trial, questions[trial.question_id]) for trial in trials if trial.question_id in questions]
    found = (
        (trial, faults.diagnose(trial, target_texts(question.target), question.text))
        for trial, question in known
    )
    return Diagnosed(
        run_id=row.id,
        task=task.name,
        found=tuple((trial, each) for trial, each in found if each is not None),
        n=Counter(trial.harness_id for trial in trials),
    )


def _require_no_comparison(store: Store, row: RunRow) -> None:
    """Raises `ConfigError` for a comparison, with its arms: the trials are theirs."""
    if row.command != "compare":
        return
    arms = [f"\n  {arm.run_id}  {arm}" for arm in history(store, row.id).arms]
    raise ConfigError(
        f"run {row.id} is a comparison: diagnose an arm of it (of sampling: with --purpose test)"
        f"{''.join(arms) or ', of which none has begun'}"
    )


def _compared(settings: Settings, store: Store, row: RunRow) -> str | None:
    """The task of a comparison's arm as the comparison was given it; None for any other run."""
    told = history(store, row.id).start
    if told is None or row.parent is None or store.run(row.parent).command != "compare":
        return None
    then = changed(Settings.model_validate(row.config), home=settings.home)
    names = spelt_out(then.compare.tasks, then.suites)
    named = (name for name in names if task_of(then, name).name == told.task)
    return told.task if told.task in names else next(named, None)


def _task(settings: Settings, row: RunRow, of: str | None) -> Task:
    """The run's task, which is opened anew: the store holds no target."""
    then = changed(Settings.model_validate(row.config), home=settings.home)
    if row.command == "evaluate" and of is None:
        of = _only_task(then)
    return task_of(then, of)


def _only_task(evaluated: Settings) -> str:
    board = asked_for(evaluated)
    if len(board.tasks) > 1:
        raise ConfigError(f"the run is over several tasks ({board.suite}): name one with --task")
    return board.tasks[0]
