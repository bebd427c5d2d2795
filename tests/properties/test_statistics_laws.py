"""Laws of the intervals and tests: bounds, order, monotony, exactness."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loriner.report.comparison.results import holm
from loriner.statistics import (
    ALPHA,
    interval,
    least_questions,
    never_told_apart,
    paired,
    pooled,
    pooled_paired,
    sign_flip,
    stratified,
)

NOISE = 0.03
"""How far an end moves from one set of draws to another, in the smallest samples."""

scores = st.floats(0, 1, allow_nan=False)
samples = st.lists(scores, min_size=1, max_size=25)
grid = st.sampled_from([-1.0, -2 / 3, -1 / 3, 0.0, 1 / 3, 2 / 3, 1.0])


@settings(max_examples=40, deadline=None)
@given(samples)
def test_an_interval_holds_its_mean_has_width_and_stays_in_bounds(sample: list[float]) -> None:
    found = interval(sample)
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert found.high - found.low > 0.01
    assert found.n == len(sample)


@settings(max_examples=40, deadline=None)
@given(samples, st.randoms(use_true_random=False))
def test_order_of_questions_is_nothing(sample: list[float], rng) -> None:
    shuffled = rng.sample(sample, len(sample))
    assert interval(shuffled) == interval(sample)
    names = {str(i): s for i, s in enumerate(sample)}
    zero = dict.fromkeys(names, 0.0)
    backwards = dict(reversed(list(names.items())))
    assert paired(zero, names) == paired(zero, backwards)


@settings(max_examples=20)
@given(st.lists(samples, min_size=1, max_size=4))
def test_groups_weigh_the_same_and_one_group_is_an_interval(groups: list[list[float]]) -> None:
    found = stratified(groups)
    assert found.mean == pytest.approx(sum(sum(each) / len(each) for each in groups) / len(groups))
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert found.n == sum(map(len, groups))
    assert stratified(groups[:1]) == interval(groups[0])


def test_many_tasks_say_more_than_one() -> None:
    one = [0.0, 1.0, 1.0, 0.0, 1.0]
    first, three = interval(one), stratified([one, one, one])
    assert three.high - three.low < first.high - first.low


@settings(max_examples=40, deadline=None)
@given(samples, st.data())
def test_a_higher_score_lowers_no_end(sample: list[float], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(sample) - 1))
    raised = [*sample[:index], data.draw(st.floats(sample[index], 1)), *sample[index + 1 :]]
    before, after = interval(sample), interval(raised)
    assert after.low >= before.low - NOISE
    assert after.high >= before.high - NOISE


@settings(max_examples=60, deadline=None)
@given(st.lists(grid, min_size=1, max_size=9))
def test_small_sign_flip_equals_full_enumeration(differences: list[float]) -> None:
    observed = sum(differences)
    sums = [
        sum(s * abs(d) for s, d in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    exact = sum(total >= observed - 1e-9 for total in sums) / len(sums)
    assert sign_flip(differences) == pytest.approx(exact, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.lists(scores, min_size=1, max_size=12), st.data())
def test_swapping_the_two_turns_the_difference(after: list[float], data: st.DataObject) -> None:
    before = data.draw(st.lists(scores, min_size=len(after), max_size=len(after)))
    a = {str(i): s for i, s in enumerate(before)}
    b = {str(i): s for i, s in enumerate(after)}
    there, back = paired(a, b), paired(b, a)
    assert there.difference.mean == pytest.approx(-back.difference.mean, abs=1e-12)
    assert there.p_value == pytest.approx(back.p_value, abs=1e-9)
    assert -1 <= there.difference.low <= there.difference.high <= 1


@settings(deadline=None)
@given(st.integers(1, 200))
def test_least_questions_is_the_first_that_can_pass(n_looks: int) -> None:
    level = 0.05 / n_looks
    least = least_questions(level)
    assert sign_flip([1.0] * least) <= level
    assert least == 1 or sign_flip([1.0] * (least - 1)) > level


@settings(max_examples=25, deadline=None)
@given(st.lists(samples, min_size=2, max_size=4))
def test_pooling_is_bounded_and_blind_to_the_order_of_runs(runs: list[list[float]]) -> None:
    named = [{str(i): s for i, s in enumerate(run)} for run in runs]
    found = pooled(named)
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert found.n == min(len(run) for run in runs)
    assert pooled(named[::-1]).mean == pytest.approx(found.mean)
    pairs = [(named[0], run) for run in named]
    assert -1 <= pooled_paired(pairs).difference.mean <= 1


@given(st.integers(1, 14), st.integers(1, 15))
def test_no_difference_can_be_told_where_the_widest_cannot(n: int, n_contrasts: int) -> None:
    worst, best = ({str(number): score for number in range(n)} for score in (0.0, 1.0))
    adjusted = holm([paired(worst, best).p_value] * n_contrasts)[0]
    assert bool(never_told_apart(n, n_contrasts)) == (adjusted > ALPHA)
