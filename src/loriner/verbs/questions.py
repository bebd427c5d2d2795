"""The questions of recorded runs, with their right answers: each task is opened again, once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from loriner.config import Settings, changed
from loriner.errors import LorinerError, TaskError
from loriner.records import Question
from loriner.report.trials.viewer import Asked
from loriner.store.database import Store
from loriner.tasks.base import SPLITS, Split, Task
from loriner.tasks.suites import spelt_out
from loriner.verbs.board import asked_for
from loriner.verbs.workspace import task_of


@dataclass(slots=True)
class Questions:
    """Called with a run's id and a task's name, the questions of that task as it is now."""

    store: Store
    settings: Settings
    known: dict[tuple[str, str], Asked] = field(default_factory=dict)
    """By run and task: another run may have meant another folder by the same name."""

    def __call__(self, run_id: str, task: str) -> Asked:
        key = run_id, task
        if key not in self.known:
            self.known[key] = self._read(run_id, task)
        return self.known[key]

    def _read(self, run_id: str, name: str) -> Asked:
        try:
            task = self._open(run_id, name)
            return Asked(questions={each.id: each for split in SPLITS for each in _questions(task, split)})
        except (LorinerError, ValueError, OSError) as error:
            return Asked(missing=f"the task cannot be opened again: {error}")

    def _open(self, run_id: str, name: str) -> Task:
        """The task of the run that is called `name`. Raises `TaskError` where none is."""
        then = self._settings(run_id)
        for each in _names(then):
            with suppress(LorinerError):
                task = task_of(then, each)
                if task.name == name:
                    return task
        return task_of(then, name)

    def _settings(self, run_id: str) -> Settings:
        """Those that the run began with, or the comparison that it is an arm of."""
        row = self.store.run(run_id)
        if row.parent is not None and (above := self.store.run(row.parent)).command == "compare":
            row = above
        return changed(Settings.model_validate(row.config), home=self.settings.home)


def _names(then: Settings) -> Iterator[str | None]:
    """What the run called its tasks, the likeliest first."""
    if then.adapt.task or then.task:
        yield None
    with suppress(LorinerError):
        yield from asked_for(then).tasks
    with suppress(LorinerError):
        yield from spelt_out(then.compare.tasks, then.suites)


def _questions(task: Task, split: Split) -> Sequence[Question]:
    try:
        return task.questions(split)
    except TaskError:  # a task may have none
        return ()
