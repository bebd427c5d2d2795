"""The Python face: the engine's own steps, made synchronous.

import loriner as lo

task = lo.Task.from_jsonl("items.jsonl", scorer=lambda item, answer: float(answer == item["answer"]))
run = lo.adapt(task, solver=lo.Model("http://localhost:8000/v1", "Qwen3.5-4B"), rounds=10)
print(run.seed, run.best)
print(run.best.diff(run.seed))
run.best.save("harness.py")

Both functions also work where an event loop runs already, as in a notebook; that loop waits for them.
"""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loriner.concurrency import wait_for
from loriner.config import AdaptSettings, Settings
from loriner.errors import ConfigError, LorinerError
from loriner.events import Reason
from loriner.models.meter import Budget
from loriner.models.named import ModelSpec
from loriner.models.prices import Price
from loriner.records import Evaluation, Harness, Score
from loriner.runtime.levels import NEEDED
from loriner.search.adapt import adapt as adapt_async
from loriner.search.episode import Adaptation, Plan, Round, Standing, planned
from loriner.search.estimate import of_adaptation
from loriner.search.history import trail
from loriner.statistics import Interval, interval
from loriner.store.database import Store
from loriner.tasks.base import Split
from loriner.tasks.base import Task as AnyTask
from loriner.tasks.jsonl import from_jsonl
from loriner.tasks.named import open_task
from loriner.workspace import Workspace, workspace

__all__ = ["Budget", "LorinerError", "Model", "Price", "Run", "Score", "Scored", "Task", "adapt", "evaluate"]


class Task:
    """Ways to get a task."""

    @staticmethod
    def from_jsonl(path: str | Path, scorer: Any, **options: Any) -> AnyTask:
        """As `loriner.tasks.jsonl.from_jsonl`: a file of items and a function of (item, answer)."""
        return from_jsonl(path, scorer, **options)

    @staticmethod
    def named(name: str, *, home: str | Path = ".loriner") -> AnyTask:
        """A task as the command line names it: `rg:FAMILY`, a registered name, or a folder."""
        return open_task(name, home=Path(home))


@dataclass(frozen=True, slots=True)
class Model:
    """An OpenAI-compatible endpoint. A plain text names any other model, as on the command line."""

    url: str
    name: str
    api_key_env: str | None = None
    """Name of the variable that holds the key; the key itself is never kept."""
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """A harness with its scores."""

    harness: Harness
    grade: Interval
    test: Interval | None
    standing: Standing

    @property
    def source(self) -> str:
        return self.harness.source

    def diff(self, other: Scored) -> str:
        """What changed from `other` to this one, as a unified diff."""
        lines = difflib.unified_diff(
            other.source.splitlines(), self.source.splitlines(), "before", "after", lineterm=""
        )
        return "\n".join(lines)

    def save(self, path: str | Path) -> None:
        """Writes the program."""
        Path(path).write_text(self.source, encoding="utf-8")

    def __str__(self) -> str:
        shown = f"{self.harness.id[:12]}: grade {self.grade}"
        return shown if self.test is None else f"{shown}, test {self.test}"


@dataclass(frozen=True, slots=True)
class Run:
    """What an adaptation came to."""

    id: str
    seed: Scored
    best: Scored
    history: tuple[Round, ...]
    candidate: Scored | None = None
    """What led and was not confirmed; `candidate.standing.reason` says what was missing."""
    stopped: Reason = "rounds"
    """Why the search ended; after `budget`, `adapt(…, resume=run.id)` goes on with a larger cap."""
    why: str = ""
    """The figures behind the reason, in words."""
    missing: tuple[str, ...] = ()
    """What a cap kept from being scored, in words."""


def adapt(
    task: AnyTask,
    solver: Model | str,
    proposer: Model | str = "catalogue",
    *,
    harness: str | Path | None = None,
    rounds: int = 10,
    budget: Budget | None = None,
    home: str | Path = ".loriner",
    seed: int = 0,
    resume: str | None = None,
    **plan: Any,
) -> Run:
    """Adapts a harness to `task`. `plan` takes the other fields of `loriner.search.episode.Plan`.

    A cap of `budget` ends the search, and what it found is returned. `resume` goes on with the run of that
    id; the task and the models are given again, and plan, harness and seed are those it began with.

    Raises:
        LorinerError: as the command line would, with the same message.
    """
    settings = _settings(home, seed, budget or Budget(), solver, proposer)
    wanted = Plan(rounds=rounds, **plan)
    if resume is not None:
        settings, harness, wanted = _as_begun(resume, settings, harness, wanted)
    return wait_for(_adapt(task, harness, settings, wanted, resume))


def evaluate(
    task: AnyTask,
    harness: str | Path | Scored,
    solver: Model | str,
    *,
    split: Split = "grade",
    limit: int | None = None,
    home: str | Path = ".loriner",
    seed: int = 0,
) -> Evaluation:
    """All trials of a harness (`library:NAME`, a file, or `run.best`) on a split of `task`."""
    settings = _settings(home, seed, Budget(), solver)
    return wait_for(_evaluate(task, harness, settings, split, limit))


def _settings(
    home: str | Path, seed: int, budget: Budget, solver: Model | str, proposer: Model | str = "catalogue"
) -> Settings:
    specs = {
        _name(each): ModelSpec(
            base_url=each.url, model=each.name, api_key_env=each.api_key_env, price=each.price
        )
        for each in (solver, proposer)
        if isinstance(each, Model)
    }
    asked = AdaptSettings(solver=_name(solver), proposer=_name(proposer))
    return Settings(home=Path(home), seed=seed, budget=budget, models=specs, adapt=asked)


def _name(model: Model | str) -> str:
    return model if isinstance(model, str) else f"{model.url}::{model.name}"


def _as_begun(
    resume: str, now: Settings, harness: str | Path | None, plan: Plan
) -> tuple[Settings, str | Path | None, Plan]:
    """What the run to resume began with; home, budget and models are those of now.

    Raises:
        ConfigError: no such run, or it is none of `adapt`, or it asked other models.
    """
    store = Store.existing(now.home)
    try:
        row = store.run(resume)
        begun = trail(store, row.id).start
    finally:
        store.close()
    then = Settings.model_validate(row.config)
    if row.command != "adapt" or row.parent is not None:
        raise ConfigError(f"run {row.id} cannot be resumed here: it is one of `loriner {row.command}`")
    for part in ("solver", "proposer"):
        if (was := getattr(then.adapt, part)) != (given := getattr(now.adapt, part)):
            raise ConfigError(f"run {row.id} has the {part} {was}, not {given}: give that one to go on")
    kept = then.model_copy(update={"home": now.home, "budget": now.budget, "models": now.models})
    if begun is None:  # it ended before it had told of anything
        return kept, harness, plan
    return kept, begun.harness_id, planned(begun.plan)


async def _adapt(
    task: AnyTask, harness: str | Path | None, settings: Settings, plan: Plan, resume: str | None
) -> Run:
    wanted = settings.adapt
    of_adaptation(settings, task, plan)  # refuses caps that cannot be kept or fit nothing
    async with workspace(settings, "adapting", needed_level=NEEDED) as opened:
        try:
            start = _start(opened, harness, task)
            await opened.store.add_harness(start)
            with opened.run("adapt", resume=resume) as (run_id, summary):
                summary["task"] = task.name
                lab = opened.evaluator(run_id, opened.model(wanted.solver or ""))
                episode = await adapt_async(
                    task, start, lab, opened.proposer(wanted.proposer), plan=plan, registry=opened.registry
                )
                summary["stopped"] = asdict(episode.stopped)
        finally:
            await task.close()
    return _as_run(episode)


async def _evaluate(
    task: AnyTask,
    harness: str | Path | Scored,
    settings: Settings,
    split: Split,
    limit: int | None,
) -> Evaluation:
    async with workspace(settings) as opened:
        try:
            start = harness.harness if isinstance(harness, Scored) else _start(opened, harness, task)
            with opened.run("evaluate") as (run_id, summary):
                summary["task"] = task.name
                lab = opened.evaluator(run_id, opened.model(settings.adapt.solver or ""))
                return await lab.evaluate(task, start, task.questions(split)[:limit], purpose=split)
        finally:
            await task.close()


def _start(opened: Workspace, harness: str | Path | None, task: AnyTask) -> Harness:
    return opened.harness(str(harness) if harness is not None else f"library:{task.seed_harness}", task.name)


def _as_run(episode: Adaptation) -> Run:
    return Run(
        id=episode.run_id,
        seed=_scored(episode.seed),
        best=_scored(episode.best),
        history=episode.rounds,
        candidate=None if episode.candidate is None else _scored(episode.candidate),
        stopped=episode.stopped.reason,
        why=episode.stopped.why,
        missing=episode.stopped.missing,
    )


def _scored(each: Standing) -> Scored:
    scores = [] if each.test is None else list(each.test.scores.values())
    test = interval(scores) if scores else None
    return Scored(each.harness, interval(list(each.grade.scores.values())), test, each)
