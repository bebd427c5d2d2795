"""Which questions a round asks of which candidates, and whether the leader replaces the current program.

The grade questions are a pool in a fixed order. A round goes through stages. The first stage scores all its
candidates, later stages the best so far, the last ones the leader alone. The current program answers the same
questions. After each stage `ruling_on` says accept, refuse or more.

The test is an exact sign-flip test on the paired differences, looked at after each block, with the level
spent in proportion to the questions of the test asked so far. Sources: Lan and DeMets, Discrete sequential
boundaries for clinical trials, Biometrika 70 (1983), for the spending; Jamieson and Nowak, Best-arm
identification algorithms (CISS 2014), for dropping candidates by halves; Foster and Stine,
Alpha-investing, JRSS B 70 (2008), for a level that is whole again after an acceptance. A test by betting
(Waudby-Smith and Ramdas, JRSS B 86, 2024) may stop anywhere, which blocks do not need.

All of it is a function of the scores and of a count, so a resumed run walks the same path.

Not guaranteed: the level where two programs are equal in the mean only and partial credit is lopsided (many
small gains, few large losses); signs are then no fair coins. With right/wrong scores they are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from loriner.statistics import ALPHA, RULES, Rule, accepts, differences_on, seen_in_words

State = Literal["accept", "refuse", "more"]

_GRID = 60
"""Differences are rounded to 1/60: halves, thirds, quarters, fifths and tenths stay what they are."""
_CHOOSING = 0.22
"""Share of the pool on which the leader is chosen among several candidates: best in bench/acceptance.py."""
_KEPT = 0.75
"""Share of the candidates that goes on to the next stage."""
_LEAST_STAGE = 4
_LEAST_BLOCK = 16
_MOST_BLOCKS = 6
_MOST_BLOCKS_AFTER_CHOICE = 3
"""Blocks of a test: more of them save trials and cost power, and a chosen leader is seldom dropped."""
_MOST_FURTHER = 40
"""A refusal says how many further questions would confirm the leader, if they are no more than this."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A block of the pool."""

    start: int
    end: int
    """Places in the pool, from `start` up to before `end`."""
    n_candidates: int
    """Candidates scored on it: those with the best mean so far. 1 is the leader."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The stages of every round of a run."""

    rule: Rule
    rounds: int
    stages: tuple[Stage, ...]

    @property
    def n_pool(self) -> int:
        """Questions of the pool."""
        return self.stages[-1].end

    @property
    def n_choosing(self) -> int:
        """Stages on which the leader is chosen among several; their questions do not count for the test."""
        return sum(stage.n_candidates > 1 for stage in self.stages)

    @property
    def tested(self) -> tuple[Stage, ...]:
        """The stages whose questions count for the test."""
        return self.stages[self.n_choosing :]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is to be done with the leader of a round."""

    state: State
    """`more`: score both programs on the next stage."""
    reason: str
    """The figures that decided, in words; after a refusal also what would confirm the candidate."""
    began: bool
    """Whether a test of the leader began. Each one uses up a part of the error level."""


def schedule(rule: Rule, n_pool: int, *, rounds: int, candidates: int) -> Schedule:
    """The stages of a run over a pool of `n_pool` grade questions.

    `always` and `mean` score all candidates on the whole pool. `paired` chooses the leader of several
    candidates on the first 22 % and tests it on the rest. A quarter of the candidates leaves with each
    stage. A single candidate is tested on the whole pool.

    Raises:
        ValueError: an unknown rule, or a count below 1.
    """
    if min(n_pool, rounds, candidates) < 1:
        raise ValueError(f"{n_pool} questions, {rounds} rounds, {candidates} candidates: each is at least 1")
    if rule not in RULES:
        raise ValueError(f"rule {rule!r}: use one of {RULES}")
    if rule != "paired":
        return Schedule(rule, rounds, (Stage(0, n_pool, candidates),))
    choosing = _choosing(n_pool, candidates) if candidates > 1 else []
    return Schedule(rule, rounds, (*choosing, *_blocks(choosing[-1].end if choosing else 0, n_pool)))


def ruling_on(
    plan: Schedule,
    asked: Sequence[Collection[str]],
    before: Mapping[str, float],
    after: Mapping[str, float],
    *,
    confirmation: int,
) -> Ruling:
    """What to do with the leader whose scores are `after`, where the current program has `before`.

    A leader among several is tested on questions that had no part in choosing it. It gets one test, or none
    if it is not ahead of the current program. A single candidate is tested on all its questions. If no
    candidate of a run differs from the current program, the chance that the run accepts anything is at most
    `ALPHA`.

    Args:
        asked: The question ids of each stage up to here, in the order of `plan.stages`; a question without
            a score on both sides does not count.
        confirmation: 1 plus the confirmations begun since the last acceptance (or the start).

    Raises:
        ValueError: no stage or too many, `confirmation` below 1, or a score outside [0, 1].
    """
    if not 0 < len(asked) <= len(plan.stages) or confirmation < 1:
        raise ValueError(
            f"{len(asked)} stages of {len(plan.stages)}, confirmation {confirmation}: each is at least 1"
        )
    if plan.rule != "paired":
        decision = accepts(plan.rule, before, after)
        return Ruling("accept" if decision.accepted else "refuse", decision.reason, True)
    blocks = [differences_on(before, after, block) for block in asked]
    return _weighed(plan, blocks, confirmation)


def never_accepts(plan: Schedule, *, confirmation: int = 1) -> str:
    """Why even a candidate that is better on every question could not pass; empty if it could."""
    if plan.rule != "paired":
        return ""
    blocks = [[1.0] * (stage.end - stage.start) for stage in plan.stages]
    rulings = (_weighed(plan, blocks[: n + 1], confirmation) for n in range(len(blocks)))
    if any(ruling.state == "accept" for ruling in rulings):
        return ""
    n_tested = sum(stage.end - stage.start for stage in plan.tested)
    return (
        f"{plan.n_pool} grade questions are too few: {n_tested} of them test the leader, and one better on "
        f"all of these would not pass at level {level(plan, confirmation):.2g}"
    )


def level(plan: Schedule, confirmation: int) -> float:
    """The error level of the k-th confirmation: 1/k of the first one's.

    The levels of as many confirmations as there are rounds add up to `ALPHA`; beyond that the level is 0.
    """
    if confirmation > plan.rounds:
        return 0.0
    return ALPHA / confirmation / math.fsum(1 / k for k in range(1, plan.rounds + 1))


# Below: stages, the test, and words.


def _choosing(n_pool: int, candidates: int) -> list[Stage]:
    """Stages on the first part of the pool, of about equal size."""
    fields = [candidates]
    while (kept := min(fields[-1] - 1, round(fields[-1] * _KEPT))) > 1:
        fields.append(kept)
    n = max(1, round(n_pool * _CHOOSING))
    n_stages = max(1, min(len(fields), n // _LEAST_STAGE))
    ends = [round(n * i / n_stages) for i in range(n_stages + 1)]
    picked = [fields[len(fields) * i // n_stages] for i in range(n_stages)]
    return [Stage(a, b, field) for (a, b), field in zip(pairwise(ends), picked, strict=True)]


def _blocks(start: int, n_pool: int) -> list[Stage]:
    """Stages of about equal size from `start` to the end of the pool."""
    n, most = n_pool - start, _MOST_BLOCKS_AFTER_CHOICE if start else _MOST_BLOCKS
    n_blocks = max(1, min(n // _LEAST_BLOCK, most))
    ends = [start + round(n * i / n_blocks) for i in range(n_blocks + 1)]
    return [Stage(a, b, 1) for a, b in pairwise(ends) if b > a]


def _weighed(plan: Schedule, blocks: Sequence[Sequence[float]], confirmation: int) -> Ruling:
    n_choosing, left = plan.n_choosing, len(blocks) < len(plan.stages)
    if n_choosing:
        ahead = [d for block in blocks[:n_choosing] for d in block]
        if len(blocks) < n_choosing:
            return Ruling("more", f"choosing the leader: {seen_in_words(ahead)}", False)
        if sum(ahead) <= 0:
            words = f"refused: no candidate is better than the current program, {seen_in_words(ahead)}"
            return Ruling("refuse", words, False)
        if len(blocks) == n_choosing:
            state: State = "more" if left else "refuse"
            return Ruling(state, f"better on the questions that chose it: {seen_in_words(ahead)}", left)
    return _Test(plan, blocks[n_choosing:], confirmation).ruling(left)


@dataclass(slots=True)
class _Test:
    """The test of a leader, on the blocks of questions that count for it."""

    plan: Schedule
    blocks: Sequence[Sequence[float]]
    confirmation: int

    def ruling(self, left: bool) -> Ruling:
        law, crossed, observed = self._law()
        reached = _chance(law, crossed, observed)
        differences = [d for block in self.blocks for d in block]
        seen, at = seen_in_words(differences), level(self.plan, self.confirmation)
        allowed = at * self._share(len(self.blocks))
        figures = f"{seen}; p = {reached:.4f}, needed <= {allowed:.2g} ({self._which()})"
        if observed > 0 and reached <= allowed:
            return Ruling("accept", f"accepted: {figures}", True)
        if left and observed > 0:
            return Ruling("more", f"better so far: {figures}", True)
        return Ruling("refuse", f"refused: {figures}{_further(law, crossed, observed, at)}", True)

    def _law(self) -> tuple[dict[int, float], float, int]:
        """The chance of each sum under random signs, without those that crossed a bound after an earlier
        block; the chance of having crossed one; and the sum that was seen.
        """
        law, crossed, observed = {0: 1.0}, 0.0, 0
        at = level(self.plan, self.confirmation)
        for index, block in enumerate(self.blocks):
            if index:
                law, crossed = _stopped(law, crossed, at * self._share(index))
            units = [round(d * _GRID) for d in block]
            law, observed = _spread(law, units), observed + sum(units)
        return law, crossed, observed

    def _share(self, n_blocks: int) -> float:
        """The share of the test's questions that its first blocks hold."""
        stages = self.plan.tested
        return (stages[n_blocks - 1].end - stages[0].start) / (stages[-1].end - stages[0].start)

    def _which(self) -> str:
        rounds = self.plan.rounds
        return f"error level {ALPHA:g}" if rounds == 1 else f"test {self.confirmation} of at most {rounds}"


def _chance(law: Mapping[int, float], crossed: float, observed: int) -> float:
    """The chance that random signs do as well: cross an earlier bound, or reach the same sum or more."""
    return min(1.0, crossed + math.fsum(chance for total, chance in law.items() if total >= observed))


def _spread(law: dict[int, float], units: Sequence[int]) -> dict[int, float]:
    for unit in sorted(abs(each) for each in units if each):
        spread: dict[int, float] = {}
        for total, chance in law.items():
            half = chance / 2
            spread[total + unit] = spread.get(total + unit, 0.0) + half
            spread[total - unit] = spread.get(total - unit, 0.0) + half
        law = spread
    return law


def _stopped(law: dict[int, float], crossed: float, allowed: float) -> tuple[dict[int, float], float]:
    """The sums that stay below the bound, with their chances, and the chance of having crossed it by now.

    The latter is at most `allowed`.
    """
    alive = dict(law)
    for total in sorted(law, reverse=True):
        if total <= 0 or crossed + law[total] > allowed:
            break
        crossed += alive.pop(total)
    return alive, crossed


def _further(law: dict[int, float], crossed: float, observed: int, at: float) -> str:
    if observed <= 0:
        return ""
    for n in range(1, _MOST_FURTHER + 1):
        law, observed = _spread(law, [_GRID]), observed + _GRID
        if _chance(law, crossed, observed) <= at:
            return f"; better on {n} more question{'s' if n > 1 else ''}, it would be accepted"
    return ""
