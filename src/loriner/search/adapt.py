"""Adaptation: rounds of propose, evaluate and accept, from the seed harness to the best version.

A search depends on its seed and its models' replies, and on nothing else. Everything it learns is stored
before it is used. So a run that died is resumed by searching again from the start: what is stored costs
nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from loriner.errors import BudgetReached
from loriner.evaluation.baselines import baselines
from loriner.evaluation.evaluator import Evaluator
from loriner.events import End, Name, Note, Round, RoundBegan
from loriner.models.meter import Need
from loriner.propose.context import brief_of, make_context
from loriner.propose.proposer import Proposer
from loriner.records import Context, Evaluation, Failure, FeedbackTrial, Harness, PastRevision, Question
from loriner.search.allowance import Bill
from loriner.search.cap_reserve import for_sealed
from loriner.search.completions import Completions, Drawn
from loriner.search.episode_record import EpisodeRecord, past
from loriner.search.feedback_windows import Windows, failing
from loriner.search.final_scores import FinalScores
from loriner.search.grade_trials import GradeTrials
from loriner.search.history import Adaptation, outcome, tell
from loriner.search.leak_check import memorised
from loriner.search.modes import next_parent
from loriner.search.plan import Plan
from loriner.search.selection import Selection
from loriner.search.tree import Node, Tree
from loriner.store.registry import Registry
from loriner.tasks.base import Split, Task

MOST_IDLE = 2
"""The search ends after so many rounds in a row without a new candidate."""


async def adapt(
    task: Task, seed: Harness, lab: Evaluator, proposer: Proposer, *, plan: Plan, registry: Registry
) -> Adaptation:
    """The episode's outcome; every accepted version is in the registry, every trial in the store.

    A cap that is reached ends the search, and the outcome says so. The best program so far is still scored on
    the sealed questions: the caps leave room for them.

    Raises:
        InfrastructureError, ModelError: solver or proposer failed, not the harness; the run can be resumed.
        BudgetReached: a cap was reached before the seed had one score; the run can be resumed.
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
    record: EpisodeRecord = field(init=False)
    windows: Windows = field(init=False)
    draws: Completions = field(init=False)
    grading: GradeTrials = field(init=False)
    selection: Selection = field(init=False)
    history: list[PastRevision] = field(init=False, default_factory=list)
    tree: Tree = field(init=False)
    candidates: list[Harness] = field(init=False, default_factory=list)
    """The candidates that were considered."""
    seen: dict[tuple[str, tuple[str, ...]], Evaluation] = field(init=False, default_factory=dict)
    """Complete windows of feedback trials, by program and questions."""
    diagnosed: dict[int, FeedbackTrial] = field(init=False, default_factory=dict)
    """The feedback trials that rounds have shown, by the identity of their trials."""
    too_few: bool = field(init=False, default=False)
    """Whether nothing could be accepted from the start. The search then goes on, for candidates to keep."""

    def __post_init__(self) -> None:
        task, plan = self.task, self.plan
        self.feedback = task.questions("feedback")
        self.grade = task.questions("grade")[: plan.grade]
        self.test = task.questions("test")[: plan.test] if plan.test else []
        self.tree = Tree.of(self.seed)
        self.record = EpisodeRecord(task.name, self.proposer.name, self.lab, self.registry)
        self.windows = Windows(self.feedback, plan.feedback)
        self.draws = Completions(self.lab, self.proposer, self._memorised)
        graded = partial(self._trials, "grade")
        self.grading = GradeTrials(self.grade, plan.schedule(len(self.grade)), graded, self._overspent)
        self.selection = Selection(self.seed, self.grading, self.record, self.bill, plan.allowance)

    async def run(self) -> Adaptation:
        await self._start()
        ending = await self._ended()
        self.lab.meter.keep(Need())
        await self._end(ending)
        return outcome(self.lab.store, self.lab.run_id)

    async def _ended(self) -> FinalScores:
        """The search, run to its end or to a cap."""
        ending = FinalScores(self.task, self.lab, self.record, self.grade, self.test, End(reason="rounds"))
        try:
            await self._grade_seed()
            ending.stop = await self._search()
        except BudgetReached as reached:
            ending.stop = End(reason="budget", why=str(reached))
            self._take_so_far(ending)
        return ending

    def _keep_room(self) -> None:
        """Leaves room under the caps for the sealed scores of the programs that would be shown now."""
        ahead = self.selection.ahead()
        shown = dict.fromkeys([self.seed.id, self.selection.current.id, *([ahead] if ahead else [])])
        graded = [self.grading.known[each] for each in shown]
        self.lab.meter.keep(for_sealed(self.lab, graded, len(self.test), self._scored_before()))

    def _scored_before(self) -> Counter[str]:
        """The number of sealed trials that each program has already, in a run that is resumed."""
        known = self.lab.store.trials(self.lab.run_id, task=self.task.name, purpose="test")
        return Counter(each.harness_id for each in known if each.score is not None)

    def _take_so_far(self, ending: FinalScores) -> None:
        """Scores the seed by the grade trials that it had before a cap was reached; raises if it had none."""
        if self.seed.id in self.grading.known:
            return
        first = self.grade[: self.grading.plan.stages[0].end]
        found = self.lab.so_far(self.task, self.seed, first, purpose="grade")
        if not found.trials:
            raise BudgetReached(ending.stop.why)
        self.grading.known[self.seed.id] = found
        ending.miss(f"{len(first) - len(found.trials)} of the first {len(first)} grade questions of seed")

    async def _start(self) -> None:
        found = await baselines(self.task, self.feedback, self.test)
        splits = {"feedback": self.feedback, "grade": self.grade, "test": self.test}
        sizes = {name: len(questions) for name, questions in splits.items()}
        await self.record.start(self.seed, self.plan, sizes, found)
        if hopeless := self.plan.never_accepts(len(self.grade)):
            self.lab.observe(Note(text=hopeless))

    async def _grade_seed(self) -> None:
        await self.grading.grade(self.seed)
        self.draws.know(self.seed, "the seed's program")
        self.record.version(self.selection.graded(self.seed))
        self.too_few = self.grading.closed(self.seed)

    async def _search(self) -> End:
        """Runs the rounds, and says why they ended."""
        n_idle = 0
        for number in range(1, self.plan.rounds + 1):
            if number > 1 and (further := self.plan.stretches.get(number - 1)):
                self.grading.begin(further)
                self.too_few, n_idle = self.grading.closed(self.selection.current), 0
            self._keep_room()
            if self.bill.reaches(self.plan.allowance):
                return End(reason="allowance", why=f"{self.plan.allowance} are used")
            context = await self._context(number)
            if (stop := await self._hopeless(context)) is not None:
                return stop
            self.lab.observe(RoundBegan(number=number, parent_id=context.harness.id))
            drawn = await self.draws.round(context, self.plan.candidates, number, self.grading.grade)
            made = await self.selection.round(number, context.harness, drawn)
            self._keep(made, drawn)
            n_idle = n_idle + 1 if all(each.empty for each in drawn) else 0
            if n_idle >= MOST_IDLE and number not in self.plan.stretches:
                why = f"{n_idle} rounds in a row brought no new program"
                return End(reason="proposer has nothing left", why=why)
        return End(reason="rounds")

    async def _context(self, number: int) -> Context:
        parent, history = self._parent()
        feedback = await self.windows.trials(partial(self._trials, "feedback", parent))
        brief = brief_of(self.task.name, self.task.description, self.task.tools)
        context = make_context(
            brief, parent, feedback, self.feedback, round=number, history=history, known=self.diagnosed
        )
        self.diagnosed.update((id(each.trial), each) for each in context.feedback)
        return context

    def _parent(self) -> tuple[Harness, Sequence[PastRevision]]:
        """The program that the next round revises, with the history that its proposer is shown."""
        if self.plan.revise == "seed":
            self.windows.at = 0  # all rounds then share one context
        current = Node(self.selection.current, tried=self.history)
        node = next_parent(self.plan.revise, self.seed, current, self.tree, self._standing)
        return node.harness, node.history

    def _standing(self, harness: Harness) -> float:
        """The mean score of a program on the grade questions that the seed has scores on too."""
        return self.grading.mean_beside(harness.id, self.seed.id) or 0.0

    async def _hopeless(self, context: Context) -> End | None:
        """The end of a search that cannot accept anything any more; None if it goes on.

        It still goes on while it may find a candidate that is worth keeping for a person to look at.
        """
        current, grading = self.selection.current, self.grading
        if grading.perfect(current):
            if not failing([each.trial for each in context.feedback]):
                return End(reason="nothing failed")
            await grading.grade(current, len(grading.plan.stages))
        finds = self.too_few or not self.selection.ahead() or not grading.closed(current)
        if finds and not grading.perfect(current):
            return None
        n, mean = len(self.grade), grading.known[current.id].mean_score or 0.0
        why = (
            f"the current program scores {mean:.2f}, and one right on all {n} grade questions would not pass"
        )
        return End(reason="nothing can be accepted any more", why=why)

    def _keep(self, made: Round, drawn: Sequence[Drawn]) -> None:
        self.tree.revised(made.parent_id)
        for attempt, each in zip(made.attempts, drawn, strict=True):
            self.history.append(past(attempt, each.rollout, made.number))
            candidate = each.rollout.candidate if attempt.considered else None
            if candidate is not None:
                self.candidates.append(candidate)
            self.tree.add(made.parent_id, self.history[-1], candidate)
        self.record.round(made)

    async def _end(self, ending: FinalScores) -> None:
        """Records why the search ended, scores its last programs, and records what a cap left unscored."""
        ending.stop = replace(ending.stop, solver=self.bill.solver, proposer=self.bill.proposer)
        await self.record.end(ending.stop)
        if self.plan.oracle and self.test and ending.stop.reason != "budget":
            await ending.test_all(self.candidates)
        shown: dict[Name, Harness] = {"seed": self.seed, "best": self.selection.current}
        graded = {name: self.selection.graded(each) for name, each in shown.items()}
        if (candidate := self.selection.unconfirmed()) is not None:
            graded["candidate"] = candidate
        told = ending.stop
        await ending.scored(graded)
        if ending.stop != told:
            await tell(self.lab.store, self.lab.run_id, ending.stop)

    async def _trials(self, purpose: Split, harness: Harness, questions: Sequence[Question]) -> Evaluation:
        """Trials of the search, entered on its bill. `Selection` enters the first ones of each candidate."""
        key = harness.id, tuple(each.id for each in questions)
        if purpose == "feedback" and key in self.seen:
            return self.seen[key]
        found = await self.lab.evaluate(self.task, harness, questions, purpose=purpose)
        if purpose == "feedback" and not found.n_infra_errors:
            self.seen[key] = found
        if purpose == "feedback" or harness.id in self.grading.known or harness == self.seed:
            self.bill.add_trials(found)
        return found

    def _overspent(self) -> bool:
        return self.bill.exceeds(self.plan.allowance)

    def _memorised(self, candidate: Harness) -> Failure | None:
        """Why the candidate is refused without a score: it contains answers instead of computing them."""
        sealed = [*self.grade, *self.test]
        return memorised(candidate, self.seed, sealed=sealed, shown=self.feedback)
