"""Rewards that wait for their solver, a door into the engine, and a journal that is cut back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sums import GOOD, SEED, edit, exercise

from loriner.concurrency import opened
from loriner.errors import InfrastructureError
from loriner.propose.proposer import Completion, read
from loriner.train.exercise import Exercise
from loriner.train.journal import DeadSignal, Journal, RolloutRow, require_signal, summary
from loriner.train.patience import patient
from loriner.train.reward import Reward, Scored

GROUP = [exercise(number=number) for number in range(10)]


def scored(total: float | None, text: str = "prose", index: int = 0) -> Scored:
    reward = None if total is None else Reward(score=total, parsed=False, applied=False, completion_rate=0.0)
    return Scored(rollout=read(GROUP[0].context, index, Completion(text)), reward=reward, before=0.0)


class Rewards:
    """Fails the places in `away` as often as given there."""

    def __init__(self, away: dict[int, int]) -> None:
        self.away, self.batches = away, list[list[int]]()

    def __call__(
        self, exercises: Sequence[Exercise], completions: Sequence[str], indices: Sequence[int]
    ) -> list[Scored]:
        self.batches.append(list(indices))
        found = []
        for index in indices:
            left = self.away.get(index, 0)
            self.away[index] = left - 1
            found.append(scored(None if left > 0 else 0.5, index=index))
        return found


def ask(rewards: Any) -> list[Scored]:
    return rewards(GROUP, ["text"] * 10, list(range(10)))  # type: ignore[no-any-return]


def test_only_what_is_missing_is_asked_again() -> None:
    rewards, pauses, said = Rewards({3: 2, 4: 2, 5: 1}), list[float](), list[str]()
    found = ask(patient(rewards, 60.0, said.append, sleep=pauses.append))
    assert all(each.reward is not None for each in found)
    assert [each.rollout.index for each in found] == list(range(10))
    assert rewards.batches == [list(range(10)), [3, 4, 5], [3, 4]]
    assert said[0] == "3 of 10 completions could not be scored; again in 5 s"
    assert pauses == [5.0, 10.0]


def test_a_few_may_stay_unscored_but_never_score_zero() -> None:
    rewards = Rewards({7: 99})
    found = ask(patient(rewards, 60.0, lambda text: None, sleep=lambda s: None))
    assert [each.reward is None for each in found].count(True) == 1
    assert found[7].reward is None


def test_a_solver_that_stays_away_ends_it_with_exit_code_3() -> None:
    pauses: list[float] = []
    with pytest.raises(InfrastructureError, match="10 of 10 completions") as caught:
        ask(patient(Rewards(dict.fromkeys(range(10), 99)), 100.0, lambda text: None, sleep=pauses.append))
    assert caught.value.exit_code == 3
    assert sum(pauses) == 100.0
    assert pauses == sorted(pauses[:-1]) + pauses[-1:]


def test_the_door_runs_everything_on_one_loop_and_closes_there() -> None:
    loops: list[Any] = []

    @asynccontextmanager
    async def make() -> AsyncIterator[str]:
        loops.append(asyncio.get_running_loop())
        yield "inside"
        loops.append(asyncio.get_running_loop())

    async def where(inside: str) -> str:
        loops.append(asyncio.get_running_loop())
        return inside.upper()

    with opened(make) as door:
        assert door.call(where) == "INSIDE"
        with pytest.raises(ZeroDivisionError):
            door.call(fails)
    assert len({id(loop) for loop in loops}) == 1
    assert len(loops) == 3


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("spoilt")], ids=["interrupt", "error"])
def test_what_ends_the_block_reaches_what_was_opened_and_the_caller(error: BaseException) -> None:
    seen: list[BaseException] = []

    @asynccontextmanager
    async def make() -> AsyncIterator[str]:
        try:
            yield "inside"
        except BaseException as caught:
            seen.append(caught)
            raise

    with pytest.raises(type(error)), opened(make):
        raise error
    assert type(seen[0]) is (asyncio.CancelledError if isinstance(error, KeyboardInterrupt) else ValueError)


async def fails(inside: str) -> None:
    raise ZeroDivisionError(inside)


def test_the_summary_keeps_ran_and_ran_well_apart() -> None:
    whole = Reward(score=0.5, parsed=True, applied=True, completion_rate=1.0)
    good = Scored(rollout=read(GROUP[0].context, 0, Completion(edit(GOOD, SEED))), reward=whole)
    others = (scored(0.0), scored(None), scored(0.0), scored(0.0), scored(0.0))
    gains = [0.5, -0.25, None, -0.25, -0.25, -0.25]
    rows = [
        RolloutRow.of(1, GROUP[0].context, each, gain=gain)
        for each, gain in zip((good, *others), gains, strict=True)
    ]
    found = summary(rows, group=3)
    assert found["gain"] == pytest.approx(-0.1)
    assert found["distinct_in_a_group"] == 0.5
    assert (found["n"], found["unscored"], found["distinct_candidates"]) == (6, 1, 1)
    assert found["score"] == pytest.approx(0.1)
    assert found["reward"] == pytest.approx(0.8 / 5)
    assert found["parsed"] == found["applied"] == found["completion_rate"] == pytest.approx(0.2)
    assert found["invalid"] == {"no_edit_block": 5}
    assert found["patterns"] == {"extraction": 1}
    assert found["groups_without_spread"] == 0.5


def test_the_journal_is_cut_back_to_a_checkpoint(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for update in (1, 2, 3):
        journal.add_update({"update": update})
        journal.add_rollouts([RolloutRow.of(update, GROUP[0].context, scored(0.1, index=update))])
    journal.cut_back(2)
    assert journal.read_updates() == [{"update": 1}, {"update": 2}]
    assert [each.rollout.index for each in journal.read_rollouts(GROUP, 1, 9)] == [1, 2]


def test_one_lively_group_is_signal_enough() -> None:
    dead = {"paid": "mixed", "groups_without_spread": 1.0, "spread_of_advantages": 0.0}
    dead |= {"invalid": {"span_not_found": 6}, "n": 8, "reward": 0.05}
    lively = {**dead, "groups_without_spread": 0.9, "spread_of_advantages": 0.1}
    require_signal([dead, dead, lively], 3)
    require_signal([dead, dead], 3)
    with pytest.raises(DeadSignal, match="span_not_found 75%"):
        require_signal([lively, dead, dead, dead], 3)


def test_groups_that_differ_from_each_other_are_signal_where_the_gain_is_paid() -> None:
    update = {"groups_without_spread": 1.0, "spread_of_advantages": 0.1, "invalid": {}, "n": 8, "reward": 0.1}
    require_signal([{**update, "paid": "gain"}] * 2, 2)
    require_signal([{**update, "paid": "mixed"}] * 2, 2)
    with pytest.raises(DeadSignal, match="valid edits"):
        require_signal([{**update, "paid": "group"}] * 2, 2)
