"""Waiting with judgement: as long as it helps, and no longer."""

from __future__ import annotations

import itertools
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endpoint import REQUEST, completion, in_turn, served, status
from loriner.errors import ModelRefused, ModelUnavailable
from loriner.models.reply import Failed
from loriner.models.waiting import Waiting, is_loading

LLAMA = json.dumps({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})


async def test_our_own_back_off_is_the_least_that_is_waited() -> None:
    handler, asked = in_turn(status(429, **{"Retry-After": "0"}))
    async with served(handler) as model:
        with pytest.raises(ModelUnavailable, match="in 5 tries"):
            await model.complete(REQUEST)
    pauses = [later - earlier for earlier, later in itertools.pairwise(asked)]
    assert len(pauses) == 4
    assert all(pause >= 0.75 * 0.5 * 2**i for i, pause in enumerate(pauses)), pauses


async def test_a_day_is_neither_waited_nor_shortened() -> None:
    handler, asked = in_turn(status(429, "later", **{"Retry-After": "86400"}))
    started = time.monotonic()
    async with served(handler) as model:
        with pytest.raises(ModelUnavailable, match=r"asks to wait 86,400 s, .* wait_s = 540"):
            await model.complete(REQUEST)
    assert len(asked) == 1
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "code, error",
    [
        (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}),
        (429, {"message": "no", "code": "429", "type": "insufficient_quota"}),
        (402, {"message": "Insufficient Balance"}),
    ],
)
async def test_an_account_without_credit_is_told_at_once(code: int, error: dict[str, str]) -> None:
    handler, asked = in_turn(status(code, json.dumps({"error": error})))
    async with served(handler) as model:
        before = model.limit.limit
        with pytest.raises(ModelRefused, match="no credit left"):
            await model.complete(REQUEST)
        assert model.limit.limit == before, "it is not overloaded"
    assert len(asked) == 1


async def test_a_model_that_is_loaded_is_waited_for_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    loading = status(503, LLAMA, **{"Retry-After": "0.01"})
    handler, asked = in_turn(*[loading] * 5, completion("here"))
    async with served(handler) as model:
        before = model.limit.limit
        assert (await model.complete(REQUEST)).text == "here"
        assert model.limit.limit == before
    assert len(asked) == 6
    assert sum("is loading m" in told for told in caplog.messages) == 1


async def test_loading_is_waited_for_no_longer_than_the_settings_say() -> None:
    handler, asked = in_turn(status(503, LLAMA))
    async with served(handler, wait_s=1.0) as model:
        with pytest.raises(ModelUnavailable, match=r"still loading the model after 1 s \(wait_s\)"):
            await model.complete(REQUEST)
    assert len(asked) >= 2


@pytest.mark.parametrize(
    "message, loading",
    [
        ("Loading model", True),
        ("loading", True),
        ("Model org/m is currently loading", True),
        ("model is not ready", True),
        ("The model is overloaded", False),
        ("the model failed to load", False),
        ("unable to load model: out of memory", False),
        ("upstream timed out", False),
        ("Service Unavailable", False),
    ],
)
def test_loading_is_told_from_load(message: str, loading: bool) -> None:
    assert is_loading(Failed(503, message)) is loading
    assert not is_loading(Failed(400, message))


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 429, 500, 503]),
            st.sampled_from(["busy", "Loading model"]),
            st.none() | st.floats(0, 1e6),
        ),
        max_size=200,
    ),
    st.floats(0, 1e4),
)
def test_patience_has_an_end_and_never_asks_too_soon(
    failures: list[tuple[int, str, float | None]], most_s: float
) -> None:
    waiting, waited, n_counted = Waiting(most_s), 0.0, 0
    for code, message, asked in failures:
        failed = Failed(code, message, asked)
        n_counted += not is_loading(failed)
        pause = waiting.pause_s(failed)
        if pause is None:
            break
        waited += pause
        assert pause >= max(asked or 0.0, 0.75 * 0.15)
        assert waited <= most_s * (1 + 1e-9)
    assert n_counted <= 5
