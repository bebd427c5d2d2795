"""Intervals, paired tests and the rule by which a candidate is accepted.

Everything is resampling over *questions*: a question is the unit that was drawn at random, its repeated
samples are averaged before they come here. All results are the same for the same seed and do not depend
on the order of the questions. Standard library only.

Not guaranteed: exact coverage. Measured coverage is in docs/statistics.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import getitem
from random import Random
from statistics import fmean
from typing import Literal, get_args

from loriner.seeding import generator

Rule = Literal["always", "mean", "paired"]
RULES: tuple[Rule, ...] = get_args(Rule)

N_RESAMPLES = 2_000
"""Resamples: the ends of a 95 % interval are then the 50th value from either side."""
N_FLIPS = 20_000
"""Random sign flips, where the exact distribution is too large to write down."""
N_EXACT_STATES = 20_000
"""Distinct sums up to which the sign-flip distribution is worked out exactly."""
ALPHA = 0.05
"""Chance of accepting anything in a whole run in which no candidate differs from its parent, and of telling
two methods of a comparison apart where none differ."""

_SCORES = (0.0, 1.0)
_DIFFERENCES = (-1.0, 1.0)
"""Bounds of a score and of a difference of two."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int
    """Questions."""

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}] (n = {self.n})"


@dataclass(frozen=True, slots=True)
class Paired:
    """Two harnesses on the questions they share; the difference is *after* less *before*."""

    n: int
    """Questions in common."""
    difference: Interval
    p_value: float
    """Two-sided, by sign flips: the chance of a mean at least this far from 0 if neither is better."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a candidate replaces its parent."""

    accepted: bool
    reason: str
    """In words, with the figures that decided."""


@dataclass(frozen=True, slots=True)
class Plateau:
    """How the gain of an episode is spread over its rounds."""

    gain: float
    """Best score less the seed's; 0 when no round ended above the seed."""
    first_share: float | None
    """Share of the gain reached in round 1, in [0, 1]; None when there is no gain."""
    last_gain: int
    """The last round that raised the best score; 0 when none did."""
    verdict: str


def interval(scores: Sequence[float], *, seed: int = 0) -> Interval:
    """The mean of `scores` (one a question, each in [0, 1]) with a 95 % interval.

    A Bayesian bootstrap over questions in which each end also gets one imagined question, scored 0 for
    the low end and 1 for the high one. So a sample of all right or all wrong has an honest width; on
    right/wrong scores the ends are those of Clopper and Pearson. Source: Gaffke, Mathematical Methods of
    Statistics 14 (2005); Learned-Miller and Thomas, arXiv 1905.06208.

    Raises:
        ValueError: no score, or one outside [0, 1].
    """
    _check(scores, 0.0, 1.0)
    return _bootstrap(scores, _SCORES, seed)


def stratified(groups: Sequence[Sequence[float]], *, seed: int = 0) -> Interval:
    """The mean of the groups' means, with a 95 % interval for new questions in the same groups.

    As `interval`, with questions resampled within each group; with one group it is `interval`.

    Raises:
        ValueError: no group, a group without a score, or a score outside [0, 1].
    """
    for scores in groups:
        _check(scores, 0.0, 1.0)
    if len(groups) == 1:
        return interval(groups[0], seed=seed)
    counted = [sorted(Counter(scores).items()) for scores in groups]
    rng = generator(seed, "bootstrap")
    draws = (_stratified(counted, rng) for _ in range(N_RESAMPLES))
    mean = fmean(fmean(sorted(scores)) for scores in groups)
    return _ends(mean, draws, _SCORES, rng, sum(map(len, groups)))


def paired(before: Mapping[str, float], after: Mapping[str, float], *, seed: int = 0) -> Paired:
    """Difference of two harnesses on the questions that both have.

    Raises:
        ValueError: they share no question, or a score is outside [0, 1].
    """
    return _paired(_differences(before, after), seed)


def pooled(runs: Sequence[Mapping[str, float]], *, seed: int = 0) -> Interval:
    """Mean over several runs of one method (one mapping a run seed) on the questions they all have.

    Runs and questions are resampled independently, so the interval covers a new run *and* new questions.
    Source: Owen, The pigeonhole bootstrap, Annals of Applied Statistics 1 (2007); the spread of the few
    runs is widened by sqrt(k / (k - 1)). With one run this is `interval`.

    Raises:
        ValueError: no run, no common question, or a score outside [0, 1].
    """
    table = _table(runs)
    for row in table:
        _check(row, 0.0, 1.0)
    return _crossed(table, _SCORES, seed)


def pooled_paired(
    pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]], *, seed: int = 0
) -> Paired:
    """As `paired`, over several runs: each pair is (before, after) of one run seed.

    The interval is that of `pooled`. The p value flips the signs of each question's mean difference, so
    it speaks of these runs only.

    Raises:
        ValueError: as `paired` and `pooled`.
    """
    table = _table([_differences(before, after) for before, after in pairs])
    means = {str(index): fmean(row) for index, row in enumerate(table)}
    difference = _crossed(table, _DIFFERENCES, seed)
    return Paired(len(table), difference, _two_sided(list(means.values()), seed))


def sign_flip(differences: Sequence[float], *, seed: int = 0) -> float:
    """One-sided p value: the chance that random signs give a sum at least as high as the one seen.

    Exact as long as the distribution has at most `N_EXACT_STATES` distinct sums (always for right/wrong
    scores), else from `N_FLIPS` random flips with the observed one counted in.
    """
    units = [round(d * 1e12) for d in differences]
    sizes = sorted(abs(unit) for unit in units if unit)
    observed = sum(units) - len(units)  # each rounding is off by half a unit at most
    sums = {0: 1.0}
    for size in sizes:
        spread: dict[int, float] = {}
        for total, chance in sums.items():
            spread[total + size] = spread.get(total + size, 0.0) + chance / 2
            spread[total - size] = spread.get(total - size, 0.0) + chance / 2
        sums = spread
        if len(sums) > N_EXACT_STATES:
            return _random_flips(sizes, observed, generator(seed, "sign_flip"))
    return min(1.0, math.fsum(chance for total, chance in sums.items() if total >= observed))


def accepts(
    rule: Rule,
    before: Mapping[str, float],
    after: Mapping[str, float],
    *,
    alpha: float = ALPHA,
    seed: int = 0,
) -> Decision:
    """Whether the candidate with scores `after` replaces the harness with scores `before`.

    `always` accepts, `mean` asks for a higher mean on the common questions, `paired` for a one-sided
    sign-flip test at `alpha`: of one candidate that changes nothing it accepts at most that share.

    Raises:
        ValueError: an unknown rule, or scores as in `paired`.
    """
    if rule not in RULES:
        raise ValueError(f"there is no rule {rule!r}: use one of {RULES}")
    if rule == "always":
        return Decision(True, "accepted: the rule is to accept every candidate")
    differences = list(_differences(before, after).values())
    gain, seen = fmean(differences), seen_in_words(differences)
    if rule == "mean":
        accepted = gain > 0
        return Decision(accepted, f"{_word(accepted)}: {seen}; the rule needs a higher mean")
    p = sign_flip(differences, seed=seed)
    accepted = gain > 0 and p <= alpha
    reason = f"{_word(accepted)}: {seen}; one-sided p = {p:.4f}, needed <= {alpha:g}"
    hopeless = "" if accepted else _too_few(len(differences), alpha)
    return Decision(accepted, f"{reason}; {hopeless}" if hopeless else reason)


def least_questions(level: float) -> int:
    """The fewest questions on which a candidate better on each of them passes a test at `level`."""
    return max(1, math.ceil(-math.log2(level)))


def differences_on(
    before: Mapping[str, float], after: Mapping[str, float], questions: Iterable[str]
) -> list[float]:
    """*After* less *before* on those of the questions that both have, by question id; maybe none.

    Raises:
        ValueError: a score outside [0, 1].
    """
    _check([*before.values(), *after.values(), 0.0], 0.0, 1.0)
    common = sorted(before.keys() & after.keys() & set(questions))
    return [after[question] - before[question] for question in common]


def seen_in_words(differences: Sequence[float]) -> str:
    """The mean difference, with how many questions are better and worse."""
    signs = Counter((d > 0) - (d < 0) for d in differences)
    gain = fmean(differences) if differences else 0.0
    return f"{gain:+.3f} on {len(differences)} questions ({signs[1]} better, {signs[-1]} worse)"


def plateau(scores: Sequence[float]) -> Plateau:
    """Where the gain came from: `scores[0]` is the seed's, `scores[t]` the current one after round t.

    Raises:
        ValueError: no score, or one outside [0, 1].
    """
    _check(scores, 0.0, 1.0)
    best, rounds = max(scores), len(scores) - 1
    gain = best - scores[0]
    if gain <= 0:
        return Plateau(
            0.0,
            None,
            0,
            f"After {rounds} rounds the current program scores no more than the seed ({scores[0]:.2f}).",
        )
    last = scores.index(best)
    share = min(1.0, max(0.0, (scores[1] - scores[0]) / gain))
    verdict = f"Round 1 took {share:.0%} of the gain ({scores[0]:.2f} to {best:.2f} in {rounds} rounds)"
    idle = rounds - last
    if idle and idle >= rounds / 2:
        verdict += f"; the last {idle} added nothing"
    return Plateau(gain, share, last, verdict + ".")


# Below: resampling, and words.


def _bootstrap(values: Sequence[float], bounds: tuple[float, float], seed: int) -> Interval:
    """Weights are drawn once a distinct value: equal ones share a gamma, so right/wrong scores cost two."""
    counted = sorted(Counter(values).items())
    rng = generator(seed, "bootstrap")
    draws = (_weighted(counted, rng) for _ in range(N_RESAMPLES))
    return _ends(fmean(sorted(values)), draws, bounds, rng, len(values))


def _crossed(table: list[tuple[float, ...]], bounds: tuple[float, float], seed: int) -> Interval:
    k = len(table[0])
    run_means = [fmean(column) for column in zip(*table, strict=True)]
    mean = fmean(run_means)
    widen = math.sqrt(k / (k - 1)) - 1 if k > 1 else 0.0
    shift = [widen * (run_mean - mean) for run_mean in run_means]

    @cache
    def drawn(runs: tuple[int, ...]) -> list[tuple[float, int]]:
        offset = sum(shift[run] for run in runs) / k
        return sorted(Counter(sum(row[run] for run in runs) / k + offset for row in table).items())

    rng = generator(seed, "bootstrap")
    choices = (tuple(sorted(rng.choices(range(k), k=k))) for _ in range(N_RESAMPLES))
    return _ends(mean, (_weighted(drawn(runs), rng) for runs in choices), bounds, rng, len(table))


def _weighted(counted: list[tuple[float, int]], rng: Random) -> tuple[float, float]:
    """Sum of values and of weights, when each question weighs an exponential draw."""
    uniform, gamma, log = rng.random, rng.gammavariate, math.log
    weights = [-log(1.0 - uniform()) if n == 1 else gamma(n, 1.0) for _, n in counted]
    return sum(weight * value for weight, (value, _) in zip(weights, counted, strict=True)), sum(weights)


def _stratified(groups: list[list[tuple[float, int]]], rng: Random) -> tuple[float, float]:
    """As `_weighted`, each group's values weighing together as much as another's."""
    drawn = [_weighted(counted, rng) for counted in groups]
    weight = sum(each for _, each in drawn)
    return weight * fmean(total / each for total, each in drawn), weight


def _ends(
    mean: float, draws: Iterable[tuple[float, float]], bounds: tuple[float, float], rng: Random, n: int
) -> Interval:
    lows, highs = [], []
    for total, weight in draws:
        imagined = rng.expovariate(1.0)
        lows.append((total + imagined * bounds[0]) / (weight + imagined))
        highs.append((total + imagined * bounds[1]) / (weight + imagined))
    cut = round(N_RESAMPLES * 0.025)
    low, high = sorted(lows)[cut], sorted(highs)[-1 - cut]
    return Interval(mean, max(bounds[0], min(low, mean)), min(bounds[1], max(high, mean)), n)


def _random_flips(sizes: list[int], observed: int, rng: Random) -> float:
    # One random byte picks the signs of eight differences at once, from a table of their 256 sums.
    tables = [_signed_sums(sizes[start : start + 8]) for start in range(0, len(sizes), 8)]
    n_bytes = len(tables)
    hits = sum(sum(map(getitem, tables, rng.randbytes(n_bytes))) >= observed for _ in range(N_FLIPS))
    return (hits + 1) / (N_FLIPS + 1)


def _signed_sums(sizes: list[int]) -> list[int]:
    return [sum(s if byte >> i & 1 else -s for i, s in enumerate(sizes)) for byte in range(256)]


def _paired(differences: Mapping[str, float], seed: int) -> Paired:
    values = list(differences.values())
    difference = _bootstrap(values, _DIFFERENCES, seed)
    return Paired(len(values), difference, _two_sided(values, seed))


def _two_sided(differences: Sequence[float], seed: int) -> float:
    upper = sign_flip(differences, seed=seed)
    lower = sign_flip([-d for d in differences], seed=seed)
    return min(1.0, 2 * min(upper, lower))


def _differences(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    _check([*before.values(), *after.values(), 0.0], 0.0, 1.0)
    common = sorted(before.keys() & after.keys())
    if not common:
        raise ValueError(
            f"no question in common ({len(before)} scored before, {len(after)} after): "
            "score both harnesses on the same questions"
        )
    return {question: after[question] - before[question] for question in common}


def _table(runs: Sequence[Mapping[str, float]]) -> list[tuple[float, ...]]:
    """One row a common question, one column a run."""
    if not runs:
        raise ValueError("no run to pool: give at least one")
    common = sorted(set(runs[0]).intersection(*runs[1:]))
    if not common:
        raise ValueError(f"the {len(runs)} runs share no question: pool runs scored on the same questions")
    return [tuple(run[question] for run in runs) for question in common]


def _check(scores: Sequence[float], least: float, most: float) -> None:
    if not scores:
        raise ValueError("no score: at least one scored question is needed")
    for score in scores:
        if not least <= score <= most:  # also false for NaN
            raise ValueError(
                f"score {score} is outside [{least:g}, {most:g}]: a task's scorer broke its contract"
            )


def never_told_apart(n: int, n_contrasts: int, alpha: float = ALPHA) -> str:
    """Why no two of several methods can ever be told apart on `n` questions; empty where two can.

    Their p values are two-sided, and Holm's adjustment multiplies the smallest by the number of contrasts.
    """
    hopeless = _too_few(n, alpha / (2 * n_contrasts)) if n_contrasts else ""
    contrasts = "1 contrast" if n_contrasts == 1 else f"{n_contrasts} contrasts"
    return f"with {contrasts}, {hopeless}" if hopeless else ""


def _word(accepted: bool) -> str:
    return "accepted" if accepted else "refused"


def _too_few(n: int, level: float) -> str:
    least = least_questions(level)
    if n >= least:
        return ""
    return f"{n} questions can never pass, the least is {least}, all of them better"
