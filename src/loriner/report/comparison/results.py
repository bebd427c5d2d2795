"""The facts of a comparison: its arms, each method over all seeds, and every two methods against each other.

A *method* is a mode with a way to pick: best-of-n is two of them, and the seed program itself is one. Scores
are pooled over the tasks' sealed questions and the seeds; p values are adjusted for their number (Holm).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import Any

from loriner.events import Arm, Scores
from loriner.records import Usage
from loriner.report.facts import JUDGE, PROPOSER, SEARCH, TEST, Episode, Spent
from loriner.report.reading import read_episode
from loriner.search.history import history
from loriner.statistics import ALPHA, Interval, Paired, never_told_apart, pooled, pooled_paired
from loriner.store.database import Store

SEED, ORACLE = "seed program", "best-of-n, oracle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One way to spend the allowance, over all tasks and seeds that are complete for it."""

    name: str
    test: Interval
    gain: Paired | None
    """Against the seed program; None for itself."""
    n_seeds: int
    n_arms: int
    search: Usage
    """Of solver and proposer in the search, over all arms. Of `sampling`: its votes. A model without a known
    price leaves it unpriced, though all of its replies came from the cache."""
    n_cached: int
    """Replies among them that came from the cache."""
    solver_calls: float
    """Of them the solver's, the mean of an arm."""
    proposer_calls: float
    served: float | None
    """Solver calls a question at the end."""
    accepted: float
    """Accepted revisions, the mean of an arm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Two methods on the same questions and seeds; the difference is the first less the second."""

    first: str
    second: str
    paired: Paired
    p_adjusted: float
    """Holm's, over all contrasts of honest methods."""

    @property
    def told(self) -> bool:
        """Whether the two can be told apart: the interval leaves 0 out and the adjusted p value is small."""
        interval = self.paired.difference
        return self.p_adjusted <= ALPHA and (interval.low > 0 or interval.high < 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    run_id: str
    status: str
    started: str
    seconds: float
    arms: tuple[tuple[Arm, Episode | None], ...]
    methods: tuple[Method, ...]
    contrasts: tuple[Contrast, ...]
    unit: str
    config: Mapping[str, Any]

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """The arms that have begun."""
        return tuple(episode for _, episode in self.arms if episode is not None)

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(arm.task for arm, _ in self.arms))

    def hopeless(self, contrast: Contrast) -> str:
        """Why the two could not have been told apart, whatever they scored; empty where they could."""
        return never_told_apart(contrast.paired.n, len(self.contrasts))

    def method(self, name: str) -> Method | None:
        """The method called so, once it has a score."""
        return next((each for each in self.methods if each.name == name), None)


def read_comparison(store: Store, run_id: str) -> Comparison | None:
    """The facts of a comparison; None for a run that is none.

    Raises:
        ConfigError: there is no such run.
    """
    row, told = store.run(run_id), history(store, run_id)
    if not told.arms:
        return None
    arms = tuple((arm, read_episode(store, arm.run_id)) for arm in told.arms)
    by_method = _by_method(arms)
    return Comparison(
        run_id=row.id,
        status=row.status,
        started=row.started,
        seconds=row.seconds,
        arms=arms,
        methods=tuple(_method(name, by_method) for name in by_method),
        contrasts=_contrasts({name: each for name, each in by_method.items() if name != ORACLE}),
        unit=row.config.get("compare", {}).get("equal", "calls"),
        config=row.config,
    )


@dataclass(frozen=True, slots=True)
class _Runs:
    """The complete seeds of one method."""

    scores: Mapping[int, Scores]
    """By seed, over the questions of all tasks."""
    episodes: tuple[Episode, ...]


def _by_method(arms: Sequence[tuple[Arm, Episode | None]]) -> dict[str, _Runs]:
    picks: dict[str, Callable[[Episode], Scores]] = {SEED: lambda each: each.seed.test if each.seed else {}}
    for arm, _ in arms:
        picks.setdefault(arm.mode, lambda each: each.test)
    if "best-of-n" in picks:
        picks[ORACLE] = lambda each: each.oracle.test if each.oracle else {}
    found = {}
    for name, pick in picks.items():
        mode = {ORACLE: "best-of-n", SEED: _searching(arms)}.get(name, name)
        runs = _runs([(arm, each) for arm, each in arms if arm.mode == mode], pick)
        if runs.scores:
            found[name] = runs
    return found


def _searching(arms: Sequence[tuple[Arm, Episode | None]]) -> str:
    """A mode whose arms scored the seed program as it is."""
    return next((arm.mode for arm, _ in arms if arm.mode != "sampling"), "")


def _runs(arms: Sequence[tuple[Arm, Episode | None]], pick: Callable[[Episode], Scores]) -> _Runs:
    tasks = {arm.task for arm, _ in arms}
    by_seed: dict[int, dict[str, Scores]] = {}
    for arm, episode in arms:
        if episode is not None and (scores := pick(episode)):
            by_seed.setdefault(arm.seed, {})[arm.task] = scores
    complete = {seed: _joined(each) for seed, each in by_seed.items() if each.keys() == tasks}
    episodes = tuple(episode for arm, episode in arms if episode is not None and arm.seed in complete)
    return _Runs(complete, episodes)


def _joined(by_task: Mapping[str, Scores]) -> Scores:
    return {
        f"{task}\x1f{question}": score
        for task, scores in sorted(by_task.items())
        for question, score in scores.items()
    }


def _method(name: str, by_method: Mapping[str, _Runs]) -> Method:
    runs, seed = by_method[name], by_method.get(SEED)
    sampled, n_arms = name == "sampling", max(1, len(runs.episodes))
    parts = [] if name == SEED else [part for each in runs.episodes for part in _parts(each, sampled)]
    served = [calls for each in runs.episodes if (calls := _served(name, each)) is not None]
    return Method(
        name=name,
        test=pooled(list(runs.scores.values())),
        gain=_against(runs, seed) if seed and name != SEED else None,
        n_seeds=len(runs.scores),
        n_arms=len(runs.episodes),
        search=_bill(parts, _unpriced(by_method)),
        n_cached=sum(part.n_cached for part in parts),
        solver_calls=sum(part.usage.calls for part in parts if part.part not in (PROPOSER, JUDGE)) / n_arms,
        proposer_calls=sum(part.usage.calls for part in parts if part.part == PROPOSER) / n_arms,
        served=fmean(served) if served else None,
        accepted=_mean(sum(made.accepted is not None for made in each.rounds) for each in runs.episodes)
        if parts
        else 0.0,
    )


def _parts(episode: Episode, sampled: bool) -> list[Spent]:
    """What solver and proposer used in the search of an arm; the votes are the search of `sampling`."""
    wanted = (TEST,) if sampled else (*SEARCH, PROPOSER)
    return [each for each in episode.spent if each.part in wanted]


def _unpriced(by_method: Mapping[str, _Runs]) -> set[str]:
    """Which of solver and proposer has no known price: a call that was sent in any arm says so."""
    spent = (part for runs in by_method.values() for each in runs.episodes for part in each.spent)
    return {_asked(part) for part in spent if part.usage.usd is None}


def _asked(part: Spent) -> str:
    return part.part.partition(",")[0]


def _bill(parts: Sequence[Spent], unpriced: set[str]) -> Usage:
    total = sum((part.usage for part in parts), Usage())
    known = not any(part.usage.calls and _asked(part) in unpriced for part in parts)
    return total if known else replace(total, usd=None)


def _served(name: str, episode: Episode) -> float | None:
    standing = {SEED: episode.seed, ORACLE: episode.oracle}.get(name, episode.best)
    return standing.calls_a_question if standing else None


def _contrasts(by_method: Mapping[str, _Runs]) -> tuple[Contrast, ...]:
    found = [
        (first, second, each)
        for second, first in combinations(by_method, 2)
        if (each := _against(by_method[first], by_method[second])) is not None
    ]
    adjusted = holm([each.p_value for _, _, each in found])
    return tuple(
        Contrast(first=first, second=second, paired=each, p_adjusted=p)
        for (first, second, each), p in zip(found, adjusted, strict=True)
    )


def _against(after: _Runs, before: _Runs) -> Paired | None:
    """`after` less `before`, on the seeds that both have."""
    seeds = sorted(after.scores.keys() & before.scores.keys())
    return pooled_paired([(before.scores[seed], after.scores[seed]) for seed in seeds]) if seeds else None


def holm(p_values: Sequence[float]) -> list[float]:
    """P values adjusted for their number. Source: Holm, Scandinavian Journal of Statistics 6 (1979)."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, worst = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = worst
    return adjusted


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else 0.0
