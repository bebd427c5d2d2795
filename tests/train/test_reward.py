"""Worked numbers of the reward, and whose fault costs what."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sums import CRASH, EMPTY, GOOD, HALF, SEED, Solver, Sums, edit, exercise, laboratory

from loriner.errors import ConfigError
from loriner.train.reward import Reward, Rewarder

WORKED = [
    ("all valid and all right", edit(GOOD), 1.0, 1.30),
    ("all valid, right on half", edit(HALF), 0.5, 0.80),
    ("runs, never right", edit(SEED, GOOD), 0.0, 0.30),
    ("returns nothing: no completion share", edit(EMPTY), 0.0, 0.15),
    ("crashes: no completion share", edit(CRASH), 0.0, 0.15),
    ("prose", "I would not change a thing.", 0.0, 0.0),
    (
        "parsed only",
        "<<<<<<< SEARCH\nnot there\n=======\nx = 1\n>>>>>>> REPLACE\n",
        0.0,
        0.05,
    ),
    (
        "applies, breaks the syntax",
        "<<<<<<< SEARCH\ndef solve(model, question):\n=======\ndef solve(model, question)\n>>>>>>> REPLACE\n",
        0.0,
        0.05,
    ),
]


@pytest.mark.parametrize(
    ("completion", "score", "total"), [row[1:] for row in WORKED], ids=[r[0] for r in WORKED]
)
async def test_worked_numbers(tmp_path: Path, completion: str, score: float, total: float) -> None:
    start = GOOD if completion == edit(SEED, GOOD) else SEED
    async with laboratory(tmp_path) as lab:
        rewarder = Rewarder(lab=lab, tasks={"sums": Sums()})
        reward = await rewarder.reward(exercise(harness=start), completion)
    assert reward is not None
    assert reward.score == pytest.approx(score)
    assert reward.total == pytest.approx(total)


@given(st.floats(0, 1), st.booleans(), st.floats(0, 1))
def test_the_bonus_never_outweighs_a_perfect_score(score: float, parsed: bool, rate: float) -> None:
    reward = Reward(score=score, parsed=parsed, applied=parsed, completion_rate=rate if parsed else 0.0)
    assert 0.0 <= reward.validity <= 0.30 + 1e-9
    assert reward.total == pytest.approx(score + reward.validity)


async def test_a_dead_solver_gives_no_reward_and_never_a_low_one(tmp_path: Path) -> None:
    solver = Solver()
    solver.down = True
    async with laboratory(tmp_path, solver) as lab:
        rewarder = Rewarder(lab=lab, tasks={"sums": Sums()})
        found = await rewarder.scored(exercise(), edit(GOOD))
        assert found.reward is None
        assert found.rollout.candidate is not None
        solver.down = False
        again = await rewarder.reward(exercise(), edit(GOOD))
    assert again is not None
    assert again.total == pytest.approx(1.30)


async def test_a_completion_without_a_candidate_is_scored_even_when_the_solver_is_dead(
    tmp_path: Path,
) -> None:
    solver = Solver()
    solver.down = True
    async with laboratory(tmp_path, solver) as lab:
        reward = await Rewarder(lab=lab, tasks={"sums": Sums()}).reward(exercise(), "prose")
    assert reward is not None
    assert reward.total == 0.0


async def test_equal_candidates_share_one_evaluation(tmp_path: Path) -> None:
    solver = Solver()
    async with laboratory(tmp_path, solver) as lab:
        rewarder = Rewarder(lab=lab, tasks={"sums": Sums()})
        rows = [exercise()] * 8
        found = await rewarder.scored_all(rows, [edit(GOOD)] * 8, range(8))
    assert solver.n_calls == 8, "four for the candidate, four for the program that it revises"
    assert {each.before for each in found} == {0.0}
    assert {each.reward.total for each in found if each.reward} == {1.30}
    assert [each.rollout.index for each in found] == list(range(8))


async def test_one_deadline_ends_all_that_share_an_evaluation_and_cancels_nobody(tmp_path: Path) -> None:
    solver = Solver()
    solver.delay_s = 30.0
    async with laboratory(tmp_path, solver) as lab:
        rewarder = Rewarder(lab=lab, tasks={"sums": Sums()}, deadline_s=0.3)
        found = await asyncio.wait_for(
            rewarder.scored_all([exercise()] * 4, [edit(GOOD)] * 4, range(4)), timeout=20
        )
    assert [each.reward for each in found] == [None] * 4


async def test_an_exercise_of_another_suite_is_refused(tmp_path: Path) -> None:
    async with laboratory(tmp_path) as lab:
        with pytest.raises(ConfigError, match="sums"):
            await Rewarder(lab=lab, tasks={}).reward(exercise(), edit(GOOD))
