"""What an episode writes: versions into the registry, and its history into the store."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from loriner.evaluation.baselines import Baselines
from loriner.evaluation.evaluator import Evaluator
from loriner.events import Attempt, End, Name, Round, Standing, Start
from loriner.harness.blocks import format_revision
from loriner.records import Evaluation, Fault, Harness, PastRevision, Rollout, Version
from loriner.search.allowance import calls_a_question
from loriner.search.feedback_windows import asks_model
from loriner.search.history import note, tell
from loriner.search.modes import mode_of
from loriner.search.plan import Plan
from loriner.statistics import interval
from loriner.store.commit_message import Evidence
from loriner.store.registry import Registry


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a version comes from; a seed has no origin."""

    round: int
    parent: Harness
    parent_score: float | None
    """The parent's mean score on the questions that the version was scored on."""
    parent_faults: Counter[Fault]
    rollout: Rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """A program with the trials by which it was chosen."""

    harness: Harness
    grade: Evaluation
    faults: Counter[Fault]
    """Among the grade trials."""
    reason: str = ""
    """Why a candidate was not accepted, and what would confirm it."""


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """The record of one run."""

    task: str
    proposer: str
    lab: Evaluator
    registry: Registry

    def version(self, graded: Graded, origin: Origin | None = None) -> None:
        """Commits the seed, or an accepted candidate."""
        version, evidence = self._version(graded, origin, accepted=True)
        self.registry.commit(version, graded.harness, task=self.task, evidence=evidence)

    def candidate(self, graded: Graded, origin: Origin) -> None:
        """Keeps a candidate that led and was not accepted."""
        version, evidence = self._version(graded, origin, accepted=False)
        self.registry.keep(version, graded.harness, task=self.task, evidence=evidence)

    async def start(self, seed: Harness, plan: Plan, sizes: dict[str, int], beside: Baselines) -> None:
        """Records how the episode starts."""
        told = Start(
            run_id=self.lab.run_id,
            task=self.task,
            solver=self.lab.solver.name,
            proposer=self.proposer,
            mode=mode_of(plan),
            seed=self.lab.seed,
            harness_id=seed.id,
            plan=plan.model_dump(mode="json"),
            n_questions=sizes,
            constant=beside.constant,
            constant_scores=beside.constant_scores,
            copied_scores=beside.copied_scores,
        )
        await tell(self.lab.store, self.lab.run_id, told)
        self.lab.observe(told)

    def round(self, made: Round) -> None:
        """Records what a round changed, with the next commit of the store; nothing waits for it."""
        note(self.lab.store, self.lab.run_id, made)
        self.lab.observe(made)

    async def end(self, stop: End) -> None:
        """Records why the search ended."""
        await tell(self.lab.store, self.lab.run_id, stop)
        self.lab.observe(stop)

    async def standing(
        self,
        name: Name,
        graded: Graded,
        test: Evaluation | None = None,
        fresh: Evaluation | None = None,
    ) -> Standing:
        """Records the scores that a final program has so far."""
        sealed = test.trials if test else ()
        found = Standing(
            name=name,
            harness_id=graded.harness.id,
            grade=graded.grade.scores,
            fresh=fresh.scores if fresh else {},
            test=test.scores if test else {},
            faults=by_name(graded.faults),
            calls_a_question=calls_a_question(sealed),
            asks_model=any(map(asks_model, (*graded.grade.trials, *sealed))),
            reason=graded.reason,
        )
        await tell(self.lab.store, self.lab.run_id, found)
        return found

    def _version(self, graded: Graded, origin: Origin | None, *, accepted: bool) -> tuple[Version, Evidence]:
        version = Version(
            harness_id=graded.harness.id,
            parent_id=origin.parent.id if origin else None,
            episode_id=self.lab.run_id,
            round=origin.round if origin else 0,
            revision=origin.rollout.revision if origin else None,
            mean_score=graded.grade.mean_score,
            accepted=accepted,
        )
        return version, self._evidence(graded, origin)

    def _evidence(self, graded: Graded, origin: Origin | None) -> Evidence:
        scored = interval(list(graded.grade.scores.values()))
        calls = [call for trial in graded.grade.trials for call in trial.calls if call.kind == "model"]
        calls += origin.rollout.calls if origin else ()
        costs = [0.0 if call.cached else call.usd for call in calls]
        return Evidence(
            proposer=self.proposer,
            parent_score=origin.parent_score if origin else None,
            low=scored.low,
            high=scored.high,
            n_trials=len(graded.grade.trials),
            usd=None if None in costs else sum(cost for cost in costs if cost is not None),
            faults_before=by_name(origin.parent_faults) if origin else {},
            faults_after=by_name(graded.faults),
        )


def by_name(found: Counter[Fault]) -> dict[str, int]:
    """Counts by the names of the faults, the most frequent first."""
    return {str(fault): n for fault, n in found.most_common()}


def past(attempt: Attempt, rollout: Rollout, number: int) -> PastRevision:
    """An attempt of a round as the proposer is shown it later."""
    revision = rollout.revision
    return PastRevision(
        round=number,
        summary=attempt.note,
        before=attempt.before,
        after=attempt.after,
        accepted=attempt.accepted,
        code=attempt.code,
        message=attempt.message,
        edit=format_revision(revision.edits) if revision else rollout.completion,
        reason=attempt.reason,
    )
