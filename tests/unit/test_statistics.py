"""Intervals that cover, tests that are exact, and a rule that does not take luck for gain."""

import math
import time
from random import Random

import pytest

from loriner.statistics import Interval, accepts, interval, paired, plateau, pooled, pooled_paired, sign_flip


def named(scores: list[float]) -> dict[str, float]:
    return {f"q{i}": float(s) for i, s in enumerate(scores)}


def test_all_wrong_and_all_right_have_honest_widths() -> None:
    for n in (1, 5, 20, 100):
        wrong, right = interval([0.0] * n), interval([1.0] * n)
        exact = 1 - 0.025 ** (1 / n)  # Clopper-Pearson
        assert wrong.low == 0.0 and wrong.high == pytest.approx(exact, rel=0.1)
        assert right.high == 1.0 and 1 - right.low == pytest.approx(exact, rel=0.1)


def test_an_empty_or_impossible_sample_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="at least one"):
        interval([])
    with pytest.raises(ValueError, match=r"1\.5 is outside"):
        interval([0.0, 1.5])
    with pytest.raises(ValueError, match="nan is outside"):
        interval([math.nan])
    with pytest.raises(ValueError, match="no question in common"):
        paired({"a": 1.0}, {"b": 1.0})
    with pytest.raises(ValueError, match="share no question"):
        pooled([{"a": 1.0}, {"b": 1.0}])
    with pytest.raises(ValueError, match="no run"):
        pooled([])


def test_same_seed_same_interval_and_another_seed_moves_it_little() -> None:
    sample = [float(i % 3 == 0) for i in range(60)]
    assert interval(sample, seed=5) == interval(sample, seed=5)
    assert interval(sample, seed=5).low == pytest.approx(interval(sample, seed=6).low, abs=0.04)


@pytest.mark.parametrize(("n", "p"), [(10, 0.1), (20, 0.5), (50, 0.05), (50, 0.8)])
def test_ninety_five_percent_intervals_cover_about_that_often(n: int, p: float) -> None:
    rng, hits, trials = Random(n), 0, 300
    found: dict[int, Interval] = {}
    for _ in range(trials):
        right = sum(rng.random() < p for _ in range(n))
        if right not in found:
            found[right] = interval([1.0] * right + [0.0] * (n - right))
        hits += found[right].low <= p <= found[right].high
    assert hits / trials >= 0.93


def test_paired_reads_only_common_questions_and_knows_a_clear_gain() -> None:
    before = named([0] * 30) | {"only before": 1.0}
    after = named([1] * 12 + [0] * 18) | {"only after": 0.0}
    found = paired(before, after)
    assert found.n == 30
    assert found.difference.mean == pytest.approx(0.4)
    assert 0.15 < found.difference.low < 0.3
    assert found.p_value == pytest.approx(2 * 0.5**12)


def test_equal_harnesses_have_no_difference_and_no_zero_width() -> None:
    found = paired(named([1, 0, 1] * 10), named([1, 0, 1] * 10))
    assert found.p_value == 1.0
    assert found.difference.low < 0 < found.difference.high


def test_sign_test_by_hand() -> None:
    assert sign_flip([1.0] * 5) == pytest.approx(1 / 32)
    assert sign_flip([1.0] * 4 + [-1.0]) == pytest.approx(6 / 32)
    assert sign_flip([0.0] * 9) == 1.0
    assert sign_flip([]) == 1.0


def test_random_flips_agree_with_the_normal_law() -> None:
    rng = Random(1)
    differences = [rng.gauss(0.1, 0.5) for _ in range(300)]
    z = sum(differences) / math.sqrt(sum(d * d for d in differences))
    expected = 0.5 * math.erfc(z / math.sqrt(2))
    assert sign_flip(differences) == pytest.approx(expected, abs=0.01)


def test_rules() -> None:
    before, worse = named([1, 1, 0, 0]), named([0, 1, 0, 0])
    assert accepts("always", before, worse).accepted
    assert not accepts("mean", before, worse).accepted
    assert not accepts("mean", before, before).accepted
    assert accepts("mean", worse, before).accepted
    with pytest.raises(ValueError, match="use one of"):
        accepts("median", before, worse)  # type: ignore[arg-type]


def test_paired_rule_asks_for_its_level_and_says_so() -> None:
    before, after = named([0] * 24), named([1] * 6 + [0] * 18)
    usual, strict = accepts("paired", before, after), accepts("paired", before, after, alpha=0.005)
    assert usual.accepted and "6 better, 0 worse" in usual.reason
    assert not strict.accepted and "needed <= 0.005" in strict.reason


def test_too_few_questions_are_named_with_the_least_that_would_do() -> None:
    decision = accepts("paired", named([0] * 6), named([1] * 6), alpha=0.005)
    assert not decision.accepted
    assert "6 questions can never pass, the least is 8" in decision.reason
    assert accepts("paired", named([0] * 8), named([1] * 8), alpha=0.005).accepted


@pytest.mark.parametrize("p", [0.2, 0.5, 0.8])
def test_twenty_adaptations_that_change_nothing_accept_at_most_two(p: float) -> None:
    n_questions, n_rounds, accepted = 24, 10, 0
    for adaptation in range(20):
        rng = Random(f"{adaptation} {p}")
        draw = [rng.random() for _ in range(n_questions)]  # how hard each question is
        current = named([rng.random() < (p + d) / 2 for d in draw])
        for _ in range(n_rounds):
            candidate = named([rng.random() < (p + d) / 2 for d in draw])
            if accepts("paired", current, candidate, alpha=0.05 / n_rounds).accepted:
                accepted += 1
                current = candidate
    assert accepted <= 2


def test_mean_rule_does_take_luck_for_gain() -> None:
    rng = Random(0)
    lucky = sum(
        accepts(
            "mean",
            named([rng.random() < 0.5 for _ in range(24)]),
            named([rng.random() < 0.5 for _ in range(24)]),
        ).accepted
        for _ in range(100)
    )
    assert lucky > 25  # the reason why `paired` is the default


def test_pooled_runs_are_wider_when_runs_disagree() -> None:
    questions = [float(i % 2) for i in range(40)]
    alike = pooled([named(questions)] * 3)
    apart = pooled([named([0.0] * 40), named(questions), named([1.0] * 40)])
    assert alike.mean == apart.mean == pytest.approx(0.5)
    assert apart.high - apart.low > 1.5 * (alike.high - alike.low)
    assert pooled([named(questions)]).high == pytest.approx(interval(questions).high, abs=0.02)


def test_pooled_pairs_see_a_gain_common_to_all_runs() -> None:
    pairs = [(named([0] * 20), named([1] * n + [0] * (20 - n))) for n in (9, 10, 11)]
    found = pooled_paired(pairs)
    assert found.difference.mean == pytest.approx(0.5)
    assert found.difference.low > 0.1
    assert found.p_value < 0.01


def test_plateau_in_words() -> None:
    early = plateau([0.2, 0.6, 0.6, 0.7, 0.7, 0.7, 0.7, 0.7])
    assert early.first_share == pytest.approx(0.8)
    assert early.last_gain == 3
    assert (
        early.verdict == "Round 1 took 80% of the gain (0.20 to 0.70 in 7 rounds); the last 4 added nothing."
    )
    assert (
        plateau([0.3, 0.1, 0.3]).verdict
        == "After 2 rounds the current program scores no more than the seed (0.30)."
    )
    assert plateau([0.1, 0.1, 0.4]).first_share == 0.0
    assert plateau([0.5]).gain == 0.0


def test_a_thousand_questions_stay_well_under_a_second() -> None:
    rng = Random(3)
    sample = [rng.random() for _ in range(1000)]
    started = time.process_time()
    interval(sample)
    sign_flip([s - 0.5 for s in sample])
    assert time.process_time() - started < 10  # about 0.5 s on an idle core
