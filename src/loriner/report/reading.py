"""The facts of an episode: what its history tells, with what its trials and calls show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from loriner.events import Attempt, Round, Scores, Standing, Start
from loriner.harness.structure import compare as compare_structure
from loriner.records import Call, Rollout, Trial
from loriner.report.facts import (
    AFRESH,
    JUDGE,
    PROPOSER,
    SEARCH,
    TEST,
    Candidate,
    Episode,
    Spent,
)
from loriner.report.scores import interval_of, paired_of
from loriner.search.allowance import calls_a_question, usage_of
from loriner.search.history import History, history
from loriner.statistics import Interval, Paired, Plateau, plateau
from loriner.store.database import Store
from loriner.store.runs import RunRow

N_EXAMPLES = 5
"""Slowest and most expensive trials that are shown."""

PURPOSES = ("feedback", "grade", "test")


def read_episode(store: Store, run_id: str) -> Episode | None:
    """The facts of an adaptation; None for a run that told of none.

    Raises:
        ConfigError: there is no such run.
    """
    row = store.run(run_id)
    told = history(store, row.id)
    if told.start is None:
        return None
    trials = {
        purpose: _by_harness(store.trials(row.id, purpose=purpose, with_calls=True)) for purpose in PURPOSES
    }
    rollouts = {(each.context_id, each.index): each for each in store.rollouts(row.id)}
    made = [one.harness_id for each in told.rounds for one in each.attempts if one.harness_id]
    ids = {told.start.harness_id, *made, *(harness for each in trials.values() for harness in each)}
    found = {each: store.harness(each) for each in sorted(ids)}
    sources = {name: harness.source for name, harness in found.items() if harness is not None}
    return _Reading(row, told, told.start, trials, rollouts, sources).episode()


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was read, and how it is put together."""

    row: RunRow
    told: History
    start: Start
    trials: Mapping[str, Mapping[str, Sequence[Trial]]]
    """By purpose and harness."""
    rollouts: Mapping[tuple[str, int], Rollout]
    sources: Mapping[str, str]

    def episode(self) -> Episode:
        rounds, standings = self.told.rounds, self.told.standings
        candidates = tuple(self._candidate(each, one) for each in rounds for one in each.attempts)
        everything = [trial for each in self.trials.values() for trials in each.values() for trial in trials]
        return Episode(
            run_id=self.row.id,
            status=self.row.status,
            started=self.row.started,
            seconds=self.row.seconds,
            start=self.start,
            seed=standings.get("seed"),
            best=standings.get("best"),
            candidate=standings.get("candidate"),
            end=self.told.end,
            oracle=self._oracle(candidates),
            rounds=rounds,
            candidates=candidates,
            sources=self.sources,
            grid={harness: self._cells(harness) for harness in self.trials["grade"]},
            spent=self._spent(),
            statuses=Counter(str(trial.status) for trial in everything),
            invalid=Counter(each.attempt.code for each in candidates if each.attempt.code),
            refused=tuple(each for each in self.rollouts.values() if each.failure is not None),
            slowest=_most(everything, lambda trial: trial.seconds),
            dearest=_most(everything, _price),
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

    def _candidate(self, made: Round, attempt: Attempt) -> Candidate:
        harness = attempt.harness_id
        growth = compare_structure(self.sources[made.parent_id], self.sources[harness]) if harness else None
        return Candidate(
            round=made.number,
            parent_id=made.parent_id,
            attempt=attempt,
            grade=self._grade(harness) if harness else None,
            effect=self._effect(made.parent_id, harness) if harness else None,
            test=scores_of(self._of("test", harness)) if harness else {},
            growth=growth.label if growth else "",
            deltas=growth.deltas if growth else {},
        )

    def _effect(self, parent: str, harness: str) -> Paired | None:
        return paired_of(scores_of(self._of("grade", parent)), scores_of(self._of("grade", harness)))

    def _oracle(self, candidates: Sequence[Candidate]) -> Standing | None:
        """The seed or the candidate with the best test mean, where every candidate was scored on the test."""
        if not self.start.plan.get("oracle"):
            return None
        tested = {
            each.attempt.harness_id: each.test for each in candidates if each.attempt.harness_id and each.test
        }
        tested |= {self.start.harness_id: scores_of(self._of("test", self.start.harness_id))}
        scored = {harness: fmean(scores.values()) for harness, scores in tested.items() if scores}
        if not scored:
            return None
        best = max(scored, key=lambda harness: scored[harness])
        return Standing(
            name="oracle",
            harness_id=best,
            grade=scores_of(self._of("grade", best)),
            test=tested[best],
            calls_a_question=calls_a_question(self.trials["test"].get(best, ())),
        )

    def _plateau(self, rounds: Sequence[Round]) -> Plateau | None:
        seed = self._grade(self.start.harness_id)
        grades = [grade for each in rounds if (grade := self._grade(each.current_id)) is not None]
        return plateau([seed.mean, *(each.mean for each in grades)]) if seed and grades else None

    def _spent(self) -> tuple[Spent, ...]:
        feedback, grade, test = (_calls(self.trials[purpose]) for purpose in PURPOSES)
        judged = [pair for pair in (*feedback, *grade, *test) if pair[1].kind == "judge"]
        by_part = {
            SEARCH[0]: [call for _, call in feedback],
            SEARCH[1]: [call for sample, call in grade if not sample],
            AFRESH: [call for sample, call in grade if sample],
            TEST: [call for _, call in test],
            JUDGE: [replace(call, kind="model") for _, call in judged],
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
