"""Adaptation: rounds of propose, evaluate and accept, from the seed harness to the best version.

The walk is a function of its seed, its models' replies and nothing else. Everything it learns is in the store
before it is used, so a run that died is resumed by walking again: what is known costs nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from loriner.evaluation.constant_baseline import constant_baseline
from loriner.evaluation.evaluator import Evaluator, all_of, together
from loriner.propose.context import brief_of, faults, make_context
from loriner.propose.proposer import Proposer, propose
from loriner.records import (
    Context,
    Evaluation,
    Fault,
    Harness,
    PastRevision,
    Question,
    Rollout,
    Version,
)
from loriner.search.allowance import Bill
from loriner.search.episode import Adaptation, Attempt, Plan, Round, Standing
from loriner.search.history import Start, Stood, Told, Tried, tell
from loriner.search.memory import memorised
from loriner.statistics import Decision, accepts, interval
from loriner.store.entry import Evidence
from loriner.store.registry import Registry
from loriner.tasks.base import Split, Task


async def adapt(
    task: Task, seed: Harness, lab: Evaluator, proposer: Proposer, *, plan: Plan, registry: Registry
) -> Adaptation:
    """The episode's outcome; every accepted version is in the registry, every trial in the store.

    Raises:
        InfrastructureError, ModelError: solver or proposer failed, not the harness; the run can be resumed.
        BudgetReached: a cap was reached; the run can be resumed.
        TaskError: the task has no questions for a split that is needed, or its scorer breaks its contract.
    """
    return await _Episode(task, lab, proposer, plan, registry, *_questions(task, plan)).run(seed)


def _questions(task: Task, plan: Plan) -> tuple[Sequence[Question], ...]:
    wanted: list[tuple[Split, int]] = [
        ("feedback", plan.feedback),
        ("grade", plan.grade),
        ("test", plan.test),
    ]
    return tuple(task.questions(split)[:n] if n else [] for split, n in wanted)


@dataclass(slots=True)
class _Episode:
    task: Task
    lab: Evaluator
    proposer: Proposer
    plan: Plan
    registry: Registry
    feedback: Sequence[Question]
    grade: Sequence[Question]
    test: Sequence[Question]
    bill: Bill = field(init=False, default_factory=Bill)
    judged: dict[str, int] = field(init=False, default_factory=dict)
    """The round in which a harness was scored first, by its id; 0 for the seed."""

    async def run(self, seed: Harness) -> Adaptation:
        await self._tell(await self._start(seed))
        if hopeless := self.plan.never_accepts(len(self.grade)):
            self.lab.observe("note", text=hopeless)
        first = self._commit(seed, self._billed(await self._evaluate(seed, "grade")))
        self.judged[seed.id] = 0
        current, history, rounds = first, list[PastRevision](), list[Round]()
        for number in range(1, self.plan.rounds + 1):
            if current.grade.mean_score == 1.0 or self.bill.reaches(self.plan.allowance):
                break  # nothing is left to win on the grade questions, or to spend
            parent = first if self._from_seed else current
            context = await self._context(parent.harness, number, () if self._from_seed else history)
            attempts = await self._attempts(context, seed, number)
            attempts, best = self._choose(attempts, current.grade, number)
            history += [_past(each, number, current.grade, each is best) for each in attempts]
            if best is not None and best.rollout.candidate is not None and best.grade is not None:
                current = self._commit(
                    best.rollout.candidate, best.grade, number=number, parent=parent, rollout=best.rollout
                )
            rounds.append(
                Round(
                    number=number,
                    attempts=attempts,
                    accepted=None if best is None else current.harness,
                    grade=current.grade.mean_score,
                )
            )
            await self._tell(self._told(rounds[-1], parent.harness, current.harness))
            self.lab.observe("round", round=rounds[-1])
        if self.plan.oracle and self.test:
            await self._test_all(rounds)
        return Adaptation(
            run_id=self.lab.run_id,
            task=self.task.name,
            proposer=self.proposer.name,
            seed=await self._finished("seed", first),
            best=await self._finished("best", current),
            rounds=tuple(rounds),
            bill=self.bill,
        )

    @property
    def _from_seed(self) -> bool:
        return self.plan.revise == "seed"

    async def _evaluate(self, harness: Harness, purpose: Split) -> Evaluation:
        questions = {"feedback": self.feedback, "grade": self.grade, "test": self.test}[purpose]
        return await self.lab.evaluate(self.task, harness, questions, purpose=purpose)

    def _billed(self, evaluation: Evaluation) -> Evaluation:
        calls = (call for trial in evaluation.trials for call in trial.calls)
        self.bill.add_trials(evaluation.purpose, evaluation.harness_id, calls)
        return evaluation

    async def _finished(self, name: str, standing: Standing) -> Standing:
        """The standing with its grade questions sampled afresh, and its score on the sealed questions."""
        await self._tell(Stood(name=name, harness_id=standing.harness.id, faults=_by_name(standing.faults)))
        both = await self.lab.evaluate(self.task, standing.harness, self.grade, purpose="grade", samples=2)
        finished = replace(
            standing,
            fresh=replace(both, trials=tuple(trial for trial in both.trials if trial.sample == 1)),
            test=await self._evaluate(standing.harness, "test") if self.test else None,
        )
        self.lab.observe("stood", name=name, standing=finished)
        return finished

    async def _test_all(self, rounds: Sequence[Round]) -> None:
        """Scores every candidate on the test questions, for the record alone."""
        attempts = (attempt for each in rounds for attempt in each.attempts if attempt.considered)
        for harness in dict.fromkeys(each.rollout.candidate for each in attempts):
            if harness is not None:
                await self._evaluate(harness, "test")

    async def _context(self, parent: Harness, number: int, history: Sequence[PastRevision]) -> Context:
        feedback = self._billed(await self._evaluate(parent, "feedback"))
        brief = brief_of(self.task.name, self.task.description, self.task.tools)
        return make_context(brief, parent, feedback, self.feedback, round=number, history=history)

    async def _attempts(self, context: Context, seed: Harness, number: int) -> tuple[Attempt, ...]:
        n = self.plan.candidates
        first = n * (number - 1) if self._from_seed else 0  # all rounds then share one context
        async with together() as group:
            group.create_task(self.lab.store.add_context(self.lab.run_id, context))
            attempts = await all_of([self._attempt(context, first + i, seed) for i in range(n)])
        return tuple(self._within_allowance(each) for each in attempts)

    def _within_allowance(self, attempt: Attempt) -> Attempt:
        """The attempt, now on the bill; already refused if it went beyond the allowance."""
        rollout, allowance = attempt.rollout, self.plan.allowance
        self.bill.add_completion(rollout.context_id, rollout.index, rollout.calls)
        if attempt.grade is not None:
            self._billed(attempt.grade)
        if attempt.grade is None or not self.bill.exceeds(allowance):
            return attempt
        beyond = Decision(False, f"not considered: beyond the allowance of {allowance}")
        return replace(attempt, decision=beyond, considered=False)

    async def _attempt(self, context: Context, index: int, seed: Harness) -> Attempt:
        """The completion of this place with its candidate's scores. It is being recorded while it is scored:
        the store keeps the order, so no trial is there before its rollout.
        """
        rollout = self.lab.store.rollout(self.lab.run_id, context.id, index)
        if rollout is not None:
            return Attempt(rollout=rollout, grade=await self._graded(rollout), decision=None)
        rollout = self._screened(await propose(self.proposer, context, index), seed)
        async with together() as group:
            group.create_task(self.lab.store.add_rollout(self.lab.run_id, rollout))
            grading = group.create_task(self._graded(rollout))
        self.lab.observe("rollout", rollout=rollout)
        return Attempt(rollout=rollout, grade=grading.result(), decision=None)

    def _screened(self, rollout: Rollout, seed: Harness) -> Rollout:
        """The rollout without its candidate, if that holds answers instead of working them out."""
        if rollout.candidate is None:
            return rollout
        sealed, shown = [*self.grade, *self.test], self.task.questions("feedback")
        failure = memorised(rollout.candidate, seed, sealed=sealed, shown=shown)
        return rollout if failure is None else replace(rollout, candidate=None, failure=failure)

    async def _graded(self, rollout: Rollout) -> Evaluation | None:
        return None if rollout.candidate is None else await self._evaluate(rollout.candidate, "grade")

    def _choose(
        self, attempts: tuple[Attempt, ...], standing: Evaluation, number: int
    ) -> tuple[tuple[Attempt, ...], Attempt | None]:
        """The attempts with a decision on the best of them, and that one if it is accepted."""
        graded = [
            (each, each.grade)
            for each in attempts
            if each.considered and each.grade is not None and each.grade.mean_score is not None
        ]
        if not graded:
            return attempts, None
        for _, grade in graded:
            self.judged.setdefault(grade.harness_id, number)
        best, grade = max(graded, key=lambda each: each[1].mean_score or 0.0)
        decision = accepts(self.plan.accept, standing.scores, grade.scores, n_looks=self.plan.n_looks)
        decided = replace(best, decision=self._with_repeat(decision, grade.harness_id, number))
        return tuple(
            decided if each is best else each for each in attempts
        ), decided if decision.accepted else None

    def _with_repeat(self, decision: Decision, harness_id: str, number: int) -> Decision:
        """The decision, which also says so when the episode has scored this program before."""
        before = self.judged[harness_id]
        if before == number:
            return decision
        where = f"the program of round {before}" if before else "the seed's program"
        return replace(decision, reason=f"{decision.reason}; it is {where} again")

    def _commit(
        self,
        harness: Harness,
        grade: Evaluation,
        *,
        number: int = 0,
        parent: Standing | None = None,
        rollout: Rollout | None = None,
    ) -> Standing:
        """The standing of a harness that is now a version: the seed, or the candidate of a round."""
        standing = Standing(harness=harness, grade=grade, test=None, faults=faults(grade, self.grade))
        version = Version(
            harness_id=harness.id,
            parent_id=parent.harness.id if parent else None,
            episode_id=self.lab.run_id,
            round=number,
            revision=rollout.revision if rollout else None,
            mean_score=grade.mean_score,
            accepted=True,
        )
        self.registry.commit(
            version, harness, task=self.task.name, evidence=self._evidence(standing, parent, rollout)
        )
        return standing

    def _evidence(self, standing: Standing, parent: Standing | None, rollout: Rollout | None) -> Evidence:
        scored = interval(list(standing.grade.scores.values()))
        calls = [call for trial in standing.grade.trials for call in trial.calls if call.kind == "model"]
        costs = [0.0 if call.cached else call.usd for call in [*calls, *(rollout.calls if rollout else ())]]
        return Evidence(
            proposer=self.proposer.name,
            parent_score=parent.grade.mean_score if parent else None,
            low=scored.low,
            high=scored.high,
            n_trials=len(standing.grade.trials),
            usd=None if None in costs else sum(cost for cost in costs if cost is not None),
            faults_before=_by_name(parent.faults) if parent else {},
            faults_after=_by_name(standing.faults),
        )

    async def _tell(self, told: Start | Told | Stood) -> None:
        await tell(self.lab.store, self.lab.run_id, told)

    async def _start(self, seed: Harness) -> Start:
        constant, scores = await constant_baseline(self.task, self.feedback, self.test)
        return Start(
            task=self.task.name,
            solver=self.lab.solver.name,
            proposer=self.proposer.name,
            mode=self.plan.mode,
            seed=self.lab.seed,
            harness_id=seed.id,
            plan=asdict(self.plan),
            n_questions={"feedback": len(self.feedback), "grade": len(self.grade), "test": len(self.test)},
            constant=constant,
            constant_scores=scores,
        )

    def _told(self, made: Round, parent: Harness, current: Harness) -> Told:
        return Told(
            number=made.number,
            parent_id=parent.id,
            current_id=current.id,
            n_calls=self.bill.solver.calls,
            tried=tuple(
                Tried(
                    context_id=each.rollout.context_id,
                    index=each.rollout.index,
                    accepted=each.decision is not None and each.decision.accepted,
                    reason=each.decision.reason if each.decision else "",
                )
                for each in made.attempts
            ),
        )


def _by_name(found: Counter[Fault]) -> dict[str, int]:
    return {str(fault): n for fault, n in found.most_common()}


def _past(attempt: Attempt, number: int, standing: Evaluation, accepted: bool) -> PastRevision:
    rollout = attempt.rollout
    return PastRevision(
        round=number,
        summary=rollout.revision.note if rollout.revision else "",
        before=standing.mean_score,
        after=attempt.grade.mean_score if attempt.grade else None,
        accepted=accepted,
        code=rollout.failure.code if rollout.failure else "",
        message=rollout.failure.message if rollout.failure else "",
    )
