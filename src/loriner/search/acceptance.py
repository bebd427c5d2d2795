"""Which questions a round asks of which candidates, and whether the leader replaces the current program.

The grade questions are a pool in a fixed order. A round walks through stages: on the first all its
candidates are scored, on later ones only the best so far, at last the leader alone; the current program
answers the same questions. After each stage with the leader alone `judge` says accept, refuse or more.

All of it is a function of the scores and of a count, so a resumed run walks the same path.

Not guaranteed: that a candidate which was accepted is better. What is guaranteed is in `judge`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from loriner.statistics import ALPHA, RULES, Rule, accepts, differences_on, seen_in_words

State = Literal["accept", "refuse", "more"]

_GRID = 60
"""Differences are rounded to 1/60: halves, thirds, quarters, fifths and tenths stay what they are."""


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
        """Questions of the pool that the rule uses."""
        return self.stages[-1].end

    @property
    def n_screening(self) -> int:
        """Questions after which one candidate is left, the leader."""
        return next(stage.end for stage in self.stages if stage is self.stages[-1] or stage.n_candidates == 1)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be done with the leader of a round."""

    state: State
    """`more`: score both programs on the next stage."""
    reason: str
    """In words, with the figures that decided and, where it was refused, with what would confirm it."""
    began: bool
    """Whether a confirmation was begun: the leader was ahead where it was chosen. Such a round counts."""


def schedule(rule: Rule, n_pool: int, *, rounds: int, candidates: int) -> Schedule:
    """The stages of a run over a pool of `n_pool` grade questions.

    `always` and `mean` score all candidates on the whole pool. `paired` chooses on the first questions,
    halving the candidates, and confirms the leader on blocks that double.

    Raises:
        ValueError: an unknown rule, or a count below 1.
    """
    if min(n_pool, rounds, candidates) < 1:
        raise ValueError(f"{n_pool} questions, {rounds} rounds, {candidates} candidates: each is at least 1")
    if rule not in RULES:
        raise ValueError(f"rule {rule!r}: use one of {RULES}")
    if rule != "paired":
        return Schedule(rule, rounds, (Stage(0, n_pool, candidates),))
    stages = _screening(n_pool, candidates) if candidates > 1 else []
    return Schedule(rule, rounds, (*stages, *_blocks(stages[-1].end if stages else 0, n_pool)))


def judge(
    plan: Schedule,
    asked: Sequence[Collection[str]],
    before: Mapping[str, float],
    after: Mapping[str, float],
    *,
    confirmation: int,
) -> Verdict:
    """What to do with the leader whose scores are `after`, where the current program has `before`.

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
        return Verdict("accept" if decision.accepted else "refuse", decision.reason, True)
    blocks = [differences_on(before, after, block) for block in asked]
    return _confirmed(plan, blocks, confirmation)


def never_accepts(plan: Schedule, *, confirmation: int = 1) -> str:
    """Why no candidate can pass from here on, were it better on every question; empty where one can."""
    if plan.rule != "paired":
        return ""
    blocks = [[1.0] * (stage.end - stage.start) for stage in plan.stages]
    for n in range(1, len(blocks) + 1):
        if _confirmed(plan, blocks[:n], confirmation).state == "accept":
            return ""
    return (
        f"with {plan.n_pool} grade questions nothing can pass any more: {_fresh(plan, blocks)} count for "
        f"the test at level {level(plan, confirmation):.2g}, all better would not do"
    )


def level(plan: Schedule, confirmation: int) -> float:
    """The level of a confirmation: 1/k of the first one's, all of a run together `ALPHA`."""
    if confirmation > plan.rounds:
        return 0.0
    return ALPHA / confirmation / math.fsum(1 / k for k in range(1, plan.rounds + 1))


# Below: stages, the test, and words.


def _screening(n_pool: int, candidates: int) -> list[Stage]:
    """Stages on at most a third of the pool, each with half the candidates of the one before."""
    stages, start = list[Stage](), 0
    n, limit = candidates, max(1, n_pool // 3)
    while n > 1 and start < limit:
        end = min(limit, start + max(4, limit // 4))
        stages.append(Stage(start, end, n))
        start, n = end, n // 2
    return stages


def _blocks(start: int, n_pool: int) -> list[Stage]:
    """The rest of the pool in four blocks or fewer."""
    size = max(8, math.ceil((n_pool - start) / 4))
    return [Stage(at, min(n_pool, at + size), 1) for at in range(start, n_pool, size)]


def _confirmed(plan: Schedule, blocks: Sequence[Sequence[float]], confirmation: int) -> Verdict:
    n_chosen = sum(stage.n_candidates > 1 for stage in plan.stages) or 1
    seen = [d for block in blocks for d in block]
    if len(blocks) < n_chosen:
        return Verdict("more", f"{seen_in_words(seen)}: still choosing", False)
    chosen = [d for block in blocks[:n_chosen] for d in block]
    if sum(chosen) <= 0:
        return Verdict("refuse", f"refused: not ahead of the current program, {seen_in_words(chosen)}", False)
    if plan.stages[0].n_candidates > 1 and len(blocks) == n_chosen:
        return Verdict("more", f"ahead where it was chosen: {seen_in_words(chosen)}", True)
    at = level(plan, confirmation)
    fresh = blocks if plan.stages[0].n_candidates == 1 else blocks[n_chosen:]
    planned = [stage.end for stage in plan.stages if stage.n_candidates == 1]
    first = 0 if plan.stages[0].n_candidates == 1 else plan.stages[n_chosen].start
    shares = [(end - first) / (planned[-1] - first) for end in planned]
    p, spent = _chance(fresh, shares, at, ahead=plan.stages[0].n_candidates == 1)
    total = [d for block in fresh for d in block]
    figures = f"{seen_in_words(total)}; p = {p:.4f}, asked for <= {spent:.2g}"
    if sum(total) > 0 and p <= spent:
        return Verdict("accept", f"accepted: {figures}", True)
    if len(blocks) < len(plan.stages) and sum(total) > 0:
        return Verdict("more", f"ahead, not confirmed yet: {figures}", True)
    return Verdict("refuse", f"refused: {figures}", True)


def _chance(
    blocks: Sequence[Sequence[float]], shares: Sequence[float], at: float, *, ahead: bool
) -> tuple[float, float]:
    """The chance that random signs come as far as the scores did, and what it may be by now.

    As far: over the bound after an earlier block, or to a sum at least as high after this one. With `ahead`
    among the signs by which the first block is ahead, since only such leaders come here.
    """
    law, crossed, observed = {0: 1.0}, 0.0, 0
    for index, block in enumerate(blocks):
        units = [round(d * _GRID) for d in block]
        law, observed = _spread(law, units), observed + sum(units)
        if ahead and index == 0:
            law = _ahead(law)
        if index < len(blocks) - 1:
            law, crossed = _stopped(law, crossed, at * shares[index])
    reached = math.fsum(chance for total, chance in law.items() if total >= observed)
    return min(1.0, crossed + reached), at * shares[len(blocks) - 1]


def _spread(law: dict[int, float], units: Sequence[int]) -> dict[int, float]:
    for unit in sorted(abs(each) for each in units if each):
        spread: dict[int, float] = {}
        for total, chance in law.items():
            spread[total + unit] = spread.get(total + unit, 0.0) + chance / 2
            spread[total - unit] = spread.get(total - unit, 0.0) + chance / 2
        law = spread
    return law


def _ahead(law: dict[int, float]) -> dict[int, float]:
    kept = {total: chance for total, chance in law.items() if total > 0}
    mass = math.fsum(kept.values())
    return {total: chance / mass for total, chance in kept.items()} if mass else law


def _stopped(law: dict[int, float], crossed: float, allowed: float) -> tuple[dict[int, float], float]:
    """The law of those that go on, and the chance of having crossed by now, which is at most `allowed`."""
    alive = dict(law)
    for total in sorted(law, reverse=True):
        if crossed + law[total] > allowed:
            break
        crossed += alive.pop(total)
    return alive, crossed


def _fresh(plan: Schedule, blocks: Sequence[Sequence[float]]) -> int:
    counted = [stage for stage in plan.stages if stage.n_candidates == 1 or plan.stages[0].n_candidates == 1]
    return sum(stage.end - stage.start for stage in counted)
