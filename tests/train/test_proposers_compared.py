"""Proposers on the same contexts: worked figures, best of k, and no figure with holes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sums import GOOD, HALF, Solver, Sums, edit, exercise, laboratory

from loriner.errors import InfrastructureError, ModelUnavailable
from loriner.propose.proposer import Completion, Proposer
from loriner.records import Context, Question, Score
from loriner.tasks.varied.task import VARIED
from loriner.train.compare import Sample, best_of, difference, sample, standing, unrevised
from loriner.train.reward import Reward, Rewarder

EXERCISES = [exercise(number=number) for number in range(6)]


def scripted(name: str, texts: list[str]) -> Proposer:
    async def write(context: Context, index: int) -> Completion:
        return Completion(texts[index])

    return Proposer(name, write)


async def test_worked_figures(tmp_path: Path) -> None:
    async with laboratory(tmp_path) as lab:
        rewarder = Rewarder(lab=lab, tasks={"sums": Sums()})
        weak = await sample(rewarder, EXERCISES, scripted("weak", [edit(HALF), "prose"]), 2)
        strong = await sample(rewarder, EXERCISES, scripted("strong", [edit(GOOD), edit(HALF)]), 2)
    assert unrevised(weak).mean == 0.0
    first, second = standing("weak", weak), standing("strong", strong)
    assert (first.score.mean, first.score.n) == (0.25, 6)
    assert (first.parsed, first.applied, first.completion_rate) == (0.5, 0.5, 0.5)
    assert first.invalid == {"no_edit_block": 6}
    assert first.best_of == {1: 0.25, 2: 0.5}
    assert second.best_of == {1: 0.75, 2: 1.0}
    assert second.by_task == {"sums": 0.75}
    assert difference(weak, strong).difference.mean == pytest.approx(0.5)
    assert difference(weak, strong).p_value < 0.05


def one(task: str, context: str, score: float) -> Sample:
    reward = Reward(score=score, parsed=True, applied=True, completion_rate=1.0)
    return Sample(
        context=context, task=task, index=0, code="", seed_score=0.0, reward=reward, tokens=9, completion=""
    )


def test_n_counts_families_whatever_their_contexts_and_settings() -> None:
    tasks = [f"rg:{family}{setting}" for family in "abc" for setting in ("", VARIED)]
    found = [one(task, f"{task}/{number}", number / 4) for task in tasks for number in range(4)]
    both = standing("x", found)
    assert (both.score.n, both.gain.n, unrevised(found).n) == (3, 3, 3)
    assert both.score.mean == pytest.approx(0.375)
    assert difference(found, found).n == 3
    assert both.by_task == dict.fromkeys(sorted(tasks), pytest.approx(0.375))
    alone = [each for each in found if each.family == "rg:a"]
    assert standing("x", alone).score.n == 8, "one family: its contexts"


def test_a_family_counts_once_however_many_contexts_it_has() -> None:
    few, many = [one("a", "a/0", 1.0)], [one("b", f"b/{number}", 0.0) for number in range(3)]
    found = standing("x", few + many)
    assert (found.score.mean, found.best_of) == (0.5, {1: 0.5})


def test_the_setting_is_read_off_a_name_with_further_marks() -> None:
    canonical, varied = one("rg:gcd:strict", "0", 1.0), one(f"rg:gcd{VARIED}:strict", "1", 0.0)
    assert (canonical.varied, varied.varied) == (False, True)
    assert canonical.family == varied.family == "rg:gcd:strict"


async def test_without_a_candidate_the_program_stays(tmp_path: Path) -> None:
    rows = [exercise(number=number, harness=HALF) for number in range(3)]
    async with laboratory(tmp_path) as lab:
        found = await sample(Rewarder(lab=lab, tasks={"sums": Sums()}), rows, scripted("none", ["prose"]), 1)
    assert standing("none", found).score.mean == 0.0
    assert standing("none", found).score_or_seed.mean == 0.5
    assert standing("none", found).gain.difference.mean == 0.0


async def test_a_dead_solver_gives_no_figure(tmp_path: Path) -> None:
    solver = Solver()
    solver.down = True
    async with laboratory(tmp_path, solver) as lab:
        with pytest.raises(InfrastructureError):
            await sample(
                Rewarder(lab=lab, tasks={"sums": Sums()}), EXERCISES[:1], scripted("x", [edit(GOOD)]), 1
            )


class Others(Sums):
    """The same questions by the same ids, with other right answers."""

    name = "others"

    async def score(self, question: Question, answer: str) -> Score:
        return Score(float(answer == f"{question.target}0"))


async def test_tasks_with_equal_ids_of_questions_keep_their_trials_apart(tmp_path: Path) -> None:
    ours = exercise(number=0, harness=GOOD)
    theirs = replace(ours, context=replace(ours.context, id="theirs", task="others"))
    async with laboratory(tmp_path) as lab:
        rewarder = Rewarder(lab=lab, tasks={"sums": Sums(), "others": Others()})
        for rows, expected in (([ours], 1.0), ([theirs], 0.0), ([theirs, ours], 0.5)):
            found = await sample(rewarder, rows, scripted("half", [edit(HALF, GOOD)]), 1)
            assert standing("half", found).score.mean == expected / 2
            assert unrevised(found).mean == expected


async def test_a_proposer_that_fails_is_asked_nothing_more(tmp_path: Path) -> None:
    waiting: set[int] = set()

    async def write(context: Context, index: int) -> Completion:
        if index == 3:
            raise ModelUnavailable("gone")
        waiting.add(index)
        try:
            await asyncio.sleep(60)
        finally:
            waiting.remove(index)
        raise AssertionError("asked after another call had failed")

    async with laboratory(tmp_path) as lab:
        with pytest.raises(ModelUnavailable, match="gone"):
            rewarder = Rewarder(lab=lab, tasks={"sums": Sums()})
            await sample(rewarder, EXERCISES[:1], Proposer("gone", write), 4)
        assert not waiting


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.integers(1, 6))
def test_best_of_is_the_mean_over_all_subsets(scores: list[float], k: int) -> None:
    k = min(k, len(scores))
    assert best_of(scores, k) == pytest.approx(fmean(max(each) for each in combinations(scores, k)))
