"""Five modes at equal cost: what each may use, what they share, and that an interruption changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guessing import SEED, Words, improving, opened
from loriner.config import MODES
from loriner.errors import BudgetReached, ConfigError
from loriner.report.comparison.page import methods
from loriner.report.comparison.results import ORACLE, Comparison, read_comparison
from loriner.report.document import comparison_document
from loriner.report.facts import SEARCH
from loriner.search.history import history
from loriner.search.plan import Plan
from loriner.verbs.arms import SeededTask, Terms, run_arms

PLAN = Plan(rounds=3, feedback=3, grade=16, test=20)


async def compared(
    home: Path,
    terms: Terms,
    *,
    resume: str | None = None,
    tasks: tuple[str, ...] = ("words",),
    **more: object,
) -> tuple[str, Comparison]:
    place = opened(home, improving, **more)
    entries = [SeededTask(Words(24, name), SEED) for name in tasks]
    try:
        with place.run("compare", resume=resume) as (run_id, _):
            await run_arms(place, entries, place.model("solver"), terms, run_id=run_id)
    finally:
        found = read_comparison(place.store, place.store.runs(1)[0].parent or place.store.runs(1)[0].id)
        place.store.close()
    assert found is not None
    return run_id, found


def figures(found: Comparison) -> dict[str, Any]:
    """The document without ids of runs and programs' times."""
    document = comparison_document(found)
    for arm in document["arms"]:
        del arm["run"]
    return {key: value for key, value in document.items() if key != "run"}


async def test_every_mode_keeps_to_what_the_sequence_used(tmp_path: Path) -> None:
    _, found = await compared(tmp_path, Terms(seeds=2, plan=PLAN, modes=list(MODES)), tasks=("words", "more"))
    assert [(arm.task, arm.mode) for arm, _ in found.arms[:10]] == [
        (task, mode) for task in ("words", "more") for mode in MODES
    ]
    assert len(found.arms) == 20
    for seed in (0, 1):
        for task in ("words", "more"):
            of_seed = {
                arm.mode: each for arm, each in found.arms if (arm.seed, arm.task) == (seed, task) and each
            }
            search = _solver_calls(of_seed["sequential"])
            assert any(each.parent_id != SEED.id for each in of_seed["tree"].candidates)
            assert _solver_calls(of_seed["tree"]) <= search + 16
            for mode in ("independent", "best-of-n"):
                assert any(each.attempt.considered for each in of_seed[mode].candidates)
                assert _solver_calls(of_seed[mode]) <= search + 16  # at most the last candidate went beyond
                assert all(each.parent_id == SEED.id for each in of_seed[mode].candidates)
            votes = sum(part.usage.calls for part in of_seed["sampling"].spent)
            assert search < votes <= search + 20  # whole passes over the 20 test questions


def _solver_calls(episode: Any) -> int:
    return sum(part.usage.calls for part in episode.spent if part.part in SEARCH)


async def test_the_modes_differ_as_their_names_say(tmp_path: Path) -> None:
    _, found = await compared(tmp_path, Terms(seeds=1, plan=PLAN, modes=list(MODES)))
    arms = {arm.mode: each for arm, each in found.arms if each}
    best = arms["best-of-n"]
    assert best.best is not None and best.oracle is not None
    means = {
        each.attempt.harness_id: each.grade.mean
        for each in best.candidates
        if each.grade and "not considered" not in each.attempt.reason
    }
    chosen = best.best.harness_id
    assert chosen == SEED.id or means[chosen] == max(means.values())
    sealed = [sum(each.test.values()) for each in best.candidates]
    assert sum(best.oracle.test.values()) == max(*sealed, sum(best.seed.test.values() if best.seed else [0]))
    for independent, chosen_from in zip(arms["independent"].candidates, best.candidates, strict=False):
        assert independent.attempt.harness_id == chosen_from.attempt.harness_id
    assert {method.name for method in found.methods} == {"seed program", *MODES, ORACLE}
    assert not any(ORACLE in (each.first, each.second) for each in found.contrasts)
    assert len(found.contrasts) == 15
    paid = {row[0]: row[5] for row in methods(found).figures[0].table.rows}
    later = dict.fromkeys((*MODES[1:], ORACLE), "cached")
    assert paid == {"seed program": None, "sequential": "0.0000", **later}


async def test_a_comparison_that_was_stopped_and_resumed_gives_the_same_tables(tmp_path: Path) -> None:
    terms = Terms(seeds=2, plan=PLAN, modes=("sequential", "independent", "sampling"))
    _, unbroken = await compared(tmp_path / "unbroken", terms)
    with pytest.raises(BudgetReached):
        await compared(tmp_path / "broken", terms, budget={"calls": 90})
    place = opened(tmp_path / "broken", improving)
    run_id = next(run.id for run in place.store.runs() if run.command == "compare")
    assert place.store.run(run_id).status == "budget"
    begun = history(place.store, run_id).arms
    assert [run.command for run in place.store.runs()] == ["compare"]
    assert place.store.runs_below(run_id) == [arm.run_id for arm in begun]
    place.store.close()
    assert 0 < len(begun) < 6
    resumed_id, resumed = await compared(tmp_path / "broken", terms, resume=run_id)
    assert resumed_id == run_id
    assert [arm.run_id for arm, _ in resumed.arms[: len(begun)]] == [arm.run_id for arm in begun]
    assert figures(resumed) == figures(unbroken)


async def test_terms_that_cannot_be_met_are_refused_before_anything_runs(tmp_path: Path) -> None:
    place = opened(tmp_path, improving)
    entries = [SeededTask(Words(24), SEED)]
    for terms, words in (
        (Terms(modes=("independent",), plan=PLAN), "--allowance"),
        (Terms(equal="usd", plan=PLAN), "--no-cache"),
    ):
        with pytest.raises(ConfigError, match=words):
            await run_arms(place, entries, place.model("solver"), terms, run_id="none")
    assert place.store.runs() == []
    place.store.close()


async def test_money_that_is_not_spent_cannot_be_held_equal(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="costs nothing"):
        await compared(tmp_path, Terms(equal="usd", plan=PLAN, seeds=1), cache=False)


async def test_an_allowance_can_be_given_and_counted_in_tokens(tmp_path: Path) -> None:
    terms = Terms(modes=("independent", "sampling"), seeds=1, equal="tokens", allowance=600, plan=PLAN)
    _, found = await compared(tmp_path, terms)
    (independent, sampling) = (each for _, each in found.arms if each)
    assert independent.start.plan["allowance"] == {"unit": "tokens", "amount": 600}
    for each in independent.candidates:
        assert not each.attempt.accepted or each.attempt.considered
    once = sum(part.usage.prompt_tokens + part.usage.completion_tokens for part in sampling.spent)
    n_samples = sampling.spent[0].usage.calls / 20
    assert n_samples > 1
    assert 600 - once / n_samples < once - once / n_samples <= 600
