"""A sheet of scores: several harnesses on several tasks, all trials in one run that can be resumed.

A task that does not open, or breaks while it is scored, says so in its own cells; the others lose nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from loriner.config import changed
from loriner.errors import ConfigError, HarnessError, LorinerError, TaskError
from loriner.evaluation.baselines import baselines
from loriner.evaluation.evaluator import Evaluator
from loriner.records import Call, Evaluation, Harness, Question, Trial, Usage
from loriner.statistics import Interval, interval, stratified
from loriner.tasks.base import Split, Task
from loriner.workspace import Workspace, task_of

OWN_SEED = "seed"
"""Stands for each task's own seed harness."""

_OF_ONE_TASK = (TaskError, ConfigError, HarnessError)
"""What is told in a cell; everything else (an endpoint down, a budget reached) stops the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a sheet holds."""

    suite: str
    """What was asked for, in the person's words."""
    tasks: tuple[str, ...]
    harnesses: tuple[str, ...] = (OWN_SEED,)
    """Names of harnesses: `library:NAME`, files, versions (`best` is each task's own best), or `seed`."""
    split: Split = "grade"
    limit: int | None = None
    """Questions of a task at most."""
    samples: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a task's feedback questions give away on the questions asked: their commonest right answer, and
    that of the nearest one.
    """

    answer: str | None = None
    scores: tuple[float, ...] = ()
    """Of the commonest answer, one a question; none where the task has no feedback questions."""
    copied_scores: tuple[float, ...] = ()
    """Of the nearest one's answer, likewise."""

    @property
    def score(self) -> Interval | None:
        return interval(self.scores) if self.scores else None

    @property
    def copied(self) -> Interval | None:
        return interval(self.copied_scores) if self.copied_scores else None

    @property
    def strict(self) -> Interval | None:
        """The share of questions that the commonest answer gets wholly right."""
        return interval([float(each >= 1.0) for each in self.scores]) if self.scores else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One harness on one task."""

    asked: str
    """The task as the plan names it."""
    harness: str
    """As the plan names it."""
    task: str
    """The task's own name; `asked` where it does not open."""
    evaluation: Evaluation | None = None
    baseline: Baseline = Baseline()
    error: LorinerError | None = None
    """Why there is no evaluation."""

    @property
    def scores(self) -> Sequence[float]:
        """Of each question that was scored."""
        return list(self.evaluation.scores.values()) if self.evaluation else []

    @property
    def score(self) -> Interval | None:
        return interval(self.scores) if self.scores else None

    @property
    def strict(self) -> Interval | None:
        """The same without partial credit: what is not wholly right counts 0."""
        whole = [_whole(trial) for trial in self.trials]
        evaluation = self.evaluation and replace(self.evaluation, trials=tuple(whole))
        return interval(list(evaluation.scores.values())) if evaluation and self.scores else None

    @property
    def trials(self) -> tuple[Trial, ...]:
        return self.evaluation.trials if self.evaluation else ()

    @property
    def calls(self) -> list[Call]:
        """All model calls of its trials."""
        return [call for trial in self.trials for call in trial.calls if call.kind == "model"]

    @property
    def usage(self) -> Usage:
        """What its trials asked of the solver; a reply from the cache counts as a call that cost nothing."""
        return sum((_usage(call) for call in self.calls), Usage())


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """All cells, by task and then harness, in the order of the plan."""

    run_id: str
    solver: str
    plan: Plan
    cells: tuple[Cell, ...]

    def of(self, harness: str) -> list[Cell]:
        """The cells of a harness, one a task."""
        return [cell for cell in self.cells if cell.harness == harness]

    def mean(self, harness: str) -> Interval | None:
        """The mean over the tasks that were scored, each weighing the same."""
        groups = [cell.scores for cell in self.of(harness) if cell.scores]
        return stratified(groups) if groups else None

    @property
    def errors(self) -> dict[str, LorinerError]:
        """Why something was not scored, by task as asked."""
        return {cell.asked: cell.error for cell in self.cells if cell.error}


async def fill(opened: Workspace, plan: Plan, lab: Evaluator) -> Sheet:
    """The sheet of a plan. What the store holds of the run already is not run again.

    Raises:
        HarnessError: a harness of the library, or a file, is none.
        TaskError: no task could be scored; the message is that of the first.
        LorinerError: as `Evaluator.evaluate`.
    """
    for name in plan.harnesses:
        if name.startswith("library:") or name.endswith(".py"):
            opened.harness(name)
    opened_as: dict[str, str] = {}
    cells = [cell for task in plan.tasks for cell in await _Row(opened, plan, lab, task, opened_as).cells()]
    sheet = Sheet(run_id=lab.run_id, solver=lab.solver.name, plan=plan, cells=tuple(cells))
    if all(cell.error for cell in cells):
        raise next(iter(sheet.errors.values()))
    return sheet


@dataclass(slots=True)
class _Row:
    """All harnesses on one task."""

    opened: Workspace
    plan: Plan
    lab: Evaluator
    asked: str
    opened_as: dict[str, str]
    """What each task so far was asked for as, by its own name: trials are known by that."""
    questions: Sequence[Question] = field(default_factory=list)

    async def cells(self) -> list[Cell]:
        try:
            task = task_of(changed(self.opened.settings, adapt={"task": self.asked}))
            try:
                self._require_own_name(task)
                self.questions = task.questions(self.plan.split)[: self.plan.limit]
                baseline = await self._baseline(task)
                return [await self._cell(task, baseline, each) for each in self.plan.harnesses]
            finally:
                await task.close()
        except _OF_ONE_TASK as error:
            self.lab.observe("note", text=f"{self.asked}: {error}")
            return [self._failed(each, error) for each in self.plan.harnesses]

    async def _cell(self, task: Task, baseline: Baseline, name: str) -> Cell:
        try:
            harness = self._harness(task, name)
        except _OF_ONE_TASK as error:
            self.lab.observe("note", text=f"{self.asked}, {name}: {error}")
            return self._failed(name, error)
        evaluation = await self.lab.evaluate(
            task,
            harness,
            self.questions,
            purpose=self.plan.split,
            samples=self.plan.samples,
        )
        return Cell(asked=self.asked, harness=name, task=task.name, evaluation=evaluation, baseline=baseline)

    def _require_own_name(self, task: Task) -> None:
        other = self.opened_as.setdefault(task.name, self.asked)
        if other != self.asked:
            raise TaskError(f"{other} and {self.asked} are both called {task.name}: rename one of them")

    def _harness(self, task: Task, name: str) -> Harness:
        return self.opened.harness(f"library:{task.seed_harness}" if name == OWN_SEED else name, task.name)

    async def _baseline(self, task: Task) -> Baseline:
        try:
            known = task.questions("feedback")
        except TaskError:  # a task may have none
            return Baseline()
        found = await baselines(task, known, self.questions)
        return Baseline(
            answer=found.constant,
            scores=tuple(found.constant_scores.values()),
            copied_scores=tuple(found.copied_scores.values()),
        )

    def _failed(self, harness: str, error: LorinerError) -> Cell:
        return Cell(asked=self.asked, harness=harness, task=self.asked, error=error)


def _whole(trial: Trial) -> Trial:
    return trial if trial.score is None else replace(trial, score=float(trial.score >= 1.0))


def _usage(call: Call) -> Usage:
    return Usage(
        calls=1,
        prompt_tokens=call.prompt_tokens,
        completion_tokens=call.completion_tokens,
        usd=call.usd,
        seconds=call.seconds,
    )
