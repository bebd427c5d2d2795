"""The same task searched in several ways for the same price: what a sequence of revisions is worth.

Each arm (task, mode, seed) is a run of its own below the comparison's run. `search.modes` says what the
modes are. `best-of-n` also records the best on the test questions. `sampling` searches nothing: it spends
as much as a search does on samples of the seed program, and lets them vote. A comparison that was stopped
walks again; what is in the store costs nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from math import comb

from loriner.config import MODES, CompareSettings, Mode
from loriner.errors import BudgetReached, ConfigError
from loriner.evaluation.evaluator import Evaluator
from loriner.evaluation.voting import votes
from loriner.events import Arm, Note, Observer, Standing, Start, silent
from loriner.models.base import Model
from loriner.models.meter import Allowance
from loriner.records import Harness, Question, Trial
from loriner.search.adapt import adapt
from loriner.search.allowance import calls_a_question, usage_of, used
from loriner.search.history import Adaptation, history, tell
from loriner.search.modes import in_mode
from loriner.search.plan import Plan
from loriner.statistics import never_told_apart
from loriner.tasks.base import Split, Task
from loriner.verbs.workspace import Workspace

MOST_SAMPLES = 64
"""Samples of a question: more change no vote worth the wait."""


class Terms(CompareSettings):
    """What is compared, what is held equal, and how `sequential` searches."""

    plan: Plan = Plan()
    """How `sequential` searches; the others differ as their mode says."""

    def never_tells(self, tasks: Sequence[Task]) -> str:
        """The warning that no difference can be shown on so few sealed questions; empty where one can.

        Every two of the modes are set against each other, and each against the seed program, which every
        search scores as it is.
        """
        n_methods = len(self.modes) + any(mode != "sampling" for mode in self.modes)
        n_test = sum(len(task.questions("test")[: self.plan.test]) for task in tasks)
        hopeless = never_told_apart(n_test, comb(n_methods, 2))
        return f"no two modes can be told apart: {hopeless} (--test, --modes)" if hopeless else ""

    def require_fair(self, *, cached: bool) -> None:
        """Raises `ConfigError` where nothing says what is held equal, or the reply cache makes it unequal."""
        if self.allowance is None and "sequential" not in self.modes:
            raise ConfigError(
                "nothing says how much each mode may use: add the mode sequential, or give --allowance"
            )
        if self.equal == "usd" and cached:
            raise ConfigError(
                "--equal usd cannot be kept with the reply cache, whose replies are free: add --no-cache"
            )


@dataclass(frozen=True, slots=True)
class SeededTask:
    """A task with the harness that its search starts from."""

    task: Task
    seed: Harness


async def run_arms(
    opened: Workspace,
    seeded_tasks: Sequence[SeededTask],
    solver: Model,
    terms: Terms,
    *,
    run_id: str,
    observe: Observer = silent,
) -> None:
    """Runs every arm; the outcome is in the store, below the run.

    Raises:
        ConfigError: the terms cannot be met.
        LorinerError: as `adapt`; the run can be resumed.
    """
    terms.require_fair(cached=opened.settings.cache)
    if hopeless := terms.never_tells([each.task for each in seeded_tasks]):
        observe(Note(text=hopeless))
    for number in range(terms.seeds):
        for each in seeded_tasks:
            reseeded = opened.seeded(opened.settings.seed + number)
            await _Contest(reseeded, each, solver, terms, run_id, observe).run()


@dataclass(slots=True)
class _Contest:
    """One task with one seed: all modes, the one that sets the allowance first."""

    opened: Workspace
    start: SeededTask
    solver: Model
    terms: Terms
    run_id: str
    observe: Observer

    async def run(self) -> None:
        amount, reference = self.terms.allowance, None
        for mode in sorted(self.terms.modes, key=MODES.index):
            allowance = None if amount is None else Allowance(self.terms.equal, amount)
            if mode == "sampling":
                assert allowance is not None
                await self._sample(allowance, reference)
                continue
            found = await self._adapt(mode, allowance, reference)
            if amount is None:
                spent = used(self.terms.equal, found.stopped.solver, found.stopped.proposer)
                reference, amount = found, self._priced(spent)

    async def _adapt(
        self, mode: Mode, allowance: Allowance | None, reference: Adaptation | None
    ) -> Adaptation:
        proposer = self.opened.proposer(self.opened.settings.adapt.proposer)
        plan = self._plan(mode, allowance, reference)
        async with self._arm(mode, allowance) as lab:
            found = await adapt(
                self.start.task, self.start.seed, lab, proposer, plan=plan, registry=self.opened.registry
            )
            if found.stopped.reason == "budget":  # an arm that was cut short can be compared with none
                raise BudgetReached(found.stopped.why)
            return found

    async def _sample(self, allowance: Allowance, reference: Adaptation | None) -> None:
        """Majority vote over samples of the seed program on the test questions, for what a search was given.

        The sealed score of the reference's best program took calls as well: they are given on top.
        """
        task, seed, test = self.start.task, self.start.seed, self._test()
        async with self._arm("sampling", allowance) as quiet:
            lab = replace(quiet, least_temperature=self.terms.temperature)
            await tell(lab.store, lab.run_id, self._start(lab, len(test)))
            once = await lab.evaluate(task, seed, test, purpose="test")
            price = self._used(once.trials)
            known = [] if reference is None else self._scored(reference, reference.best, "test")
            served = self._used(known) if known else price
            samples = int((allowance.amount + served) // price) if price else 1
            samples = max(1, min(samples, MOST_SAMPLES))
            voted = await lab.evaluate(task, seed, test, purpose="test", samples=samples)
            best = Standing(
                name="best",
                harness_id=seed.id,
                test=votes(voted.trials),
                calls_a_question=calls_a_question(voted.trials),
            )
            await tell(lab.store, lab.run_id, best)

    def _plan(self, mode: Mode, allowance: Allowance | None, reference: Adaptation | None) -> Plan:
        plan = self.terms.plan.model_copy(update={"allowance": allowance})
        found = in_mode(plan, mode)
        if found.revise == "seed" and allowance and reference and (price := self._least(reference, found)):
            fits = min(found.rounds, max(plan.rounds, int(allowance.amount / price)))
            found = found.model_copy(update={"rounds": fits})
        return found

    def _least(self, reference: Adaptation, plan: Plan) -> float:
        """What a round of a plan uses at least, if its candidates ask as much as the seed program."""
        n_grade = len(self.start.task.questions("grade")[: plan.grade])
        first = plan.schedule(n_grade).stages[0].end
        seed = self._scored(reference, reference.seed, "grade")
        return self._used(seed) / len(seed) * first * plan.candidates

    @asynccontextmanager
    async def _arm(self, mode: Mode, allowance: Allowance | None) -> AsyncIterator[Evaluator]:
        """An evaluator in the arm's own run: a new one, or the one that it had before a resume."""
        store, task, seed = self.opened.store, self.start.task.name, self.opened.settings.seed
        arms = history(store, self.run_id).arms
        known = {(arm.task, arm.mode, arm.seed): arm.run_id for arm in arms}.get((task, mode, seed))
        with self.opened.run("adapt", resume=known, parent=self.run_id) as (run_id, summary):
            words = "" if allowance is None else str(allowance)
            arm = Arm(task=task, mode=mode, seed=seed, run_id=run_id, allowance=words)
            await tell(store, self.run_id, arm)
            summary |= {"task": task, "mode": mode}
            self.observe(arm)
            yield self.opened.evaluator(run_id, self.solver, self.observe)

    def _start(self, lab: Evaluator, n_test: int) -> Start:
        return Start(
            run_id=lab.run_id,
            task=self.start.task.name,
            solver=lab.solver.name,
            proposer="none",
            mode="sampling",
            seed=lab.seed,
            harness_id=self.start.seed.id,
            plan=self.terms.plan.model_dump(mode="json"),
            n_questions={"feedback": 0, "grade": 0, "test": n_test},
        )

    def _test(self) -> Sequence[Question]:
        return self.start.task.questions("test")[: self.terms.plan.test]

    def _scored(self, reference: Adaptation, standing: Standing, purpose: Split) -> Sequence[Trial]:
        """The trials by which a program of the reference has its scores."""
        found = self.opened.store.trials(
            reference.run_id, harness_id=standing.harness_id, purpose=purpose, with_calls=True
        )
        return [each for each in found if not each.sample and each.score is not None]

    def _used(self, trials: Sequence[Trial]) -> float:
        """What trials used, in the unit that is held equal."""
        return used(self.terms.equal, usage_of(call for each in trials for call in each.calls))

    def _priced(self, amount: float) -> float:
        if self.terms.equal == "usd" and amount in (0.0, float("inf")):
            what = "has no known price" if amount else "costs nothing"
            raise ConfigError(
                f"--equal usd cannot be kept: {self.solver.name} {what}; use --equal calls or tokens"
            )
        return amount
