"""Laws of what completions are paid; worked numbers through a trainer are in test_grpo.py."""

from __future__ import annotations

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sums import CRASH, EMPTY, GOOD, HALF, edit, exercise

from loriner.propose.proposer import Completion, read
from loriner.train.advantage import Pay
from loriner.train.reward import Reward, Scored

TEXTS = (edit(GOOD), edit(HALF), edit(EMPTY), edit(CRASH), "prose")
CONTEXT = exercise().context


def scored(text: str, score: float, before: float | None) -> Scored:
    rollout = read(CONTEXT, 0, Completion(text))
    applied = rollout.candidate is not None
    reward = Reward(
        score=score if applied else 0.0, parsed=applied, applied=applied, completion_rate=float(applied)
    )
    return Scored(rollout=rollout, reward=reward, before=before)


share = st.integers(0, 8).map(lambda n: n / 8)
groups = st.tuples(share, st.lists(st.tuples(st.sampled_from(TEXTS), share), min_size=2, max_size=8)).map(
    lambda drawn: [scored(text, score, drawn[0]) for text, score in drawn[1]]
)


@given(groups, st.floats(0, 1))
def test_mixed_is_half_of_each_and_a_group_s_own_advantages_add_up_to_nothing(
    group: list[Scored], rarity: float
) -> None:
    by = {name: Pay(estimator=name, rarity=rarity) for name in ("group", "gain", "mixed")}
    gains = by["gain"].gains(group)
    paid = {name: pay.advantages(gains) for name, pay in by.items()}
    assert paid["gain"] == gains
    assert fmean(paid["group"]) == pytest.approx(0)
    halves = [(one + other) / 2 for one, other in zip(paid["group"], paid["gain"], strict=True)]
    assert paid["mixed"] == pytest.approx(halves)


@given(groups)
def test_rarity_takes_from_repeated_gains_only(group: list[Scored]) -> None:
    plain, rare = Pay(rarity=0).gains(group), Pay(rarity=1).gains(group)
    ids = [each.rollout.candidate.id if each.rollout.candidate else "" for each in group]
    for name, before, after in zip(ids, plain, rare, strict=True):
        assert before is not None and after is not None
        if before > 0 and ids.count(name) > 1:
            assert 0 <= after < before
        else:
            assert after == before
    if len({name for name in ids if name}) == 1 and ids.count(max(ids)) > 1:
        assert all(after <= 0 for after in rare if after is not None), "one text alone earns nothing"


@given(groups, st.floats(0, 1))
def test_of_a_loss_a_share_is_paid_and_of_a_gain_all(group: list[Scored], harm: float) -> None:
    whole, part = (Pay(rarity=0, harm=share).gains(group) for share in (1.0, harm))
    for each, before, after in zip(group, whole, part, strict=True):
        assert before is not None and after is not None
        if each.rollout.candidate is None or before >= 0:
            assert after == before
        else:
            assert after == pytest.approx(harm * before)
            assert before <= after <= 0


@given(groups, st.floats(-1, 0))
def test_what_makes_no_candidate_is_paid_the_same_whatever_its_program_scored(
    group: list[Scored], invalid: float
) -> None:
    for each, gain in zip(group, Pay(invalid_gain=invalid).gains(group), strict=True):
        assert each.rollout.candidate is not None or gain == invalid


@pytest.mark.parametrize("estimator", ["group", "gain", "mixed"])
def test_what_could_not_be_scored_moves_nothing(estimator: str) -> None:
    pay = Pay(estimator=estimator, rarity=0)
    lost = Scored(rollout=read(CONTEXT, 0, Completion(TEXTS[0])), reward=None, before=0.25)
    orphan = scored(TEXTS[0], 1.0, None)
    gains = pay.gains([scored(TEXTS[0], 1.0, 0.25), scored(TEXTS[1], 0.5, 0.25), lost, orphan])
    assert gains == [0.75, 0.25, None, None]
    alone = pay.advantages([0.75, 0.25])
    assert pay.advantages(gains) == [*alone, 0.0, 0.0]
    assert pay.advantages([None, None]) == [0.0, 0.0]
