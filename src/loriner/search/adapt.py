"""Adaptation: rounds of propose, evaluate and accept, from the seed harness to the best version.

The walk is a function of its seed, its models' replies and nothing else. Everything it learns is in the store
before it is used, so a run that died is resumed by walking again: what is known costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from loriner.evaluation.baselines import baselines
from loriner.evaluation.evaluator import Evaluator
from loriner.propose.context import brief_of, faults, make_context
from loriner.propose.proposer import Proposer
from loriner.records import Context, Evaluation, Failure, Harness, PastRevision, Question
from loriner.search.acceptance import Verdict
from loriner.search.allowance import Bill
from loriner.search.drawing import Drawn, Draws
from loriner.search.episode import Adaptation, Attempt, Plan, Round, Standing, Stop
from loriner.search.feedback import Windows, failing
from loriner.search.grading import Grading
from loriner.search.history import Start
from loriner.search.memory import memorised
from loriner.search.record import Origin, Record, past
from loriner.statistics import Decision
from loriner.store.registry import Registry
from loriner.tasks.base import Split, Task

MOST_IDLE = 2
"""Rounds in a row without a new candidate, after which the proposer is taken to have no more."""


async def adapt(
    task: Task, seed: Harness, lab: Evaluator, proposer: Proposer, *, plan: Plan, registry: Registry
) -> Adaptation:
    """The episode's outcome; every accepted version is in the registry, every trial in the store.

    Raises:
        InfrastructureError, ModelError: solver or proposer failed, not the harness; the run can be resumed.
        BudgetReached: a cap was reached; the run can be resumed.
        TaskError: the task has no questions for a split that is needed, or its scorer breaks its contract.
    """
    return await _Episode(task, seed, lab, proposer, plan, registry).run()


@dataclass(slots=True)
class _Episode:
    task: Task
    seed: Harness
    lab: Evaluator
    proposer: Proposer
    plan: Plan
    registry: Registry
    feedback: Sequence[Question] = field(init=False)
    grade: Sequence[Question] = field(init=False)
    test: Sequence[Question] = field(init=False)
    bill: Bill = field(init=False, default_factory=Bill)
    record: Record = field(init=False)
    windows: Windows = field(init=False)
    grading: Grading = field(init=False)
    draws: Draws = field(init=False)
    current: Harness = field(init=False)
    history: list[PastRevision] = field(init=False, default_factory=list)
    rounds: list[Round] = field(init=False, default_factory=list)
    too_few: bool = field(init=False, default=False)
    """Whether nothing could be accepted from the start: then the search goes on for what it may find."""
    refused: dict[str, tuple[Origin, str]] = field(init=False, default_factory=dict)
    """Leaders of a round that were not accepted, by id, each with the reason."""

    def __post_init__(self) -> None:
        task, plan = self.task, self.plan
        self.feedback = task.questions("feedback")
        self.grade = task.questions("grade")[: plan.grade]
        self.test = task.questions("test")[: plan.test] if plan.test else []
        self.record = Record(task.name, self.proposer.name, self.lab, self.registry)
        self.windows = Windows(self.feedback, plan.feedback)
        graded = partial(self._search_trials, "grade")
        self.grading = Grading(self.grade, plan.schedule(len(self.grade)), graded, self._overspent)
        self.draws = Draws(self.lab, self.proposer, self._memorised)
        self.current = self.seed

    async def run(self) -> Adaptation:
        start = await self._start()
        await self._grade_seed()
        stop = await self._search()
        await self.record.stopped(stop)
        return await self._outcome(start, stop)

    # The search

    async def _grade_seed(self) -> None:
        await self.grading.grade(self.seed)
        self.draws.know(self.seed, "the seed's program")
        self.record.version(self._standing(self.seed))
        self.too_few = self.grading.closed(self.seed)

    async def _search(self) -> Stop:
        """Walks the rounds; why it ended."""
        n_idle = 0
        for number in range(1, self.plan.rounds + 1):
            if self.bill.reaches(self.plan.allowance):
                return Stop(reason="allowance", why=f"{self.plan.allowance} are used")
            context = await self._context(number)
            if (stop := await self._hopeless(context)) is not None:
                return stop
            drawn = await self.draws.round(context, self.plan.candidates, number, self.grading.grade)
            await self._round(number, context.harness, drawn)
            n_idle = n_idle + 1 if all(each.empty for each in drawn) else 0
            if n_idle >= MOST_IDLE:
                why = f"{n_idle} rounds in a row brought no new program"
                return Stop(reason="proposer has nothing left", why=why)
        return Stop(reason="rounds")

    async def _context(self, number: int) -> Context:
        from_seed = self.plan.revise == "seed"
        parent = self.seed if from_seed else self.current
        if from_seed:
            self.windows.at = 0  # all rounds then share one context
        feedback = await self.windows.trials(partial(self._search_trials, "feedback", parent))
        brief = brief_of(self.task.name, self.task.description, self.task.tools)
        history = () if from_seed else self.history
        return make_context(brief, parent, feedback, self.feedback, round=number, history=history)

    async def _hopeless(self, context: Context) -> Stop | None:
        """The end of a search in which no candidate could be accepted any more; None where one could."""
        if self.grading.perfect(self.current):
            if not failing([each.trial for each in context.feedback]):
                return Stop(reason="nothing failed")
            await self.grading.grade(self.current, len(self.grading.plan.stages))
        perfect = self.grading.perfect(self.current)
        if not perfect and (self.too_few or not self.grading.closed(self.current)):
            return None
        n, mean = len(self.grade), self.grading.known[self.current.id].mean_score or 0.0
        why = (
            f"the current program scores {mean:.2f}, and one right on all {n} grade questions would not pass"
        )
        return Stop(reason="nothing can be accepted any more", why=why)

    async def _round(self, number: int, parent: Harness, drawn: Sequence[Drawn]) -> None:
        """Bills and judges what was drawn, and tells of it."""
        entered = [self._entered(each) for each in drawn]
        entrants = [each.new for each, inside in zip(drawn, entered, strict=True) if inside and each.new]
        before = self.current
        judged = await self.grading.contest(before, entrants)
        attempts = []
        for each, inside in zip(drawn, entered, strict=True):
            leads = judged is not None and each.new == judged.leader
            verdict = judged.verdict if judged is not None and leads else None
            attempts.append(self._attempt(each, before, inside, verdict))
            if verdict is not None:
                self._settle(attempts[-1], number, parent)
        self.history += [past(each, number) for each in attempts]
        made = Round(
            number=number,
            attempts=tuple(attempts),
            accepted=self.current if self.current != before else None,
            grade=self.grading.known[self.current.id].mean_score,
        )
        self.rounds.append(made)
        await self.record.round(made, parent, self.current, self.bill.solver.calls)

    def _entered(self, drawn: Drawn) -> bool:
        """Whether the search is within its allowance with this completion and its first trials paid."""
        rollout = drawn.rollout
        self.bill.add_completion(rollout.context_id, rollout.index, rollout.calls)
        if drawn.new is not None:
            self.bill.add_trials(self.grading.known[drawn.new.id])
        return not self._overspent()

    def _attempt(self, drawn: Drawn, before: Harness, inside: bool, verdict: Verdict | None) -> Attempt:
        decision = self._decision(drawn, inside, verdict)
        harness = drawn.rollout.candidate
        grade = self.grading.known.get(harness.id) if harness else None
        return Attempt(
            rollout=drawn.rollout,
            grade=grade,
            before=self.grading.mean_beside(before.id, harness.id) if harness and grade else None,
            decision=decision,
            considered=inside and not drawn.repeats,
        )

    def _decision(self, drawn: Drawn, inside: bool, verdict: Verdict | None) -> Decision | None:
        if drawn.repeats:
            return Decision(False, f"not scored again: it is {drawn.repeats}")
        if drawn.new is not None and not inside:
            return Decision(False, f"not considered: beyond the allowance of {self.plan.allowance}")
        if verdict is None:
            return None
        if verdict.state == "more":
            words = f"{verdict.reason}; the allowance of {self.plan.allowance} ended its grading"
            return Decision(False, f"not considered: {words}")
        return Decision(verdict.state == "accept", verdict.reason)

    def _settle(self, attempt: Attempt, number: int, parent: Harness) -> None:
        """Makes an accepted leader the current program, and remembers one that was not."""
        rollout = attempt.rollout
        assert rollout.candidate is not None and attempt.decision is not None
        score = self.grading.mean_beside(parent.id, rollout.candidate.id)
        origin = Origin(number, parent, score, self._standing(parent).faults, rollout)
        if attempt.decision.accepted:
            self.current = rollout.candidate
            self.record.version(self._standing(rollout.candidate), origin)
        elif attempt.considered:
            self.refused[rollout.candidate.id] = origin, attempt.decision.reason

    # Trials

    async def _search_trials(
        self, purpose: Split, harness: Harness, questions: Sequence[Question]
    ) -> Evaluation:
        """Trials of the search, on its bill; `_entered` bills the first ones of a candidate, in order."""
        found = await self.lab.evaluate(self.task, harness, questions, purpose=purpose)
        if purpose == "feedback" or harness.id in self.grading.known or harness == self.seed:
            self.bill.add_trials(found)
        return found

    def _overspent(self) -> bool:
        return self.bill.exceeds(self.plan.allowance)

    def _memorised(self, candidate: Harness) -> Failure | None:
        """Why the candidate is refused unscored: it holds answers instead of working them out."""
        sealed, shown = [*self.grade, *self.test], self.task.questions("feedback")
        return memorised(candidate, self.seed, sealed=sealed, shown=shown)

    # Start and end

    async def _start(self) -> Start:
        found = await baselines(self.task, self.feedback, self.test)
        splits = {"feedback": self.feedback, "grade": self.grade, "test": self.test}
        sizes = {name: len(questions) for name, questions in splits.items()}
        start = await self.record.start(self.seed, self.plan, sizes, found)
        if hopeless := self.plan.never_accepts(len(self.grade)):
            self.lab.observe("note", text=hopeless)
        return start

    def _standing(self, harness: Harness) -> Standing:
        grade = self.grading.known[harness.id]
        return Standing(harness=harness, grade=grade, test=None, faults=faults(grade, self.grade))

    def _unconfirmed(self) -> Standing | None:
        """The refused leader that is furthest ahead of the best program; the registry keeps it."""
        leads = {each: self.grading.lead(each, self.current.id) or 0.0 for each in self.refused}
        ahead = max(leads, key=lambda each: leads[each], default="")
        if not ahead or leads[ahead] <= 0:
            return None
        origin, reason = self.refused[ahead]
        assert origin.rollout.candidate is not None
        standing = replace(self._standing(origin.rollout.candidate), reason=reason)
        self.record.candidate(standing, origin)
        return standing

    async def _outcome(self, start: Start, stop: Stop) -> Adaptation:
        """Each program that is shown with its sealed score, then its grade questions afresh."""
        if self.plan.oracle and self.test:
            await self._test_all()
        standing = {"seed": self._standing(self.seed), "best": self._standing(self.current)}
        if (candidate := self._unconfirmed()) is not None:
            standing["candidate"] = candidate
        for name, each in standing.items():
            await self.record.standing(name, each)
            standing[name] = replace(each, test=await self._sealed(each.harness))
        for name, each in standing.items():
            standing[name] = replace(each, fresh=await self._afresh(each))
            self.lab.observe("stood", name=name, standing=standing[name])
        return Adaptation(
            run_id=self.lab.run_id,
            task=self.task.name,
            proposer=self.proposer.name,
            start=start,
            seed=standing["seed"],
            best=standing["best"],
            candidate=standing.get("candidate"),
            rounds=tuple(self.rounds),
            stopped=stop,
            bill=self.bill,
        )

    async def _sealed(self, harness: Harness) -> Evaluation | None:
        """Its trials on the sealed questions; None where the task has none."""
        if not self.test:
            return None
        return await self.lab.evaluate(self.task, harness, self.test, purpose="test")

    async def _afresh(self, standing: Standing) -> Evaluation:
        """Its grade questions sampled once more."""
        known = {trial.question_id for trial in standing.grade.trials}
        asked = [each for each in self.grade if each.id in known]
        both = await self.lab.evaluate(self.task, standing.harness, asked, purpose="grade", samples=2)
        return replace(both, trials=tuple(trial for trial in both.trials if trial.sample == 1))

    async def _test_all(self) -> None:
        """Scores every candidate on the test questions, for the record alone."""
        attempts = (attempt for each in self.rounds for attempt in each.attempts if attempt.considered)
        for harness in dict.fromkeys(each.rollout.candidate for each in attempts):
            if harness is not None:
                await self._sealed(harness)
