"""An open home directory: settings, store, registry, sandbox and models, put together and closed as one."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from loriner.config import AdaptSettings, Settings
from loriner.errors import BudgetReached, ConfigError, InfrastructureError, ModelError
from loriner.evaluation.evaluator import Evaluator
from loriner.evaluation.judging import ask_judge
from loriner.events import Observer, silent
from loriner.harness.contract import from_library, load
from loriner.models.base import Model
from loriner.models.cache import CachedModel
from loriner.models.meter import Meter
from loriner.models.metered import MeteredModel
from loriner.models.named import ModelSpec, context_of, open_model, price_named, spec_of
from loriner.models.own import OwnModel
from loriner.models.recorded import RecordedCalls, RecordedModel
from loriner.open_file_limit import raise_limit, trials_at_once
from loriner.propose.catalogue import catalogue_proposer
from loriner.propose.llm import Asking, llm_proposer
from loriner.propose.prompt import Shown
from loriner.propose.proposer import Proposer
from loriner.records import Harness
from loriner.runtime.base import Runtime
from loriner.runtime.host import LocalRuntime
from loriner.runtime.levels import require
from loriner.store import ref_names
from loriner.store.database import Store
from loriner.store.registry import Registry
from loriner.store.runs import RESUMABLE
from loriner.tasks.base import Judged, Task, is_judged
from loriner.tasks.by_name import open_task
from loriner.tasks.jsonl import from_jsonl

logger = logging.getLogger("loriner")

_ID = re.compile(r"[0-9a-f]{6,64}")


@dataclass(frozen=True, slots=True)
class Lent:
    """Objects of the caller's own, by the names that settings and records have for them."""

    models: dict[str, Model] = field(default_factory=dict)
    proposers: dict[str, Proposer] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)


NOTHING = Lent()


@dataclass(slots=True)
class Workspace:
    """What runs need, opened from settings. Models are opened on demand and closed with it."""

    settings: Settings
    store: Store
    registry: Registry
    runtime: Runtime
    meter: Meter
    """Counts what the present run spends."""
    lent: Lent = field(default_factory=Lent)
    record: RecordedCalls | None = None
    """What an earlier run recorded, if that one is replayed: then no model is opened."""
    _opened: dict[str, Model] = field(default_factory=dict)
    """Models by name, shared by all runs."""
    _asked: dict[str, Model] = field(default_factory=dict)
    """The same as the present run asks them: metered, and behind the reply cache."""

    def fresh(self, settings: Settings, purpose: str = "") -> Workspace:
        """The same store, sandbox and models for another run, with settings and a meter of its own.

        `purpose` says what is done, such as `adapting`, where programs run that a model wrote.

        Raises:
            RuntimeUnavailable: the sandbox is too weak for that, and the settings do not allow it.
        """
        if purpose and (warning := require(self.runtime, purpose, allow_reduced=settings.allow_reduced)):
            logger.warning(warning)
        return replace(self, settings=settings, meter=Meter(settings.budget), record=None, _asked={})

    def replay(self, name: str) -> str:
        """Has every model answer from the record of the run called `name`, and from nothing else; its id."""
        run_id = self.store.run(name).id
        trials, rollouts = self.store.trials(run_id, with_calls=True), self.store.rollouts(run_id)
        served = [call for each in trials for call in each.calls if each.score is not None or not call.error]
        self.record = RecordedCalls(run_id, [*served, *(call for each in rollouts for call in each.calls)])
        return run_id

    def model(self, name: str) -> Model:
        """The model called `name`: metered, and behind the reply cache unless that is switched off, or the
        model is a function of the caller's own, whose name does not say what it answers.
        """
        if self.record is not None:
            return RecordedModel(name, self.record)
        if name not in self._asked:
            inner = self._open(name)
            price = None if name in self.lent.models else price_named(name, self.settings.models)
            metered = MeteredModel(inner, self.meter, price)
            cached = self.settings.cache and not isinstance(inner, OwnModel)
            self._asked[name] = CachedModel(metered, self.store.replies) if cached else metered
        return self._asked[name]

    def _open(self, name: str) -> Model:
        if (lent := self.lent.models.get(name)) is not None:
            return lent
        if name not in self._opened:
            settings = self.settings
            self._opened[name] = open_model(
                name, specs=settings.models, models_dir=settings.weights, offline=settings.offline
            )
        return self._opened[name]

    @property
    def solver(self) -> Model:
        """The solver that the settings name. Raises `ConfigError` where they name none."""
        return self.model(named(self.settings.adapt.solver, "solver", "--solver"))

    def task(self, name: str | None = None) -> Task:
        """The task called `name`, or the one that the settings name. Raises as `task_of`."""
        return self.seated(task_of(self.settings, name, self.lent))

    def seated(self, task: Task) -> Task:
        """The task, whose judge, if it has one, is a model of the present run."""
        if isinstance(task, Judged) and is_judged(task):
            return task.seated(partial(ask_judge, self.model(task.judge)))
        return task

    def proposer(self, name: str) -> Proposer:
        """`catalogue`, `trained` or any other model, shown what the settings say; or a lent proposer."""
        if (lent := self.lent.proposers.get(name)) is not None:
            return lent
        if name == "catalogue":
            return catalogue_proposer()
        return llm_proposer(self.model(name), self.asking(name))

    def asking(self, name: str) -> Asking:
        """How the model called `name` is asked for revisions, within its context where that is known."""
        settings, wanted = self.settings, self.settings.adapt
        asking = Asking(
            seed=settings.seed,
            temperature=settings.propose.temperature,
            max_tokens=settings.propose.completion_tokens,
            budget=settings.propose.prompt_tokens,
            shown=shown(wanted),
            limits=settings.limits,
        )
        spec = spec_of(name, settings.models) or ModelSpec()
        asking = asking.at_most(spec.prompt_tokens, spec.completion_tokens)
        return asking.within(context_of(name, settings.models))

    def seeded(self, seed: int) -> Workspace:
        """The same workspace with another seed. It is closed with this one."""
        return replace(self, settings=self.settings.model_copy(update={"seed": seed}))

    def harness(self, name: str, task: str | None = None) -> Harness:
        """The harness called `name`: `library:NAME`, a file, or a version (id, commit, tag, branch).

        Raises:
            HarnessError: no such harness, or not one.
        """
        solver = self.solver.name if self.settings.adapt.solver and ref_names.is_best(name) else None
        return find_harness(name, self.store, self.registry, task, solver)

    async def pinned(self, task: Task, begun_with: str | None = None) -> tuple[Workspace, Harness]:
        """The harness that a run begins with, or began with, and this workspace with settings that
        name it by its id: whatever becomes of the file or the tag, a resumed run has that program.
        """
        name = begun_with or self.settings.adapt.harness or f"library:{task.seed_harness}"
        found = self.harness(name, task.name)
        await self.store.add_harness(found)
        wanted = self.settings.adapt.model_copy(update={"harness": found.id})
        return replace(self, settings=self.settings.model_copy(update={"adapt": wanted})), found

    @contextmanager
    def run(
        self, command: str, *, resume: str | None = None, parent: str | None = None
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """A run row around the block: its id, and the summary that is kept when the block ends.

        However the block ends, the row says so: done, budget (also where this is the reason that the summary
        has under `stopped`), interrupted or failed.

        Raises:
            ConfigError: the run to resume is not there, or another process works on it.
        """
        if resume is None:
            run_id = self.store.start_run(
                command, config=self.settings.as_json(), seed=self.settings.seed, parent=parent
            )
        else:
            run_id = self.store.resume_run(resume).id
            n_scored = sum(trial.score is not None for trial in self.store.trials(run_id))
            self.meter.add_past(self.store.usage(run_id), n_scored)
        yield from self._recorded(run_id, command if parent is None else "")

    def _recorded(self, run_id: str, command: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The id and the summary, once; the row then says how it ended. `command` goes on after a stop."""
        summary: dict[str, Any] = {}
        status, further = "failed", self._further(run_id, command)
        try:
            yield run_id, summary
            status = "budget" if summary.get("stopped", {}).get("reason") == "budget" else "done"
        except (BudgetReached, InfrastructureError, ModelError) as stopped:
            if isinstance(stopped, BudgetReached):
                status = "budget"
            else:
                summary["error"] = str(stopped)
            raise type(stopped)(f"{stopped}. {further}" if further else str(stopped)) from stopped
        except (asyncio.CancelledError, KeyboardInterrupt) as stop:
            status = "interrupted"
            stop.add_note(f"run {run_id}")
            if command:  # an arm of a comparison says nothing: the comparison does
                kept = f"run {run_id} was interrupted; what it had finished is kept"
                logger.warning(f"{kept}. {further}" if further else kept)
            raise
        except Exception as error:
            summary["error"] = str(error)
            raise
        finally:
            self.store.finish_run(run_id, status, summary)

    def _further(self, run_id: str, command: str) -> str:
        """How to go on with a run; empty where nothing does, or where it is the affair of the run above."""
        if command in RESUMABLE and self._opens_again():
            return f"To resume: loriner {command} --resume {run_id}"
        return f'To resume: adapt(…, resume="{run_id}")' if command == "adapt" else ""

    def _opens_again(self) -> bool:
        """Whether tasks and models can be opened from the settings alone, with nothing that was lent."""
        lent = self.lent
        return _names_task(self.settings) and not (lent.models or lent.proposers or lent.tasks)

    def evaluator(self, run_id: str, solver: Model, observe: Observer = silent) -> Evaluator:
        """An evaluator whose trials belong to the run, which may be over several tasks."""
        return Evaluator(
            runtime=self.runtime,
            solver=solver,
            store=self.store,
            run_id=run_id,
            seed=self.settings.seed,
            limits=self.settings.limits,
            concurrency=min(self.settings.concurrency, trials_at_once()),
            observe=observe,
            meter=self.meter,
        )


@asynccontextmanager
async def workspace(settings: Settings) -> AsyncIterator[Workspace]:
    """A workspace with a running sandbox.

    Raises:
        RuntimeUnavailable: no sandbox can run here.
        StoreError: the store or the registry is damaged.
    """
    raise_limit()
    if (most := trials_at_once()) < settings.concurrency:
        few = f"{most} trials run at once, not {settings.concurrency}: this process may open few files"
        logger.warning(f"note: {few} (ulimit -n)")
    store = Store.open(settings.home)
    runtime = LocalRuntime(settings.isolation)
    opened = Workspace(settings, store, Registry.open(settings.home), runtime, Meter(settings.budget))
    try:
        await runtime.start()
        yield opened
    finally:
        for model in opened._opened.values():
            await model.close()
        await runtime.close()
        store.close()


def shown(wanted: AdaptSettings) -> Shown:
    """What the proposer is shown."""
    if wanted.scores_only:
        return Shown(history=False, traces=False, targets=False)
    return Shown(history=wanted.history, traces=wanted.traces, targets=wanted.targets)


def task_of(settings: Settings, name: str | None = None, lent: Lent = NOTHING) -> Task:
    """The task called `name`, else the one that the settings name: one that was lent, the one written in
    `loriner.toml`, or any other.

    Raises:
        ConfigError: none is named.
        TaskError: it cannot be opened.
    """
    own, name = settings.task, name or settings.adapt.task
    if name in lent.tasks:
        return lent.tasks[name]
    if own is None or name not in (None, own.name):
        return open_task(named(name, "task", "TASK"), home=settings.home, offline=settings.offline)
    return from_jsonl(
        own.items,
        own.scorer,
        name=own.name,
        description=own.description,
        seed_harness=own.seed_harness,
        **({} if own.split is None else {"split": own.split}),
    )


def _names_task(settings: Settings) -> bool:
    """Whether the task can be opened again from the settings; a caller of the API hands its own over."""
    given = (settings.task, settings.adapt.task, settings.evaluate.suite)
    return bool(settings.compare.tasks) or any(each is not None for each in given)


def named(value: str | None, what: str, flag: str) -> str:
    """The value, or the error that says how to give it."""
    if value:
        return value
    raise ConfigError(f"no {what}: give {flag}, or set it in loriner.toml under [adapt]")


def find_harness(
    name: str, store: Store, registry: Registry, task: str | None = None, solver: str | None = None
) -> Harness:
    """The harness called `name`: `library:NAME`, a file, or a version (harness id, commit, tag, branch).

    `best`, `best@TASK` and `best/TASK` mean the best version for `solver`.

    Raises:
        HarnessError: there is no such harness, or it is not one.
    """
    if (found := unrecorded(name)) is not None:
        return found
    known = store.harness(name) if _ID.fullmatch(name) else None
    return known or registry.harness(name, task=task, solver=solver)


def solver_name(settings: Settings, lent: Lent = NOTHING) -> str | None:
    """How the solver of the settings is called in records; None where they name none. It is not asked.

    Raises:
        ConfigError: no such model.
    """
    if (given := settings.adapt.solver) is None:
        return None
    return open_model(
        given, specs=settings.models, models_dir=settings.weights, offline=settings.offline
    ).name


def unrecorded(name: str) -> Harness | None:
    """The harness that needs no store to be found: `library:NAME` or a file. Raises as `find_harness`."""
    if name.startswith("library:"):
        return from_library(name.removeprefix("library:"))
    return load(Path(name)) if Path(name).is_file() else None
