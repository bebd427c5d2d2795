"""What an episode leaves behind: versions in the registry, and its event log in the store."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from loriner import events
from loriner.evaluation.baselines import Baselines
from loriner.evaluation.evaluator import Evaluator
from loriner.events import End, Name, Start
from loriner.harness.blocks import format_revision
from loriner.records import Fault, Harness, PastRevision, Rollout, Version
from loriner.search.episode import Attempt, Plan, Round, Standing
from loriner.search.history import Stood, Stopped, Told, Tried, tell
from loriner.statistics import interval
from loriner.store.entry import Evidence
from loriner.store.registry import Registry


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a version comes from; a seed has no origin."""

    round: int
    parent: Harness
    parent_score: float | None
    """On the questions that the version was scored on."""
    parent_faults: Counter[Fault]
    rollout: Rollout


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one run."""

    task: str
    proposer: str
    lab: Evaluator
    registry: Registry

    def version(self, standing: Standing, origin: Origin | None = None) -> None:
        """Commits the seed, or an accepted candidate."""
        version, evidence = self._version(standing, origin, accepted=True)
        self.registry.commit(version, standing.harness, task=self.task, evidence=evidence)

    def candidate(self, standing: Standing, origin: Origin) -> None:
        """Keeps a candidate that led and was not accepted."""
        version, evidence = self._version(standing, origin, accepted=False)
        self.registry.keep(version, standing.harness, task=self.task, evidence=evidence)

    async def start(self, seed: Harness, plan: Plan, sizes: dict[str, int], beside: Baselines) -> Start:
        """Tells how the episode starts."""
        told = Start(
            run_id=self.lab.run_id,
            task=self.task,
            solver=self.lab.solver.name,
            proposer=self.proposer,
            mode=plan.mode,
            seed=self.lab.seed,
            harness_id=seed.id,
            plan=plan.model_dump(mode="json"),
            n_questions=sizes,
            constant=beside.constant,
            constant_scores=beside.constant_scores,
            copied_scores=beside.copied_scores,
        )
        await self._tell(told)
        self.lab.observe(told)
        return told

    async def round(self, made: Round, parent: Harness, current: Harness, n_calls: int) -> None:
        """Tells what a round tried."""
        tried = tuple(
            Tried(
                context_id=each.rollout.context_id,
                index=each.rollout.index,
                accepted=each.decision is not None and each.decision.accepted,
                reason=each.decision.reason if each.decision else "",
            )
            for each in made.attempts
        )
        ids = {"parent_id": parent.id, "current_id": current.id}
        await self._tell(Told(number=made.number, **ids, n_calls=n_calls, tried=tried))
        self.lab.observe(
            events.Round(
                number=made.number,
                **ids,
                grade=made.grade,
                n_calls=n_calls,
                attempts=tuple(map(_attempt, made.attempts)),
            )
        )

    async def stopped(self, stop: End) -> None:
        """Tells why the search ended."""
        await self._tell(Stopped(why=str(stop)))
        self.lab.observe(stop)

    async def standing(self, name: str, each: Standing) -> None:
        """Tells which program is the seed, the best, or the candidate."""
        found = by_name(each.faults)
        await self._tell(Stood(name=name, harness_id=each.harness.id, faults=found, reason=each.reason))

    def stood(self, name: Name, each: Standing) -> None:
        """Tells the observer how a program stands once all its scores are there."""
        self.lab.observe(
            events.Standing(
                name=name,
                harness_id=each.harness.id,
                grade=each.grade.mean_score,
                fresh=each.fresh.mean_score if each.fresh else None,
                test=each.test.mean_score if each.test else None,
                faults=by_name(each.faults),
                reason=each.reason,
            )
        )

    async def _tell(self, told: Start | Told | Stopped | Stood) -> None:
        await tell(self.lab.store, self.lab.run_id, told)

    def _version(
        self, standing: Standing, origin: Origin | None, *, accepted: bool
    ) -> tuple[Version, Evidence]:
        version = Version(
            harness_id=standing.harness.id,
            parent_id=origin.parent.id if origin else None,
            episode_id=self.lab.run_id,
            round=origin.round if origin else 0,
            revision=origin.rollout.revision if origin else None,
            mean_score=standing.grade.mean_score,
            accepted=accepted,
        )
        return version, self._evidence(standing, origin)

    def _evidence(self, standing: Standing, origin: Origin | None) -> Evidence:
        scored = interval(list(standing.grade.scores.values()))
        calls = [call for trial in standing.grade.trials for call in trial.calls if call.kind == "model"]
        calls += origin.rollout.calls if origin else ()
        costs = [0.0 if call.cached else call.usd for call in calls]
        return Evidence(
            proposer=self.proposer,
            parent_score=origin.parent_score if origin else None,
            low=scored.low,
            high=scored.high,
            n_trials=len(standing.grade.trials),
            usd=None if None in costs else sum(cost for cost in costs if cost is not None),
            faults_before=by_name(origin.parent_faults) if origin else {},
            faults_after=by_name(standing.faults),
        )


def by_name(found: Counter[Fault]) -> dict[str, int]:
    """Counts by the names of the faults, the most frequent first."""
    return {str(fault): n for fault, n in found.most_common()}


def _attempt(each: Attempt) -> events.Attempt:
    rollout, decision = each.rollout, each.decision
    return events.Attempt(
        context_id=rollout.context_id,
        index=rollout.index,
        harness_id=rollout.candidate.id if rollout.candidate else None,
        note=rollout.revision.note if rollout.revision else "",
        code=rollout.failure.code if rollout.failure else "",
        message=rollout.failure.message if rollout.failure else "",
        before=each.before,
        after=each.grade.mean_score if each.grade else None,
        accepted=decision is not None and decision.accepted,
        considered=each.considered,
        reason=decision.reason if decision else "",
    )


def past(attempt: Attempt, number: int) -> PastRevision:
    """An attempt of a round as the proposer is shown it later."""
    rollout, decision = attempt.rollout, attempt.decision
    revision, failure = rollout.revision, rollout.failure
    return PastRevision(
        round=number,
        summary=revision.note if revision else "",
        before=attempt.before,
        after=attempt.grade.mean_score if attempt.grade else None,
        accepted=decision is not None and decision.accepted,
        code=failure.code if failure else "",
        message=failure.message if failure else "",
        edit=format_revision(revision.edits) if revision else rollout.completion,
        reason=decision.reason if decision else "",
    )
