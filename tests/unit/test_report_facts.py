"""The facts of a report are those of the store, during a run and after."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import pytest

from loriner.errors import ConfigError
from loriner.report.comparison.results import holm
from loriner.report.facts import AFRESH, PROPOSER, SEARCH, TEST, Episode
from loriner.report.pages import facts_of
from loriner.search.history import history, tell
from loriner.store.database import Store
from recorded import LOOP, SEED, WIDE, evaluate, record, third, trial


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path)
    yield opened
    opened.close()


async def read(store: Store, run_id: str) -> Episode:
    found = facts_of(store, run_id)
    assert isinstance(found, Episode)
    return found


async def test_seed_and_best_have_three_scores_each(store: Store) -> None:
    episode = await read(store, await record(store))
    assert episode.seed is not None and episode.best is not None
    assert (episode.seed.harness_id, episode.best.harness_id) == (SEED.id, LOOP.id)
    assert fmean(episode.seed.test.values()) == 0.2
    assert fmean(episode.best.grade.values()) == 0.65
    assert len(episode.best.fresh) == 20 and len(episode.best.test) == 30
    assert episode.best.calls_a_question == 1.0
    assert episode.oracle is None


async def test_candidates_keep_order_reason_effect_and_structure(store: Store) -> None:
    refused, accepted, wide = (await read(store, await record(store))).candidates
    assert (refused.attempt.code, refused.attempt.harness_id, refused.grade) == ("not_found", None, None)
    assert (accepted.attempt.harness_id, accepted.attempt.accepted, accepted.parent_id) == (
        LOOP.id,
        True,
        SEED.id,
    )
    assert accepted.effect is not None and round(accepted.effect.difference.mean, 2) == 0.45
    assert (accepted.growth, wide.growth) == ("both", "broader")
    assert (wide.parent_id, wide.attempt.accepted) == (LOOP.id, False)


async def test_the_search_is_priced_without_the_sealed_and_the_fresh_trials(store: Store) -> None:
    episode = await read(store, await record(store))
    calls = {each.part: each.usage.calls for each in episode.spent}
    assert calls == {SEARCH[1]: 60, AFRESH: 40, TEST: 60, PROPOSER: 3}
    assert episode.search.calls == 63
    assert [each.round for each in episode.candidates] == [1, 2, 3]
    assert {each.part: each.p50_s for each in episode.spent}[PROPOSER] == 1.5


async def test_during_a_run_what_is_not_known_is_empty(store: Store) -> None:
    run_id = await record(store, finished=False)
    episode = await read(store, run_id)
    assert (episode.status, episode.seed, episode.best) == ("running", None, None)
    assert [each.number for each in episode.rounds] == [1, 2]
    assert episode.plateau is not None and round(episode.plateau.gain, 2) == 0.45


async def test_a_second_telling_changes_nothing(store: Store) -> None:
    run_id = await record(store)
    before = await read(store, run_id)
    await evaluate(store, run_id, SEED, "grade", 20, third)
    for told in history(store, run_id).rounds:
        await tell(store, run_id, told)
    after = await read(store, run_id)
    assert after.rounds == before.rounds
    assert after.spent == before.spent


async def test_a_run_that_is_no_adaptation_says_what_a_report_needs(store: Store) -> None:
    run_id = store.start_run("evaluate", config={}, seed=0)
    await store.add_trial(run_id, "grade", trial(WIDE, "grade", 1, right=True))
    with pytest.raises(ConfigError, match="needs a run of adapt or compare"):
        facts_of(store, run_id)


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [([], []), ([0.04], [0.04]), ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]), ([0.9, 0.8], [1.0, 1.0])],
)
def test_p_values_pay_for_their_number(p_values: list[float], adjusted: list[float]) -> None:
    assert [round(each, 6) for each in holm(p_values)] == adjusted
