"""What acceptance says, by hand."""

import pytest

from loriner.search.acceptance import Stage, never_accepts, ruling_on, schedule


def block(start: int, scores: list[float]) -> dict[str, float]:
    return {str(start + i): score for i, score in enumerate(scores)}


def test_six_better_of_twelve_pass_where_one_test_is_made_and_not_where_ten_may_be() -> None:
    before, after = block(0, [0.0] * 12), block(0, [1.0] * 6 + [0.0] * 6)
    once, often = (schedule("paired", 12, rounds=rounds, candidates=1) for rounds in (1, 10))
    accepted = ruling_on(once, [list(before)], before, after, confirmation=1)
    assert accepted.state == "accept" and "6 better, 0 worse" in accepted.reason
    refused = ruling_on(often, [list(before)], before, after, confirmation=2)
    assert refused.state == "refuse" and refused.began
    assert refused.reason.endswith("better on 1 more question, it would be accepted")


def test_a_leader_of_ten_is_not_tested_on_the_questions_that_chose_it() -> None:
    plan = schedule("paired", 32, rounds=1, candidates=10)
    assert plan.stages == (Stage(0, 7, 10), Stage(7, 32, 1))
    before = block(0, [0.0] * 32)
    lucky = block(0, [1.0] * 7 + [0.0] * 25)
    asked = [[str(i) for i in range(stage.start, stage.end)] for stage in plan.stages]
    verdicts = [ruling_on(plan, asked[:n], before, lucky, confirmation=1) for n in (1, 2)]
    assert [each.state for each in verdicts] == ["more", "refuse"]
    assert [each.began for each in verdicts] == [True, True]
    assert "+0.000 on 25 questions (0 better, 0 worse)" in verdicts[-1].reason


def test_a_leader_that_is_not_ahead_begins_no_confirmation() -> None:
    plan = schedule("paired", 32, rounds=3, candidates=10)
    same = block(0, [1.0] * 32)
    asked = [[str(i) for i in range(stage.start, stage.end)] for stage in plan.stages[:1]]
    verdict = ruling_on(plan, asked, same, same, confirmation=1)
    assert verdict.state == "refuse" and not verdict.began


def test_always_and_mean_mean_what_they_say() -> None:
    high, low = block(0, [1.0, 1.0, 0.0]), block(0, [0.0, 1.0, 0.0])
    for rule, up, down in (("always", "accept", "accept"), ("mean", "accept", "refuse")):
        plan = schedule(rule, 3, rounds=5, candidates=2)
        assert len(plan.stages) == 1 and never_accepts(plan) == ""
        assert ruling_on(plan, [list(high)], low, high, confirmation=1).state == up
        assert ruling_on(plan, [list(high)], high, low, confirmation=1).state == down


def test_a_question_without_a_score_on_both_sides_does_not_count() -> None:
    plan = schedule("paired", 12, rounds=1, candidates=1)
    before, after = block(0, [0.0] * 12), block(0, [1.0] * 5)
    verdict = ruling_on(plan, [list(before)], before, after, confirmation=1)
    assert verdict.state == "accept" and "on 5 questions" in verdict.reason
    assert ruling_on(plan, [list(before)], before, {}, confirmation=1).state == "refuse"


def test_too_small_a_pool_says_so() -> None:
    assert never_accepts(schedule("paired", 5, rounds=1, candidates=1)) == ""
    said = never_accepts(schedule("paired", 4, rounds=1, candidates=1))
    assert said.startswith("4 grade questions are too few")


@pytest.mark.parametrize(("n", "rounds", "candidates"), [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_counts_below_one_are_errors(n: int, rounds: int, candidates: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        schedule("paired", n, rounds=rounds, candidates=candidates)


def test_no_stage_too_many_or_an_unknown_rule_is_an_error() -> None:
    plan = schedule("paired", 4, rounds=1, candidates=1)
    for asked, confirmation in (([], 1), ([["0"], ["1"]], 1), ([["0"]], 0)):
        with pytest.raises(ValueError, match="at least 1"):
            ruling_on(plan, asked, {"0": 0.0}, {"0": 1.0}, confirmation=confirmation)
    with pytest.raises(ValueError, match="use one of"):
        schedule("median", 4, rounds=1, candidates=1)  # type: ignore[arg-type]
