"""A cap ends the search: what was found by then is scored on the sealed questions, and a resume goes on."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guessing import SEED, Words, guesser, improving, opened
from loriner.errors import BudgetReached
from loriner.models.base import ModelReply
from loriner.models.forecast import Ahead
from loriner.models.meter import Budget, Meter, Need
from loriner.records import Call, Evaluation, Status, Trial
from loriner.search.adapt import adapt
from loriner.search.cap_reserve import a_trial, for_sealed
from loriner.search.history import Adaptation
from loriner.search.plan import Plan

PLAN = Plan(rounds=4, candidates=2, accept="mean", feedback=4, grade=12, test=10)
SEARCH_TO_ROUND_2 = 12 + (4 + 24) + 4 + 12
"""Trials up to the middle of round 2: the seed, a whole round, and of the next one its first candidate."""


async def searched(
    home: Path, *, resume: str | None = None, solver: Any = improving, **budget: float
) -> Adaptation:
    place = opened(home, solver, cache=False, budget=budget)
    try:
        with place.run("adapt", resume=resume) as (run, summary):
            lab = place.evaluator(run, place.model("solver"))
            found = await adapt(
                Words(40), SEED, lab, place.proposer("writer"), plan=PLAN, registry=place.registry
            )
            summary["stopped"] = asdict(found.stopped)
        assert place.store.run(run).status == ("budget" if found.stopped.reason == "budget" else "done")
        return found
    finally:
        place.store.close()


def told(found: Adaptation) -> list[object]:
    """What is to be equal however often a run was stopped."""
    return [found.seed, found.best, found.candidate, *(each.attempts for each in found.rounds)]


@pytest.mark.parametrize("unit", ["trials", "calls"])
async def test_a_cap_in_the_middle_of_round_2_leaves_the_best_so_far_with_its_sealed_score(
    tmp_path: Path, unit: str
) -> None:
    whole = await searched(tmp_path / "whole")
    cap = SEARCH_TO_ROUND_2 + 2 * 10
    found = await searched(tmp_path / "cut", **{unit: cap})
    assert found.stopped.reason == "budget" and found.stopped.missing == ()
    assert f"{cap} {unit} is reached" in found.stopped.why and "20 kept for the sealed" in found.stopped.why
    assert len(found.rounds) == 1 and found.best.harness_id != SEED.id
    assert [len(each.test) for each in (found.seed, found.best)] == [10, 10]
    assert not found.best.fresh
    resumed = await searched(tmp_path / "cut", resume=found.run_id)
    assert resumed.stopped == whole.stopped and len(resumed.rounds) > 1
    assert told(resumed) == told(whole)


async def test_a_resume_under_the_same_cap_counts_no_sealed_trial_twice(tmp_path: Path) -> None:
    cap = SEARCH_TO_ROUND_2 + 2 * 10
    found = await searched(tmp_path, trials=cap)
    again = await searched(tmp_path, resume=found.run_id, trials=cap)
    said = re.search(r"\((\d+) spent(?:, (\d+) kept)?", again.stopped.why)
    assert said is not None and int(said[1]) + int(said[2] or 0) <= cap
    assert told(again) == told(found)


async def test_a_cap_on_tokens_leaves_room_as_well(tmp_path: Path) -> None:
    whole = await searched(tmp_path / "whole")
    found = await searched(tmp_path / "cut", tokens=(whole.stopped.proposer.prompt_tokens) / 2)
    assert found.stopped.reason == "budget" and "tokens is reached" in found.stopped.why
    assert len(found.rounds) < len(whole.rounds)
    assert [len(each.test) for each in (found.seed, found.best)] == [10, 10]


@pytest.mark.parametrize(
    ("cap", "missing"),
    [
        (5, ("7 of the first 12 grade questions of seed", "10 of the 10 sealed questions of seed")),
        (17, ("5 of the 10 sealed questions of seed",)),
    ],
)
async def test_what_a_small_cap_leaves_out_is_said(
    tmp_path: Path, cap: int, missing: tuple[str, ...]
) -> None:
    found = await searched(tmp_path, trials=cap)
    assert found.stopped.reason == "budget"
    assert found.stopped.missing[: len(missing)] == missing
    assert found.best.harness_id == SEED.id
    assert len(found.seed.grade) + len(found.seed.test) == cap


async def test_without_one_score_there_is_nothing_to_return(tmp_path: Path) -> None:
    with pytest.raises(BudgetReached, match="0 minutes is reached"):
        await searched(tmp_path, minutes=0.0)


async def test_a_dearer_version_gets_more_room(tmp_path: Path) -> None:
    place = opened(tmp_path, guesser(0.5))
    lab = place.evaluator(place.store.start_run("adapt", config={}, seed=0), place.model("solver"))
    cheap, dear = graded(1), graded(5)
    assert for_sealed(lab, [cheap], 10) == a_trial(lab, cheap) * 20
    both = for_sealed(lab, [cheap, dear], 10)
    assert (both.trials, both.calls) == (pytest.approx(20), pytest.approx(60))
    three = for_sealed(lab, [cheap, dear, dear], 10)
    assert three.calls == pytest.approx(110)
    place.store.close()


def graded(n_calls: int) -> Evaluation:
    call = Call(kind="model", request={}, reply="yes", prompt_tokens=8, completion_tokens=2, usd=0.5)
    trials = tuple(
        Trial(
            harness_id="h",
            task="words",
            question_id=f"q{i}",
            status=Status.OK,
            score=1.0,
            calls=(call,) * n_calls,
        )
        for i in range(4)
    )
    return Evaluation(harness_id="h", task="words", purpose="grade", trials=trials)


@given(st.integers(1, 40), st.integers(0, 50))
def test_what_is_kept_is_never_sent_before_it_is_set_free(cap: int, kept: int) -> None:
    meter = Meter(Budget(calls=cap))
    meter.keep(Need(calls=kept))
    n_search = sent(meter)
    meter.keep(Need())
    assert n_search == max(0, cap - kept)
    assert n_search + sent(meter) == cap


def sent(meter: Meter) -> int:
    """Calls until the meter forbids the next."""
    n = 0
    try:
        while True:
            meter.send()
            meter.done(ModelReply(text="x"))
            n += 1
    except BudgetReached:
        return n


def test_no_call_is_sent_that_would_take_of_the_room_kept() -> None:
    meter = Meter(Budget(tokens=1_000))
    meter.keep(Need(tokens=400))
    meter.send(Ahead(tokens=300))
    meter.send(Ahead(tokens=300))
    with pytest.raises(BudgetReached, match="1,000 tokens is reached"):
        meter.send(Ahead(tokens=1))
    meter.landed(Ahead(tokens=300))
    meter.send(Ahead(tokens=300))
    meter.keep(Need())
    meter.send(Ahead(tokens=900))
