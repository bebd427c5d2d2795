"""Tokens that an endpoint does not count, or counts as they cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from endpoint import REQUEST, completion, in_turn, served
from loriner.errors import BudgetReached
from loriner.models.base import Message, ModelRequest
from loriner.models.meter import Budget, Meter
from loriner.models.metered import MeteredModel
from loriner.models.own import OwnModel
from loriner.models.prices import Price

UNCOUNTED = [
    None,
    {},
    "none",
    {"prompt_tokens": None, "completion_tokens": None},
    {"prompt_tokens": 0, "completion_tokens": 0},
    {"prompt_tokens": True, "completion_tokens": -5},
]


def ask(n_characters: int, seed: int = 0) -> ModelRequest:
    return ModelRequest(messages=(Message("user", "word " * (n_characters // 5)),), seed=seed)


@pytest.mark.parametrize("usage", UNCOUNTED, ids=str)
async def test_tokens_that_nobody_counted_are_estimated_and_told_once(
    usage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    handler, _ = in_turn(completion("four" * 10, usage=usage))
    async with served(handler, price=Price(1.0, 1.0)) as model:
        replies = [await model.complete(ask(400)) for _ in range(3)]
    assert {(each.prompt_tokens, each.completion_tokens, each.counted) for each in replies} == {
        (100, 10, False)
    }
    assert {each.usd for each in replies} == {None}, "what was not counted has no known price"
    (told,) = caplog.messages
    assert "reports no usage: tokens are estimated" in told


async def test_a_count_that_is_there_is_taken_and_an_empty_reply_has_none() -> None:
    handler, _ = in_turn(completion("", usage={"prompt_tokens": 7, "completion_tokens": 0}))
    async with served(handler, price=Price(1.0, 1.0)) as model:
        reply = await model.complete(REQUEST)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.counted) == (7, 0, True)
    assert reply.usd == pytest.approx(7e-6)


async def test_a_cap_on_tokens_holds_where_the_endpoint_counts_none() -> None:
    handler, asked = in_turn(completion("four" * 10, usage=None))
    async with served(handler) as model:
        metered = MeteredModel(model, Meter(Budget(tokens=1000)))
        with pytest.raises(BudgetReached, match="1,000 tokens is reached"):
            for seed in range(100):
                await metered.complete(ask(400, seed))
    assert len(asked) == 10


async def test_a_cap_on_tokens_holds_for_a_function_of_one_s_own() -> None:
    model = MeteredModel(OwnModel(lambda prompt: "four" * 10, "own"), Meter(Budget(tokens=1000)))
    with pytest.raises(BudgetReached, match="1,000 tokens is reached"):
        for seed in range(100):
            await model.complete(ask(400, seed))


@pytest.mark.parametrize("context", [256, 2048])
async def test_an_endpoint_that_cuts_prompts_is_told_once(
    context: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def cutting(request: web.Request) -> web.StreamResponse:
        length = len((await request.json())["messages"][0]["content"])
        usage = {"prompt_tokens": min(length // 5, context), "completion_tokens": 5}
        return web.json_response(completion(usage=usage))

    async with served(cutting) as model:
        for n_characters in (50, 500, 5 * context, 29 * context, 30 * context, 60 * context):
            await model.complete(ask(n_characters))
    (told,) = caplog.messages
    assert f"counts {context:,} tokens in a prompt of" in told and "cut long prompts" in told


@pytest.mark.parametrize("characters_per_token", [1, 4, 7])
async def test_an_endpoint_that_reads_prompts_whole_is_not_accused(
    characters_per_token: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def whole(request: web.Request) -> web.StreamResponse:
        length = len((await request.json())["messages"][0]["content"])
        usage = {"prompt_tokens": 1 + length // characters_per_token, "completion_tokens": 5}
        return web.json_response(completion(usage=usage))

    async with served(whole) as model:
        for n_characters in range(100, 20_000, 700):
            await model.complete(ask(n_characters))
    assert caplog.messages == []
