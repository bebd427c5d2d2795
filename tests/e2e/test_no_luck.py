"""What the rule of acceptance lets through: edits that change nothing almost never, a true gain mostly."""

from __future__ import annotations

from pathlib import Path

import pytest

from guessing import SEED, Words, guesser, lifted, lifting, opened, renaming
from loriner.search.adapt import adapt
from loriner.search.history import Adaptation
from loriner.search.plan import Plan
from loriner.statistics import Rule

N_ROUNDS = 5

pytestmark = pytest.mark.slow


async def adapted(home: Path, plan: Plan, seed: int = 0, gain: float | None = None) -> Adaptation:
    """An adaptation of a program that is right on half of its questions, by chance."""
    solver = guesser(0.5) if gain is None else lifted(0.5, gain)
    place = opened(home, solver, seed, writer=renaming if gain is None else lifting)
    try:
        with place.run("adapt") as (run, _):
            lab = place.evaluator(run, place.model("solver"))
            words = Words(max(plan.grade, plan.test))
            return await adapt(words, SEED, lab, place.proposer("writer"), plan=plan, registry=place.registry)
    finally:
        place.store.close()


async def n_fooled(home: Path, accept: Rule, n_runs: int, candidates: int = 1) -> int:
    """How many of the adaptations accepted anything."""
    fooled = 0
    for seed in range(n_runs):
        plan = Plan(rounds=N_ROUNDS, candidates=candidates, feedback=2, grade=24, test=1, accept=accept)
        found = await adapted(home / f"{accept}{seed}", plan, seed)
        assert len(found.rounds) == N_ROUNDS or found.stopped.reason == "nothing can be accepted any more"
        assert all(each.harness_id for made in found.rounds for each in made.attempts)
        fooled += found.best.harness_id != SEED.id
    return fooled


@pytest.mark.parametrize("candidates", [1, 4])
async def test_a_paired_test_is_fooled_in_at_most_2_of_20_runs_of_edits_that_change_nothing(
    tmp_path: Path, candidates: int
) -> None:
    assert await n_fooled(tmp_path, "paired", 20, candidates) <= 2


async def test_a_higher_mean_alone_is_fooled_in_most_of_them(tmp_path: Path) -> None:
    assert await n_fooled(tmp_path, "mean", 10) >= 5


async def test_a_true_gain_passes_at_the_default_sizes(tmp_path: Path) -> None:
    passed = 0
    for seed in range(10):
        found = await adapted(tmp_path / str(seed), Plan(), seed, gain=0.4)
        better = found.programs["best"]
        passed += "better" in better.source
        assert better == SEED or "better" in better.source
    print(passed)
    assert passed >= 8
