"""An open session: models, cache, store and sandbox are shared by all that is done in it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

from loriner import config
from loriner.api.cage import Ran, run_program
from loriner.api.given import Given, Program, Solver, Writer
from loriner.api.ready import Ready
from loriner.api.results import Compared, Evaluated, Run, as_run
from loriner.cli.progress import watched
from loriner.concurrency import Door, opened
from loriner.config import Mode, Revise, Settings, Sink
from loriner.errors import ConfigError
from loriner.events import Observer
from loriner.models.meter import Allowance, Budget, Unit
from loriner.report.document import document
from loriner.report.page import html
from loriner.report.pages import facts_of, page_of
from loriner.runtime.levels import Isolation
from loriner.search.estimate import Estimate
from loriner.statistics import Rule
from loriner.tasks.base import Split, Task
from loriner.tasks.check import TaskReport, check
from loriner.train.settings import TrainConfig
from loriner.verbs import adapt as adapting
from loriner.verbs import compare as comparing
from loriner.verbs import scoreboard, training
from loriner.verbs import transfer as transferring
from loriner.verbs.earlier import Earlier, as_begun
from loriner.verbs.propose import Proposals, propose
from loriner.verbs.transfer import Transfer
from loriner.verbs.workspace import Workspace, workspace

R = TypeVar("R")


class Opening(TypedDict, total=False):
    """How a session is opened; what is left out is as in docs/configuration.md."""

    models_dir: str | Path
    offline: bool
    isolation: Isolation
    allow_reduced: bool
    cache: bool
    concurrency: int


class Running(TypedDict, total=False):
    """What holds for any run."""

    seed: int
    budget: Budget
    sinks: Sequence[Sink]


class Trying(Running, total=False):
    """How programs are tried; what is left out is as in docs/configuration.md."""

    harness: Program
    """What it starts from."""
    rounds: int
    candidates: int
    accept: Rule
    feedback: int
    grade: int
    test: int
    history: bool
    traces: bool
    targets: bool
    scores_only: bool


class Searching(Trying, total=False):
    """How a search goes; what is left out is as in docs/configuration.md."""

    revise: Revise
    oracle: bool
    allowance: Allowance


class Comparing(Trying, total=False):
    """What is compared, and how `sequential` searches."""

    modes: Sequence[Mode]
    seeds: int
    equal: Unit
    allowance: float
    temperature: float


@contextmanager
def open_lab(
    home: str | Path = ".loriner", *, config_file: str | Path | None = None, **opening: Unpack[Opening]
) -> Iterator[Lab]:
    """A session on a home directory, closed when the block ends.

    `config_file` is a `loriner.toml`, whose other tables count too; without one there are only defaults.

    Raises:
        LorinerError: no sandbox can run here, or the store is damaged.
    """
    base = Settings() if config_file is None else config.load(Path(config_file))
    settings = config.changed(base, home=Path(home), **opening)
    with opened(partial(workspace, settings)) as door:
        yield Lab(door)


@dataclass(frozen=True, slots=True)
class Lab:
    """What can be done in a session. Every call waits for its end; what it raises is a `LorinerError`."""

    door: Door[Workspace]

    def adapt(
        self,
        task: Task | str,
        solver: Solver,
        proposer: Writer = "catalogue",
        *,
        observe: Observer | None = None,
        resume: str | None = None,
        replay: str | None = None,
        **search: Unpack[Searching],
    ) -> Run:
        """Adapts a harness to `task`.

        A cap of `budget` ends the search, and what it found is returned. `resume` goes on with the run of
        that id: task and models are given again, all else is as it began. `replay` does one again from its
        record.
        """
        given, settings = self._asked(task, solver, proposer, **search)
        harness = (settings.adapt.harness or "",) if "harness" in search else ()
        earlier = Earlier(resume=resume, replay=replay, harnesses=harness, given={"adapt": search})
        settings = _as_begun(settings, earlier)
        found = self._carried_out(adapting.adapt, settings, given, observe, earlier=earlier)
        return as_run(found, lambda harness: Ready(harness, settings, given.lent))

    def estimate(
        self,
        task: Task | str,
        solver: Solver,
        proposer: Writer = "catalogue",
        **search: Unpack[Searching],
    ) -> Estimate:
        """What `adapt` would take; no model is asked."""
        given, settings = self._asked(task, solver, proposer, **search)
        return self.door.call(lambda _: adapting.estimate(settings, given.lent))

    def evaluate(
        self,
        task: Task | str,
        harness: Program,
        solver: Solver,
        *,
        split: Split = "grade",
        limit: int | None = None,
        samples: int = 1,
        observe: Observer | None = None,
        **running: Unpack[Running],
    ) -> Evaluated:
        """All trials of a harness on a split of `task`, `samples` of each question."""
        given, settings = self._asked(task, solver, **running)
        wanted = {
            "suite": settings.adapt.task,
            "harnesses": [self._program(harness)],
            "split": split,
            "limit": limit,
            "samples": samples,
        }
        settings = config.changed(settings, evaluate=wanted)
        (cell,) = self._carried_out(scoreboard.evaluate, settings, given, observe).cells
        assert cell.evaluation is not None  # where the only cell has none, its error was raised
        return Evaluated.of(cell.evaluation)

    def transfer(
        self,
        task: Task | str,
        solver: Solver,
        *,
        split: Split = "grade",
        limit: int | None = None,
        take: bool = False,
        observe: Observer | None = None,
        **running: Unpack[Running],
    ) -> Transfer:
        """The versions that `task` has, scored with another solver; `take` makes the highest its best."""
        given, settings = self._asked(task, solver, **running)
        settings = config.changed(settings, evaluate={"split": split, "limit": limit})
        return self._carried_out(transferring.transfer, settings, given, observe, take=take)

    def compare(
        self,
        tasks: Sequence[Task | str],
        solver: Solver,
        proposer: Writer = "catalogue",
        *,
        observe: Observer | None = None,
        resume: str | None = None,
        **comparing_: Unpack[Comparing],
    ) -> Compared:
        """Compares search modes at equal cost."""
        own = Comparing.__annotations__.keys() - Trying.__annotations__.keys()
        terms = {name: value for name, value in comparing_.items() if name in own}
        search = {name: value for name, value in comparing_.items() if name not in own}
        given, settings = self._asked(None, solver, proposer, **search)
        named = [given.task(each) for each in tasks]
        settings = config.changed(settings, compare={**terms, "tasks": named})
        earlier = Earlier(resume=resume)
        settings = as_begun(settings, "compare", earlier)
        run_id = self._carried_out(comparing.compare, settings, given, observe, earlier=earlier)
        return Compared(run_id, document(facts_of(self.door.inside.store, run_id)))

    def propose(
        self,
        task: Task | str,
        solver: Solver,
        proposer: Writer = "catalogue",
        *,
        observe: Observer | None = None,
        **search: Unpack[Searching],
    ) -> Proposals:
        """What a proposer would change in a harness; nothing is graded."""
        given, settings = self._asked(task, solver, proposer, **search)
        return self._carried_out(propose, settings, given, observe)

    def check(self, task: Task | str) -> TaskReport:
        """Whether a task keeps its promises; a judge is held against right answers that are known."""
        given, settings = Given(), self.door.inside.settings
        settings = config.changed(settings, adapt={"task": given.task(task)}, models=given.specs)

        async def work(lab: Workspace) -> TaskReport:
            return await check(replace(lab, lent=given.lent).fresh(settings).task())

        return self.door.call(work)

    def run(
        self,
        harness: Program,
        question: str,
        solver: Solver,
        *,
        tools: Mapping[str, Callable[..., Any]] | None = None,
        seed: int = 0,
    ) -> Ran:
        """What a harness does with one question: as `Cage.run`, with the models of the session."""
        given, settings = self._asked(None, solver)
        name = self._program(harness)

        async def work(lab: Workspace) -> Ran:
            lab = replace(lab, lent=given.lent).fresh(settings)
            return await run_program(
                lab.runtime,
                harness=lab.harness(name),
                question=question,
                model=lab.solver,
                tools=tools or {},
                limits=settings.limits,
                seed=seed,
            )

        return self.door.call(work)

    def report(self, run_id: str, path: str | Path) -> None:
        """Writes the report on an adaptation or a comparison: one self-contained HTML file."""
        page = page_of(facts_of(self.door.inside.store, run_id))
        Path(path).write_text(html(page), encoding="utf-8")

    def contexts(self, training_file: TrainConfig, observe: Observer | None = None) -> dict[str, Any]:
        """Draws the training contexts and freezes them; where they are."""
        return self._watched(observe, lambda lab, hears: training.contexts(lab, training_file, hears))

    def teach(self, training_file: TrainConfig, observe: Observer | None = None) -> dict[str, Any]:
        """Has a teacher revise the contexts' programs; the report on what is kept for SFT."""
        taught = self._watched(observe, lambda lab, hears: training.teach(lab, training_file, hears))
        taught.export()
        return taught.report

    def grpo(self, training_file: TrainConfig, start: str = "sft") -> Path:
        """The directory of the policy, trained by running what it writes."""
        return training.grpo(self.door, training_file, start)

    def _asked(
        self,
        task: Task | str | None,
        solver: Solver,
        proposer: Writer = "catalogue",
        **asked: Any,
    ) -> tuple[Given, Settings]:
        """The objects of a call, and the session's settings with what was asked laid over them."""
        given = Given()
        running = {name: asked.pop(name) for name in Running.__annotations__ if name in asked}
        if (harness := asked.pop("harness", None)) is not None:
            asked["harness"] = self._program(harness)
        adapt = {
            "task": None if task is None else given.task(task),
            "solver": given.model(solver),
            "proposer": given.proposer(proposer),
            **asked,
        }
        base = self.door.inside.settings
        models = {**base.models, **given.specs}
        return given, config.changed(base, adapt=adapt, models=models, **running)

    def _program(self, given: Program) -> str:
        """The name of a harness; one that is an object is recorded under its id."""
        harness = Given().harness(given)
        if isinstance(harness, str):
            return harness
        self.door.call(lambda lab: lab.store.add_harness(harness))
        return harness.id

    def _carried_out(
        self,
        verb: Callable[..., Coroutine[Any, Any, R]],
        settings: Settings,
        given: Given,
        observe: Observer | None,
        **more: Any,
    ) -> R:
        """What the verb returns, with the objects of the call lent to it."""
        return self._watched(
            observe, lambda lab, hears: verb(replace(lab, lent=given.lent), settings, hears, **more)
        )

    def _watched(
        self, observe: Observer | None, work: Callable[[Workspace, Observer], Coroutine[Any, Any, R]]
    ) -> R:
        """What the work returns; without an observer of the caller's own, its progress is shown meanwhile."""

        async def seen(lab: Workspace) -> R:
            if observe is not None:
                return await work(lab, observe)
            with watched() as hears:
                return await work(lab, hears)

        return self.door.call(seen)


def _as_begun(now: Settings, earlier: Earlier) -> Settings:
    """The settings of the run to resume or replay; task, models and their keys are those of now.

    Raises:
        ConfigError: as `as_begun`; or the run to resume asked other models.
    """
    then = as_begun(now, "adapt", earlier)
    if then is now:
        return now
    for part in ("solver", "proposer"):
        was, given = getattr(then.adapt, part), getattr(now.adapt, part)
        if earlier.resume and was != given:
            raise ConfigError(
                f"run {earlier.resume} has the {part} {was}, not {given}: give that one to go on"
            )
    return config.changed(then, models={**then.models, **now.models}, adapt={"task": now.adapt.task})
