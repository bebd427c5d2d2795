"""The A/A test: edits that change nothing of substance are almost never accepted."""

from __future__ import annotations

from pathlib import Path

from guessing import SEED, Words, guesser, opened
from loriner.search.adapt import adapt
from loriner.search.episode import Plan
from loriner.statistics import Rule

N_ROUNDS = 5


async def n_fooled(home: Path, accept: Rule, n_runs: int) -> int:
    """How many of the adaptations accepted anything."""
    fooled = 0
    for seed in range(n_runs):
        place = opened(home / f"{accept}{seed}", guesser(0.5), seed)
        run = place.store.start_run("adapt", config={}, seed=seed)
        plan = Plan(rounds=N_ROUNDS, feedback=2, grade=24, test=1, accept=accept)
        lab = place.evaluator(run, place.model("solver"))
        found = await adapt(
            Words(24), SEED, lab, place.proposer("writer"), plan=plan, registry=place.registry
        )
        assert len(found.rounds) == N_ROUNDS
        assert all(each.rollout.candidate for made in found.rounds for each in made.attempts)
        fooled += found.best.harness != SEED
        place.store.close()
    return fooled


async def test_a_paired_test_is_fooled_in_at_most_2_of_20_runs_of_edits_that_change_nothing(
    tmp_path: Path,
) -> None:
    assert await n_fooled(tmp_path, "paired", 20) <= 2


async def test_a_higher_mean_alone_is_fooled_in_most_of_them(tmp_path: Path) -> None:
    assert await n_fooled(tmp_path, "mean", 10) >= 5
