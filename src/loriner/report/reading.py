"""The facts of an episode, read from the store: scores from the trials, order and reasons from the trail."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from loriner.evaluation.voting import votes
from loriner.events import Start
from loriner.harness.structure import compare as compare_structure
from loriner.records import Call, Rollout, Trial
from loriner.report.facts import (
    AFRESH,
    PROPOSER,
    SAMPLING,
    SEARCH,
    TEST,
    Candidate,
    Episode,
    Round,
    Scores,
    Spent,
    Standing,
)
from loriner.report.scores import interval_of, paired_of
from loriner.search.allowance import usage_of
from loriner.search.history import Stood, Told, Trail, Tried, trail
from loriner.statistics import Interval, Paired, Plateau, plateau
from loriner.store.database import Store
from loriner.store.runs import RunRow

N_EXAMPLES = 5
"""Slowest and dearest trials that are shown."""

PURPOSES = ("feedback", "grade", "test")


def read_episode(store: Store, run_id: str) -> Episode | None:
    """The facts of an adaptation; None for a run that told of none.

    Raises:
        ConfigError: there is no such run.
    """
    row, told = store.run(run_id), trail(store, run_id)
    if told.start is None:
        return None
    trials = {
        purpose: _by_harness(store.trials(row.id, purpose=purpose, with_calls=True)) for purpose in PURPOSES
    }
    rollouts = {(each.context_id, each.index): each for each in store.rollouts(row.id)}
    ids = {told.start.harness_id, *(harness for each in trials.values() for harness in each)}
    found = {each: store.harness(each) for each in sorted(ids)}
    sources = {name: harness.source for name, harness in found.items() if harness is not None}
    return _Reading(row, told, told.start, trials, rollouts, sources).episode()


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was read, and how it is put together."""

    row: RunRow
    told: Trail
    start: Start
    trials: Mapping[str, Mapping[str, Sequence[Trial]]]
    """By purpose and harness."""
    rollouts: Mapping[tuple[str, int], Rollout]
    sources: Mapping[str, str]

    def episode(self) -> Episode:
        rounds = tuple(self._round(each) for each in self.told.rounds)
        candidates = [candidate for each in rounds for candidate in each.candidates]
        everything = [trial for each in self.trials.values() for trials in each.values() for trial in trials]
        return Episode(
            run_id=self.row.id,
            status=self.row.status,
            started=self.row.started,
            seconds=self.row.seconds,
            start=self.start,
            seed=self._standing("seed"),
            best=self._standing("best"),
            candidate=self._standing("candidate"),
            stopped=self.told.stopped,
            oracle=self._oracle(candidates),
            rounds=rounds,
            sources=self.sources,
            grid={harness: self._cells(harness) for harness in self.trials["grade"]},
            spent=self._spent(),
            statuses=Counter(str(trial.status) for trial in everything),
            invalid=Counter(each.code for each in candidates if each.code),
            slowest=_most(everything, lambda trial: trial.seconds),
            dearest=_most(everything, _price),
            seed_grade=self._grade(self.start.harness_id),
            n_samples=self._n_samples(),
            n_seed_calls=usage_of(
                call for trial in self._of("grade", self.start.harness_id) for call in trial.calls
            ).calls,
            plateau=self._plateau(rounds),
            config=self.row.config,
        )

    def _of(self, purpose: str, harness: str, sample: int = 0) -> list[Trial]:
        return [each for each in self.trials[purpose].get(harness, ()) if each.sample == sample]

    def _grade(self, harness: str) -> Interval | None:
        return interval_of(scores_of(self._of("grade", harness)))

    def _n_samples(self) -> float:
        test = self.trials["test"].get(self.start.harness_id, ())
        return len(test) / len({trial.question_id for trial in test}) if test else 0.0

    def _cells(self, harness: str) -> dict[str, float | None]:
        return {trial.question_id: trial.score for trial in self._of("grade", harness)}

    def _round(self, told: Told) -> Round:
        return Round(
            number=told.number,
            current_id=told.current_id,
            grade=self._grade(told.current_id),
            n_calls=told.n_calls,
            candidates=tuple(
                self._candidate(told, each, self.rollouts[each.context_id, each.index]) for each in told.tried
            ),
        )

    def _candidate(self, told: Told, tried: Tried, rollout: Rollout) -> Candidate:
        harness = rollout.candidate.id if rollout.candidate else None
        growth = (
            compare_structure(self.sources[told.parent_id], rollout.candidate.source)
            if rollout.candidate
            else None
        )
        return Candidate(
            round=told.number,
            index=tried.index,
            parent_id=told.parent_id,
            harness_id=harness,
            note=rollout.revision.note if rollout.revision else "",
            code=rollout.failure.code if rollout.failure else "",
            message=rollout.failure.message if rollout.failure else "",
            grade=self._grade(harness) if harness else None,
            effect=self._effect(told.parent_id, harness) if harness else None,
            test=scores_of(self._of("test", harness)) if harness else {},
            accepted=tried.accepted,
            reason=tried.reason,
            growth=growth.label if growth else "",
            deltas=growth.deltas if growth else {},
        )

    def _effect(self, parent: str, harness: str) -> Paired | None:
        return paired_of(scores_of(self._of("grade", parent)), scores_of(self._of("grade", harness)))

    def _standing(self, name: str) -> Standing | None:
        stood = self.told.stood.get(name)
        return None if stood is None else self._stand(name, stood)

    def _stand(self, name: str, stood: Stood) -> Standing:
        harness = stood.harness_id
        test = self.trials["test"].get(harness, ())
        voted = name == "best" and self.start.mode == SAMPLING
        return Standing(
            name=name,
            harness_id=harness,
            source=self.sources.get(harness, ""),
            grade=scores_of(self._of("grade", harness)),
            fresh=scores_of(self._of("grade", harness, sample=1)),
            test=votes(test) if voted else scores_of(self._of("test", harness)),
            faults=stood.faults,
            n_calls=_calls_a_question(test),
            reason=stood.reason,
        )

    def _oracle(self, candidates: Sequence[Candidate]) -> Standing | None:
        """The seed or the candidate with the best test mean, where every candidate was scored on the test."""
        if not self.start.plan.get("oracle"):
            return None
        tested = {each.harness_id: each.test for each in candidates if each.harness_id and each.test}
        tested |= {self.start.harness_id: scores_of(self._of("test", self.start.harness_id))}
        scored = {harness: fmean(scores.values()) for harness, scores in tested.items() if scores}
        if not scored:
            return None
        best = max(scored, key=lambda harness: scored[harness])
        return self._stand("oracle", Stood(name="oracle", harness_id=best, faults={}))

    def _plateau(self, rounds: Sequence[Round]) -> Plateau | None:
        seed = self._grade(self.start.harness_id)
        grades = [each.grade for each in rounds if each.grade is not None]
        return plateau([seed.mean, *(each.mean for each in grades)]) if seed and grades else None

    def _spent(self) -> tuple[Spent, ...]:
        feedback, grade, test = (_calls(self.trials[purpose]) for purpose in PURPOSES)
        by_part = {
            SEARCH[0]: [call for _, call in feedback],
            SEARCH[1]: [call for sample, call in grade if not sample],
            AFRESH: [call for sample, call in grade if sample],
            TEST: [call for _, call in test],
            PROPOSER: [call for each in self.rollouts.values() for call in each.calls],
        }
        return tuple(_spent(part, calls) for part, calls in by_part.items() if calls)


def scores_of(trials: Iterable[Trial]) -> Scores:
    """Mean score by question, of the trials that were scored."""
    by_question: dict[str, list[float]] = {}
    for trial in trials:
        if trial.score is not None:
            by_question.setdefault(trial.question_id, []).append(trial.score)
    return {question: fmean(scores) for question, scores in by_question.items()}


def _calls(trials: Mapping[str, Sequence[Trial]]) -> list[tuple[int, Call]]:
    """Each call with the number of its trial's sample."""
    return [(each.sample, call) for found in trials.values() for each in found for call in each.calls]


def _by_harness(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.harness_id, []).append(trial)
    return found


def _calls_a_question(trials: Sequence[Trial]) -> float | None:
    questions = {trial.question_id for trial in trials}
    return (
        usage_of(call for trial in trials for call in trial.calls).calls / len(questions)
        if questions
        else None
    )


def _spent(part: str, calls: Sequence[Call]) -> Spent:
    asked = [call for call in calls if call.kind == "model"]
    seconds = sorted(call.seconds for call in asked if not call.cached)
    return Spent(
        part=part,
        usage=usage_of(asked),
        n_cached=sum(call.cached for call in asked),
        p50_s=_quantile(seconds, 0.5),
        p95_s=_quantile(seconds, 0.95),
    )


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """The least value that `share` of the values do not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def _price(trial: Trial) -> float:
    """Tokens, both ways: they are known where money is not."""
    used = usage_of(trial.calls)
    return used.prompt_tokens + used.completion_tokens


def _most(trials: Iterable[Trial], size: Callable[[Trial], float]) -> tuple[Trial, ...]:
    ordered = sorted(
        trials, key=lambda trial: (-size(trial), trial.harness_id, trial.question_id, trial.sample)
    )
    return tuple(trial for trial in ordered[:N_EXAMPLES] if size(trial) > 0)
