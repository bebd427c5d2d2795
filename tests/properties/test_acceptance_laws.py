"""Laws of acceptance: the level over a whole run, order, monotony, stages, and hostile input."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loriner.search.acceptance import Ruling, Schedule, level, never_accepts, ruling_on, schedule
from loriner.statistics import ALPHA

Scores = dict[str, float]
counts = st.integers(1, 12)
pools = st.integers(1, 200)
partial = st.sampled_from([0.0, 0.25, 0.5, 0.61, 1.0])
low = st.sampled_from([0.0, 0.25, 0.5])


def ids(plan: Schedule, n_stages: int) -> list[list[str]]:
    return [[str(i) for i in range(stage.start, stage.end)] for stage in plan.stages[:n_stages]]


def walk(plan: Schedule, before: Scores, after: Scores, confirmation: int = 1) -> Ruling:
    """The last verdict on a leader that is scored for as long as the rule asks for more."""
    for n in range(1, len(plan.stages) + 1):
        verdict = ruling_on(plan, ids(plan, n), before, after, confirmation=confirmation)
        if verdict.state != "more":
            break
    return verdict


def accepts_anything(plan: Schedule, candidates: int, draw: Callable[[int], float]) -> bool:
    """Whether a run accepts a candidate where all programs are drawn alike, by question."""
    n = plan.n_pool
    current = {str(i): draw(i) for i in range(n)}
    confirmation = 1
    for _ in range(plan.rounds):
        alive = [{str(i): draw(i) for i in range(n)} for _ in range(candidates)]
        for place, stage in enumerate(plan.stages, 1):
            alive = sorted(
                alive[: stage.n_candidates], key=lambda each: -sum(each[str(i)] for i in range(stage.end))
            )
            verdict = ruling_on(plan, ids(plan, place), current, alive[0], confirmation=confirmation)
            if verdict.state != "more":
                break
        if verdict.state == "accept":
            return True
        confirmation += verdict.began
    return False


@pytest.mark.parametrize(("rounds", "candidates"), [(1, 10), (3, 4), (8, 1)])
@pytest.mark.parametrize("kind", ["right or wrong", "partial credit"])
def test_a_run_in_which_nothing_differs_accepts_at_its_level(rounds: int, candidates: int, kind: str) -> None:
    rng = Random(f"{rounds} {candidates} {kind}")
    hard = [rng.random() for _ in range(64)]
    plan = schedule("paired", 64, rounds=rounds, candidates=candidates)

    def draw(question: int) -> float:
        if kind == "right or wrong":
            return float(rng.random() < hard[question])
        return rng.choice([0.0, 0.25, 0.5, 1.0]) * (rng.random() < 0.7)

    n = 150
    accepted = sum(accepts_anything(plan, candidates, draw) for _ in range(n))
    assert accepted <= 15  # 7.5 are allowed on average; more than 15 come once in 200 such tests


def test_a_clear_gain_is_accepted_early_and_a_loss_is_dropped_early() -> None:
    plan = schedule("paired", 144, rounds=10, candidates=1)
    zero, one = ({str(i): score for i in range(144)} for score in (0.0, 1.0))
    first = ids(plan, 1)
    assert ruling_on(plan, first, zero, one, confirmation=1).state == "accept"
    assert ruling_on(plan, first, one, zero, confirmation=1).state == "refuse"


@given(pools, counts, counts)
def test_stages_cover_the_pool_once_with_ever_fewer_candidates(n: int, rounds: int, candidates: int) -> None:
    for rule in ("paired", "mean", "always"):
        plan = schedule(rule, n, rounds=rounds, candidates=candidates)
        asked = [i for stage in plan.stages for i in range(stage.start, stage.end)]
        assert asked == list(range(n))
        fields = [stage.n_candidates for stage in plan.stages]
        assert fields == sorted(fields, reverse=True) and fields[0] <= candidates


@given(counts, st.sampled_from([1, 4, 10]))
def test_the_levels_of_a_run_add_to_alpha(rounds: int, candidates: int) -> None:
    plan = schedule("paired", 64, rounds=rounds, candidates=candidates)
    levels = [level(plan, k) for k in range(1, rounds + 1)]
    assert sum(levels) == pytest.approx(ALPHA)
    assert levels == sorted(levels, reverse=True)
    assert level(plan, rounds + 1) == 0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(partial, partial), min_size=40, max_size=40), counts, st.randoms())
def test_the_order_within_a_block_and_of_the_scores_is_nothing(
    pairs: list[tuple[float, float]], candidates: int, rng: Random
) -> None:
    plan = schedule("paired", 40, rounds=3, candidates=candidates)
    before, after = ({str(i): pair[side] for i, pair in enumerate(pairs)} for side in (0, 1))
    for n in range(1, len(plan.stages) + 1):
        asked = ids(plan, n)
        mixed = [rng.sample(block, len(block)) for block in asked]
        turned = dict(reversed(list(after.items())))
        there = ruling_on(plan, asked, before, after, confirmation=1)
        assert ruling_on(plan, mixed, before, turned, confirmation=1) == there


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(low, partial), min_size=30, max_size=30),
    st.integers(0, 29),
    st.sampled_from([1, 4]),
)
def test_a_better_answer_on_the_block_asked_last_never_turns_accept_into_refuse(
    pairs: list[tuple[float, float]], which: int, candidates: int
) -> None:
    plan = schedule("paired", 30, rounds=2, candidates=candidates)
    before, after = ({str(i): pair[side] for i, pair in enumerate(pairs)} for side in (0, 1))
    last = plan.stages[-1]
    better = after | {str(max(which, last.start)): 1.0}
    asked = ids(plan, len(plan.stages))
    if ruling_on(plan, asked, before, after, confirmation=1).state == "accept":
        assert ruling_on(plan, asked, before, better, confirmation=1).state == "accept"


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), counts, st.sampled_from([1, 2, 4, 10]), st.integers(1, 12))
def test_never_is_said_exactly_where_better_on_each_is_not_enough(
    n: int, rounds: int, candidates: int, confirmation: int
) -> None:
    plan = schedule("paired", n, rounds=rounds, candidates=candidates)
    zero, one = ({str(i): score for i in range(n)} for score in (0.0, 1.0))
    passed = walk(plan, zero, one, confirmation).state == "accept"
    assert passed == (never_accepts(plan, confirmation=confirmation) == "")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(partial, partial), min_size=1, max_size=60), counts, st.integers(1, 14))
def test_a_walk_ends_with_an_answer(
    pairs: list[tuple[float, float]], candidates: int, confirmation: int
) -> None:
    plan = schedule("paired", len(pairs), rounds=12, candidates=candidates)
    before, after = ({str(i): pair[side] for i, pair in enumerate(pairs)} for side in (0, 1))
    verdict = walk(plan, before, after, confirmation)
    assert verdict.state in ("accept", "refuse")
    assert walk(plan, before, before, confirmation).state == "refuse"


@pytest.mark.parametrize("score", [-0.1, 1.5, float("nan"), float("inf")])
def test_a_score_out_of_bounds_is_an_error(score: float) -> None:
    plan = schedule("paired", 4, rounds=1, candidates=1)
    with pytest.raises(ValueError, match="outside"):
        ruling_on(plan, ids(plan, 1), {"0": 0.0}, {"0": score}, confirmation=1)
