"""A scoreboard: harnesses on tasks, one of each or many, all trials in one run that can be resumed.

A task that does not open, or breaks while it is scored, says so in its own cells; the others lose nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from loriner.config import Settings
from loriner.errors import ConfigError, HarnessError, LorinerError, TaskError
from loriner.evaluation.baselines import baselines
from loriner.evaluation.evaluator import Evaluator
from loriner.events import Note, Observer, silent
from loriner.records import Call, Evaluation, Harness, Question, Trial, Usage
from loriner.search.allowance import usage_of
from loriner.search.estimate import require_priced
from loriner.statistics import Interval, interval, stratified
from loriner.store.database import Store
from loriner.tasks.base import Task
from loriner.verbs.board import OWN_SEED, Board, asked_for
from loriner.verbs.earlier import FRESH, Earlier
from loriner.verbs.stage import running
from loriner.verbs.workspace import Workspace

_OF_ONE_TASK = (TaskError, ConfigError, HarnessError)
"""What is told in a cell; everything else (an endpoint down, a budget reached) stops the run."""

EVERY_TASK = ""
"""Stands for all tasks, where a name means the same harness on each."""
_Programs = dict[tuple[str, str], str]
"""The ids of the harnesses that a run began with, by task and by name as asked."""


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
    """The task as the board names it."""
    harness: str
    """As the board names it."""
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
        return usage_of(self.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoreboard:
    """All cells, by task and then harness, in the order of the board."""

    run_id: str
    solver: str
    board: Board
    cells: tuple[Cell, ...]
    spent: Usage = field(default_factory=Usage)
    """By the run: a reply from the cache cost nothing and is not counted."""

    @property
    def name(self) -> str:
        """What was asked for; of a single task, its own name."""
        return self.cells[0].task if self.board.single else self.board.suite

    def of(self, harness: str) -> list[Cell]:
        """The cells of a harness, one a task."""
        return [cell for cell in self.cells if cell.harness == harness]

    def mean(self, harness: str) -> Interval | None:
        """The mean over the tasks that were scored, each weighing the same."""
        groups = [cell.scores for cell in self.of(harness) if cell.scores]
        return stratified(groups) if groups else None

    def reaches(self, bar: float) -> bool:
        """Whether every harness has a mean, and none is below the bar."""
        means = [self.mean(name) for name in self.board.harnesses]
        return all(found is not None and found.mean >= bar for found in means)

    @property
    def trials(self) -> list[Trial]:
        return [trial for cell in self.cells for trial in cell.trials]

    @property
    def errors(self) -> dict[str, LorinerError]:
        """Why something was not scored, by task as asked."""
        return {cell.asked: cell.error for cell in self.cells if cell.error}

    @property
    def summary(self) -> dict[str, Any]:
        """What the run's row keeps of it."""
        means = {name: found.mean for name in self.board.harnesses if (found := self.mean(name))}
        facts: dict[str, Any] = {"task": self.name, "means": means, "not scored": sorted(self.errors)}
        if self.board.single and (evaluation := self.cells[0].evaluation):
            facts |= {"harness": evaluation.harness_id, "score": evaluation.mean_score}
        return facts


async def evaluate(
    lab: Workspace, settings: Settings, observe: Observer = silent, *, earlier: Earlier = FRESH
) -> Scoreboard:
    """The scoreboard of `settings.evaluate`, as a run. What the store holds of an earlier one is kept.

    A run that is resumed or replayed keeps the programs that it began with, whatever became of the file, the
    tag or the best version, unless a replay is given others.

    Raises:
        HarnessError: a harness of the library, or a file, is none.
        TaskError: no task could be scored; the message is that of the first.
        ConfigError: no solver is named, or money is capped and its price is unknown.
        LorinerError: as `Evaluator.evaluate`.
    """
    lab, board = lab.fresh(settings), asked_for(settings)
    require_priced(settings)
    parent = None if earlier.replay is None else lab.replay(earlier.replay)
    solver = lab.solver
    known = _programs(lab.store, earlier.resume or (None if earlier.harnesses else parent))
    shared = _shared(lab, board, known)
    rows = [_Row(lab, board, task, known, shared) for task in board.tasks]
    try:
        if len(rows) == 1:
            rows[0].require()  # a mistyped name leaves no run behind
        with running(lab, "evaluate", solver, observe, resume=earlier.resume, parent=parent) as run:
            cells = await _cells(rows, shared, run.evaluator)
            filled = Scoreboard(run_id=run.run_id, solver=solver.name, board=board, cells=cells)
            if all(cell.error for cell in cells):
                raise next(iter(filled.errors.values()))
            run.summary.update(filled.summary)
    finally:
        for row in rows:
            await row.close()
    return replace(filled, spent=lab.store.spent(run.run_id))


def _shared(opened: Workspace, board: Board, known: _Programs) -> dict[str, Harness]:
    """The harnesses whose names mean the same on every task, by name: files, and those of the library.

    Raises:
        HarnessError: one of them is none.
    """
    return {
        name: opened.harness(known.get((EVERY_TASK, name), name))
        for name in board.harnesses
        if (EVERY_TASK, name) in known or name.startswith("library:") or name.endswith(".py")
    }


def _programs(store: Store, run: str | None) -> _Programs:
    told = [] if run is None else store.events(store.run(run).id, "harness")
    return {(each.data["task"], each.data["asked"]): each.data["harness"] for each in told}


async def _note(lab: Evaluator, task: str, name: str, harness: Harness) -> None:
    """Has the run keep which program the name stands for on the task, once."""
    if (task, name) not in _programs(lab.store, lab.run_id):
        await lab.store.add_harness(harness)
        facts = {"task": task, "asked": name, "harness": harness.id}
        await lab.store.add_event(lab.run_id, "harness", facts)


async def _cells(rows: Sequence[_Row], shared: Mapping[str, Harness], lab: Evaluator) -> tuple[Cell, ...]:
    """The cells of all rows. No two rows may be of one task: trials are known by its name."""
    for name, harness in shared.items():
        await _note(lab, EVERY_TASK, name, harness)
    asked_as: dict[str, str] = {}
    cells = [cell for row in rows for cell in await row.cells(lab, asked_as)]
    return tuple(cells)


@dataclass(slots=True)
class _Row:
    """All harnesses on one task."""

    opened: Workspace
    board: Board
    asked: str
    known: _Programs
    shared: Mapping[str, Harness]
    task: Task | None = None
    """While it is open."""
    questions: Sequence[Question] = ()
    found: dict[str, Harness | LorinerError] = field(default_factory=dict)
    """By name as asked; or why there is no such harness for this task."""

    def open(self) -> Task:
        """The task, with its questions and harnesses found. Raises as `_OF_ONE_TASK`."""
        if self.task is None:
            self.task = self.opened.task(self.asked)
            self.questions = self.task.questions(self.board.split)[: self.board.limit]
            self.found = {name: self._find(self.task, name) for name in self.board.harnesses}
        return self.task

    def require(self) -> None:
        """Raises, as `open`, what would leave every cell empty."""
        self.open()
        errors = [each for each in self.found.values() if isinstance(each, LorinerError)]
        if len(errors) == len(self.found):
            raise errors[0]

    async def cells(self, lab: Evaluator, asked_as: dict[str, str]) -> list[Cell]:
        try:
            task = self.open()
            self._require_own_name(task, asked_as)
            baseline = await self._baseline(task)
            return [await self._cell(lab, task, baseline, name) for name in self.board.harnesses]
        except _OF_ONE_TASK as error:
            self._say(lab, f"{self.asked}: {error}")
            return [self._failed(name, error) for name in self.board.harnesses]
        finally:
            await self.close()

    async def _cell(self, lab: Evaluator, task: Task, baseline: Baseline, name: str) -> Cell:
        harness = self.found[name]
        if isinstance(harness, LorinerError):
            self._say(lab, f"{self.asked}, {name}: {harness}")
            return self._failed(name, harness)
        if name not in self.shared:
            await _note(lab, task.name, name, harness)
        evaluation = await lab.evaluate(
            task, harness, self.questions, purpose=self.board.split, samples=self.board.samples
        )
        return Cell(asked=self.asked, harness=name, task=task.name, evaluation=evaluation, baseline=baseline)

    def _require_own_name(self, task: Task, asked_as: dict[str, str]) -> None:
        other = asked_as.setdefault(task.name, self.asked)
        if other != self.asked:
            raise TaskError(f"{other} and {self.asked} are both called {task.name}: rename one of them")

    def _find(self, task: Task, name: str) -> Harness | LorinerError:
        if name in self.shared:
            return self.shared[name]
        own = f"library:{task.seed_harness}" if name == OWN_SEED else name
        try:
            return self.opened.harness(self.known.get((task.name, name), own), task.name)
        except _OF_ONE_TASK as error:
            return error

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

    def _say(self, lab: Evaluator, text: str) -> None:
        """Tells of an error while other cells are scored; that of a lone cell is what the run ends with."""
        if len(self.board.tasks) * len(self.board.harnesses) > 1:
            lab.observe(Note(text=text))

    def _failed(self, harness: str, error: LorinerError) -> Cell:
        return Cell(asked=self.asked, harness=harness, task=self.asked, error=error)

    async def close(self) -> None:
        """Closes the task, if it is open."""
        if self.task is not None:
            await self.task.close()
            self.task = None


def _whole(trial: Trial) -> Trial:
    return trial if trial.score is None else replace(trial, score=float(trial.score >= 1.0))
