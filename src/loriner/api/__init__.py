"""The Python face: the verbs of the command line as functions that wait for their end.

import loriner as lo

task = lo.Task.from_jsonl("items.jsonl", scorer=lambda item, answer: float(answer == item["answer"]))
run = lo.adapt(task, solver=lo.Model("http://localhost:8000/v1", "Qwen3.5-4B"), rounds=10)
print(run.seed, run.best)
print(run.best.diff(run.seed))
run.best.save("harness.py")

They also work where an event loop runs already, as in a notebook; that loop waits for them. With an `a`
before its name each is awaited instead, and the loop goes on. All of it is in docs/python.md.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import Any, Unpack

from loriner.api.cage import Cage, Ran
from loriner.api.given import Given, Model, Program, Solver, Writer
from loriner.api.lab import Comparing, Lab, Running, Searching
from loriner.api.lab import open_lab as open
from loriner.api.ready import Ready
from loriner.api.results import Compared, Evaluated, Run, Scored
from loriner.concurrency import P, R, in_background
from loriner.config import Settings, changed
from loriner.errors import LorinerError
from loriner.events import Observer, silent
from loriner.harness.contract import from_library, from_text
from loriner.harness.contract import load as load_harness
from loriner.models.meter import Allowance, Budget
from loriner.models.prices import Price
from loriner.propose.proposer import Completion, Proposer
from loriner.records import Harness as AnyHarness
from loriner.records import Score
from loriner.runtime.base import Limits
from loriner.search.estimate import Estimate
from loriner.statistics import Interval
from loriner.store.database import Store
from loriner.store.ref_names import is_best
from loriner.store.registry import Registry
from loriner.tasks.base import Split
from loriner.tasks.base import Task as AnyTask
from loriner.tasks.by_name import open_task
from loriner.tasks.jsonl import from_jsonl
from loriner.tasks.judge import Judge
from loriner.tasks.rows import from_data
from loriner.tasks.scorer import ScoreFunction
from loriner.train.settings import TrainConfig
from loriner.train.settings import load as load_training_file
from loriner.verbs.training import sft
from loriner.verbs.workspace import find_harness, solver_name

__all__ = [
    "Allowance",
    "Budget",
    "Cage",
    "Compared",
    "Completion",
    "Evaluated",
    "Harness",
    "Interval",
    "Judge",
    "Lab",
    "Limits",
    "LorinerError",
    "Model",
    "Price",
    "Proposer",
    "Ran",
    "Ready",
    "Run",
    "Score",
    "Scored",
    "Task",
    "aadapt",
    "acompare",
    "adapt",
    "aestimate",
    "aevaluate",
    "compare",
    "estimate",
    "evaluate",
    "in_background",
    "load",
    "open",
    "sft",
    "silent",
    "training_file",
]


class Task:
    """Ways to get a task. Any object with the methods of `loriner.tasks.base.Task` is one too."""

    @staticmethod
    def from_jsonl(
        path: str | Path,
        scorer: ScoreFunction | Judge | str,
        *,
        name: str | None = None,
        description: str = "",
        split: dict[str, float] | None = None,
        seed_harness: str = "minimal",
    ) -> AnyTask:
        """A file of items, one JSON object a line, and a function of (item, answer) or `FILE.py:FUNCTION`."""
        shares = {} if split is None else {"split": split}
        return from_jsonl(
            path, scorer, name=name, description=description, seed_harness=seed_harness, **shares
        )

    @staticmethod
    def from_data(
        data: Any,
        scorer: ScoreFunction | Judge | str,
        *,
        name: str | None = None,
        description: str = "",
        split: dict[str, float] | None = None,
        seed_harness: str = "minimal",
    ) -> AnyTask:
        """Rows with `question` and `answer`: a list of dicts, a DataFrame, or the path of a CSV or JSONL
        file. A row without an `id` gets its number. The columns may also have the names that `tasks new`
        knows, such as `text` and `label`.
        """
        shares = {} if split is None else {"split": split}
        return from_data(
            data, scorer, name=name, description=description, seed_harness=seed_harness, **shares
        )

    @staticmethod
    def named(name: str, *, home: str | Path = ".loriner") -> AnyTask:
        """A task as the command line names it: `rg:FAMILY`, a registered name, or a folder."""
        return open_task(name, home=Path(home))


class Harness:
    """Ways to get a harness. Each raises `LorinerError` where the program has no `solve(model, question)`."""

    @staticmethod
    def from_text(source: str) -> AnyHarness:
        """The program itself."""
        return from_text(source)

    @staticmethod
    def from_file(path: str | Path) -> AnyHarness:
        """A file that holds it."""
        return load_harness(Path(path))

    @staticmethod
    def library(name: str) -> AnyHarness:
        """One that ships with the package."""
        return from_library(name)


def adapt(
    task: AnyTask | str,
    solver: Solver,
    proposer: Writer = "catalogue",
    *,
    home: str | Path = ".loriner",
    observe: Observer | None = None,
    resume: str | None = None,
    replay: str | None = None,
    **search: Unpack[Searching],
) -> Run:
    """As `Lab.adapt`, in a session of its own."""
    with open(home) as lab:
        return lab.adapt(task, solver, proposer, observe=observe, resume=resume, replay=replay, **search)


def estimate(
    task: AnyTask | str,
    solver: Solver,
    proposer: Writer = "catalogue",
    *,
    home: str | Path = ".loriner",
    **search: Unpack[Searching],
) -> Estimate:
    """As `Lab.estimate`, in a session of its own."""
    with open(home) as lab:
        return lab.estimate(task, solver, proposer, **search)


def evaluate(
    task: AnyTask | str,
    harness: Program,
    solver: Solver,
    *,
    split: Split = "grade",
    limit: int | None = None,
    samples: int = 1,
    home: str | Path = ".loriner",
    **running: Unpack[Running],
) -> Evaluated:
    """As `Lab.evaluate`, in a session of its own."""
    with open(home) as lab:
        return lab.evaluate(task, harness, solver, split=split, limit=limit, samples=samples, **running)


def compare(
    tasks: Sequence[AnyTask | str],
    solver: Solver,
    proposer: Writer = "catalogue",
    *,
    home: str | Path = ".loriner",
    **comparing: Unpack[Comparing],
) -> Compared:
    """As `Lab.compare`, in a session of its own."""
    with open(home) as lab:
        return lab.compare(tasks, solver, proposer, **comparing)


def load(
    harness: Program, model: Solver, *, task: AnyTask | str | None = None, home: str | Path = ".loriner"
) -> Ready:
    """A harness with a model, ready to answer: `lo.load("best/tickets", model=…)("a question")`.

    `task` gives the harness the tools that the task grants.

    Raises:
        HarnessError: there is no such harness.
    """
    given, home = Given(), Path(home)
    found = given.harness(harness)
    adapt = {"solver": given.model(model), "task": None if task is None else given.task(task)}
    settings = changed(Settings(), home=home, models=given.specs, adapt=adapt)
    if isinstance(found, str):
        solver = solver_name(settings, given.lent) if is_best(found) else None
        with closing(Store.open(home)) as store:
            found = find_harness(found, store, Registry.open(home), solver=solver)
    return Ready(found, settings, given.lent)


def _awaited(call: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """The call as a coroutine, during which the caller's event loop goes on."""

    @wraps(call)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> R:
        return await in_background(call, *args, **kwargs)

    return twin


aadapt = _awaited(adapt)
aestimate = _awaited(estimate)
aevaluate = _awaited(evaluate)
acompare = _awaited(compare)


def training_file(path: str | Path, *assignments: str) -> TrainConfig:
    """A training file, with `a.b=c` texts laid over it."""
    return load_training_file(Path(path), assignments)
