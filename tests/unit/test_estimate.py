"""What a run would take: the counts of a real run lie in it, and caps that fit nothing are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from guessing import SEED, Words, guesser, improving, opened
from loriner.config import Settings, changed
from loriner.errors import ConfigError
from loriner.models.named import price_named
from loriner.models.prices import Price
from loriner.search.adapt import adapt
from loriner.search.estimate import of_adaptation, of_evaluation
from loriner.search.plan import Plan

ENDPOINT = "http://127.0.0.1:9/v1::small"


def settings(**more: object) -> Settings:
    adapting = {"solver": "scripted:echo", "proposer": "scripted:echo"}
    return changed(Settings(), **{"adapt": adapting, **more})


@pytest.mark.parametrize("mind", [guesser(1.0), guesser(0.0), improving])
@pytest.mark.parametrize("candidates", [1, 3])
async def test_what_a_run_takes_lies_in_its_estimate(tmp_path: Path, mind: object, candidates: int) -> None:
    place = opened(tmp_path, mind, cache=False)  # type: ignore[arg-type]
    plan = Plan(rounds=2, candidates=candidates, accept="mean", feedback=3, grade=8, test=5)
    told = of_adaptation(settings(), Words(20), plan)
    with place.run("adapt") as (run, _):
        lab = place.evaluator(run, place.model("solver"))
        await adapt(Words(20), SEED, lab, place.proposer("writer"), plan=plan, registry=place.registry)
    n_trials, spent = sum(each.n for each in place.store.tallies(run)), place.store.usage(run)
    assert told.trials.low <= n_trials <= told.trials.high
    assert told.calls.low <= spent.calls <= told.calls.high
    place.store.close()


def test_a_task_with_few_questions_takes_no_more_than_it_has() -> None:
    told = of_adaptation(settings(), Words(4), Plan(rounds=1, feedback=16, grade=32, test=64))
    assert told.trials.low == 4 * 4
    assert told.least is not None and told.least.trials == 20


@pytest.mark.parametrize(("proposer", "calls"), [("catalogue", 20), ("scripted:echo", 21)])
def test_the_least_counts_the_call_of_a_proposer_that_is_a_model(proposer: str, calls: int) -> None:
    given = {"solver": "scripted:echo", "proposer": proposer}
    plan = Plan(rounds=1)
    assert of_adaptation(settings(adapt=given, budget={"calls": calls}), Words(4), plan).least is not None
    with pytest.raises(ConfigError, match=f"--max-calls {calls}"):
        of_adaptation(settings(adapt=given, budget={"calls": calls - 1}), Words(4), plan)


def test_a_cap_below_what_a_run_takes_as_a_rule_is_remarked() -> None:
    plan = Plan(rounds=10)
    usual = of_adaptation(settings(), Words(200), plan).likely
    assert usual is not None
    low, high = (
        of_adaptation(settings(budget={"trials": int(usual.trials.high) + more}), Words(200), plan).warnings
        for more in (-1, 1)
    )
    assert high == ()
    assert len(low) == 1 and "may end the search early" in low[0] and "--max-trials" in low[0]


def test_money_needs_a_price_of_every_model_that_is_asked() -> None:
    priced = {"priced": {"base_url": "http://127.0.0.1:9/v1", "model": "m", "price": Price(1.0, 2.0)}}
    bare = Settings.model_validate({"models": priced})
    for adapting, unknown in (
        ({"solver": ENDPOINT}, ENDPOINT),
        ({"solver": "priced", "proposer": ENDPOINT}, ENDPOINT),
        ({"solver": "priced", "proposer": "catalogue"}, None),
    ):
        given = changed(bare, adapt=adapting, budget={"usd": 1.0})
        if unknown is None:
            told = of_adaptation(given, Words(4), Plan(rounds=1))
            assert told.usd is not None and 0 < told.usd.low < told.usd.high
        else:
            with pytest.raises(ConfigError, match="no known price"):
                of_adaptation(given, Words(4), Plan(rounds=1))


def test_an_unknown_price_makes_the_sum_unknown_and_never_0() -> None:
    given = settings(adapt={"solver": ENDPOINT})
    assert of_evaluation(given, "words", Words(4).questions("test")).usd is None


def test_an_unknown_name_is_no_free_model() -> None:
    assert price_named("gguf:weights.gguf", {}) == Price(0.0, 0.0)
    assert price_named(ENDPOINT, {}) is None
    with pytest.raises(ConfigError, match="no model is called"):
        price_named("smal", {})
