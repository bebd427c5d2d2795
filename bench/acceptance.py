"""What each rule of acceptance takes and misses: simulated runs, one better candidate among equal ones.

    python bench/acceptance.py

Needs numpy. One candidate of a run is better by a gain, the others are as good as the current program; scores
are right or wrong, independent of each other. `power`: the better one stands at the end. `false`: a candidate
that is no better was accepted in a run without a better one. `trials`: grade trials with the current
program's, mean over the runs. Rules: `paired` (today's), `fixed` (one sign-flip test on the whole pool for
each leader, 0.05 over all candidates of the run: the rule before), `gepa` (better on a minibatch of 3, then
scored on the whole pool; the best mean stands, arXiv 2507.19457), `mean` (a higher mean on the whole pool).
"""

from __future__ import annotations

import argparse
import time
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from loriner.search.acceptance import Ruling, Schedule, ruling_on, schedule
from loriner.statistics import ALPHA, sign_flip

Scores = np.ndarray
"""Of programs (rows) on questions (columns), 0 or 1."""
POOLS = (32, 64, 128, 147, 256)
RUNS = ((1, 1), (1, 4), (1, 10), (3, 4), (10, 1))
"""Rounds and candidates of a round."""
BAR_FALSE, BAR_POWER, BAR_TRIALS = 0.05, 0.6, 32 * 11
DEFAULT = 147


@dataclass
class Run:
    """One simulated run: a current program, and candidates of which at most one is better."""

    rng: np.random.Generator
    n: int
    rounds: int
    candidates: int
    base: float
    gain: float
    trials: int = 0
    n_current: int = 0
    """Questions that the current program has answered."""
    better: int = field(init=False)
    current: Scores = field(init=False)
    scores: Scores = field(init=False)

    def __post_init__(self) -> None:
        total = self.rounds * self.candidates
        self.better = int(self.rng.integers(total)) if self.gain else -1
        chances = np.full(total, self.base)
        chances[self.better] += self.gain
        self.current = self._drawn(self.base, (1, self.n))[0]
        self.scores = self._drawn(chances[:, None], (total, self.n))

    def _drawn(self, chance: object, shape: tuple[int, int]) -> Scores:
        return (self.rng.random(shape) < chance).astype(int)

    def round(self, number: int) -> range:
        return range(number * self.candidates, (number + 1) * self.candidates)

    def ask(self, n_candidates: int, start: int, end: int) -> None:
        self.trials += n_candidates * (end - start) + max(0, end - self.n_current)
        self.n_current = max(self.n_current, end)

    def accept(self, candidate: int, n: int) -> None:
        self.current, self.n_current = self.scores[candidate], n


@cache
def verdict(plan: Schedule, counts: tuple[tuple[int, int], ...], confirmation: int) -> Ruling:
    """`ruling_on` on right/wrong scores, of which it sees how many are better and worse on each stage."""
    asked, before, after = [], {}, {}
    for number, ((n_better, n_worse), stage) in enumerate(zip(counts, plan.stages, strict=False)):
        names = [f"{number}/{i}" for i in range(stage.end - stage.start)]
        before |= {name: float(n_better <= i < n_better + n_worse) for i, name in enumerate(names)}
        after |= {name: float(i < n_better) for i, name in enumerate(names)}
        asked.append(names)
    return ruling_on(plan, asked, before, after, confirmation=confirmation)


@cache
def flipped(n_better: int, n_worse: int) -> float:
    return sign_flip([1.0] * n_better + [-1.0] * n_worse)


def counted(before: Scores, after: Scores) -> tuple[int, int]:
    return int((after > before).sum()), int((after < before).sum())


def paired(run: Run) -> list[int]:
    """The candidates accepted, in order."""
    plan = schedule("paired", run.n, rounds=run.rounds, candidates=run.candidates)
    accepted, confirmation = list[int](), 1
    for number in range(run.rounds):
        alive = list(run.round(number))
        for place, stage in enumerate(plan.stages, 1):
            alive = alive[: stage.n_candidates]
            run.ask(len(alive), stage.start, stage.end)
            alive.sort(key=lambda each: -run.scores[each, : stage.end].sum())
            leader = run.scores[alive[0]]
            counts = tuple(
                counted(run.current[s.start : s.end], leader[s.start : s.end]) for s in plan.stages[:place]
            )
            found = verdict(plan, counts, confirmation)
            if found.state != "more":
                break
        confirmation += found.began
        if found.state == "accept":
            run.accept(alive[0], stage.end)
            accepted, confirmation = [*accepted, alive[0]], 1
    return accepted


def fixed(run: Run) -> list[int]:
    level = ALPHA / (run.rounds * run.candidates)
    return _whole(run, lambda before, after: flipped(*counted(before, after)) <= level)


def mean(run: Run) -> list[int]:
    return _whole(run, lambda before, after: after.sum() > before.sum())


def _whole(run: Run, better: Callable[[Scores, Scores], bool]) -> list[int]:
    accepted = list[int]()
    for number in range(run.rounds):
        run.ask(run.candidates, 0, run.n)
        leader = max(run.round(number), key=lambda each: run.scores[each].sum())
        if better(run.current, run.scores[leader]):
            run.accept(leader, run.n)
            accepted.append(leader)
    return accepted


def gepa(run: Run) -> list[int]:
    """The minibatch is drawn from other questions than the pool; both programs answer it."""
    run.ask(0, 0, run.n)
    accepted, chance = list[int](), run.base
    for each in range(run.rounds * run.candidates):
        own = run.base + run.gain * (each == run.better)
        run.trials += 6
        if run.rng.binomial(3, own) <= run.rng.binomial(3, chance):
            continue
        run.ask(1, 0, run.n)
        if run.scores[each].sum() > run.current.sum():
            run.accept(each, run.n)
            accepted, chance = [*accepted, each], own
    return accepted


RULES = {"paired": paired, "fixed": fixed, "gepa": gepa, "mean": mean}


@dataclass(frozen=True)
class Found:
    power: float
    false: float
    trials: float


@cache
def simulate(rule: str, n: int, shape: tuple[int, int], gain: float, n_runs: int, base: float = 0.5) -> Found:
    rng = np.random.default_rng([n, *shape, round(gain * 100), round(base * 100)])
    power = false = trials = 0
    for _ in range(n_runs):
        run = Run(rng, n, *shape, base, gain)
        accepted = RULES[rule](run)
        power += bool(gain and accepted and accepted[-1] == run.better)
        false += any(each != run.better for each in accepted)
        trials += run.trials
    return Found(power / n_runs, false / n_runs, trials / n_runs)


def table(n_runs: int) -> None:
    print(f"{'pool':>4} {'rounds x candidates':>20} {'rule':>7} {'false':>6} {'trials':>6}", end="")
    print("   power: 0.1   0.2   0.3   trials at 0.2")
    for n in POOLS:
        for shape in RUNS:
            for rule in RULES:
                null = simulate(rule, n, shape, 0.0, n_runs)
                found = [simulate(rule, n, shape, gain, n_runs) for gain in (0.1, 0.2, 0.3)]
                print(
                    f"{n:4} {shape[0]:>10} x {shape[1]:<7} {rule:>7} {null.false:6.3f} {null.trials:6.0f}",
                    end="",
                )
                print("         " + " ".join(f"{each.power:5.2f}" for each in found), end="")
                print(f"   {found[1].trials:6.0f}", flush=True)


def bases(n_runs: int) -> None:
    print(f"\npaired, pool {DEFAULT}, other base rates: false, power at a gain of 0.2")
    for base in (0.1, 0.3, 0.7):
        for shape in RUNS:
            null = simulate("paired", DEFAULT, shape, 0.0, n_runs, base)
            found = simulate("paired", DEFAULT, shape, 0.2, n_runs, base)
            print(
                f"  base {base:.1f}  {shape[0]:2} x {shape[1]:<2}  {null.false:.3f}  {found.power:.2f}",
                flush=True,
            )


def smallest(n_runs: int) -> None:
    print("\npaired: the smallest gain (from 0.3) that stands at the end in 60 % and 80 % of the runs")
    gains = [step / 20 for step in range(2, 15)]
    for n in (12, 20, *POOLS):
        for shape in RUNS:
            least = [least_gain(gains, n, shape, bar, n_runs) for bar in (0.6, 0.8)]
            print(f"  {n:4} questions, {shape[0]:2} x {shape[1]:<2}: {least[0]:>5} {least[1]:>5}", flush=True)


def least_gain(gains: list[float], n: int, shape: tuple[int, int], bar: float, n_runs: int) -> str:
    place = bisect_left(gains, bar, key=lambda gain: simulate("paired", n, shape, gain, n_runs, 0.3).power)
    return f"{gains[place]:.2f}" if place < len(gains) else "none"


def bars(n_runs: int) -> bool:
    nulls = {shape: simulate("paired", DEFAULT, shape, 0.0, n_runs).false for shape in RUNS}
    found = simulate("paired", DEFAULT, (1, 10), 0.2, n_runs)
    slack = 2 * (BAR_FALSE * (1 - BAR_FALSE) / n_runs) ** 0.5
    held = max(nulls.values()) <= BAR_FALSE + slack
    reached = found.power >= BAR_POWER and found.trials <= BAR_TRIALS
    print(f"\nbars at {DEFAULT} questions, {n_runs} runs")
    print(f"  accepted anything, no candidate better: {nulls} (at most {BAR_FALSE} + {slack:.3f}): {held}")
    print(f"  one of ten better by 0.2: power {found.power:.3f} (at least {BAR_POWER}),", end=" ")
    print(f"trials {found.trials:.0f} (at most {BAR_TRIALS}): {reached}")
    return held and reached


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=400, help="runs of each cell of the tables")
    parser.add_argument("--bars", action="store_true", help="the bars alone")
    arguments = parser.parse_args()
    began = time.monotonic()
    if not arguments.bars:
        table(arguments.runs)
        bases(arguments.runs)
        smallest(arguments.runs)
    held = bars(10 * arguments.runs)
    print(f"{time.monotonic() - began:.0f} s")
    return not held


if __name__ == "__main__":
    raise SystemExit(main())
