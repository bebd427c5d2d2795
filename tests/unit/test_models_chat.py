"""The chat client against a real server on the loopback that behaves as endpoints do on bad days."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from typing import Any

import pytest
from aiohttp import web

from endpoint import REQUEST, Handler, completion, in_turn, served, status
from loriner.errors import ConfigError, ModelRefused, ModelUnavailable, PromptRefused
from loriner.models.base import Message, ModelRequest
from loriner.models.chat import ChatModel
from loriner.models.prices import Price

KEY = "sk-very-secret-0123456789"


async def test_a_request_carries_every_parameter_and_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[dict[str, Any], str | None]] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append((await request.json(), request.headers.get("Authorization")))
        return web.json_response(completion())

    monkeypatch.setenv("CHAT_TEST_KEY", KEY)
    messages = (Message("system", "Be brief"), Message("user", "Grüße"))
    request = ModelRequest(messages=messages, temperature=0.5, max_tokens=7, stop=("\n", "END"), seed=9)
    async with served(handler, api_key_env="CHAT_TEST_KEY", extra_body={"think": False}) as model:
        await model.complete(request)
    body, authorization = seen[0]
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Grüße"}],
        "temperature": 0.5,
        "max_tokens": 7,
        "stop": ["\n", "END"],
        "seed": 9,
        "think": False,
    }
    assert authorization == f"Bearer {KEY}"


async def test_a_reply_is_priced_and_its_usage_kept_raw() -> None:
    handler, _ = in_turn(completion("hello"))
    async with served(handler, price=Price(input=2.0, output=4.0)) as model:
        reply = await model.complete(REQUEST)
    assert (reply.text, reply.finish_reason) == ("hello", "stop")
    assert (reply.prompt_tokens, reply.completion_tokens) == (10, 5)
    assert reply.usage == completion()["usage"]
    assert reply.usd == pytest.approx(40e-6)


@pytest.mark.parametrize("price, usage", [(None, completion()["usage"]), (Price(1.0, 1.0), None)])
async def test_an_unknown_cost_is_none_and_not_zero(price: Price | None, usage: Any) -> None:
    handler, _ = in_turn(completion(usage=usage))
    async with served(handler, price=price) as model:
        assert (await model.complete(REQUEST)).usd is None


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 529])
async def test_a_passing_failure_is_tried_again(code: int) -> None:
    handler, asked = in_turn(status(code, "wait"), completion())
    async with served(handler) as model:
        assert (await model.complete(REQUEST)).text == "hi"
    assert len(asked) == 2


async def test_retry_after_is_honoured() -> None:
    handler, asked = in_turn(status(429, **{"Retry-After": "1"}), completion())
    async with served(handler) as model:
        await model.complete(REQUEST)
    assert asked[1] - asked[0] >= 1.0


async def test_an_overloaded_endpoint_halves_the_limit() -> None:
    handler, _ = in_turn(status(429, **{"Retry-After": "0"}), completion())
    async with served(handler) as model:
        before = model.limit.limit
        await model.complete(REQUEST)
        assert model.limit.limit == before // 2


@pytest.mark.parametrize(
    "code, body, words",
    [
        (400, '{"error": {"message": "max_tokens is too large"}}', "max_tokens is too large"),
        (404, '{"detail": "Not Found"}', "Not Found. Check the address"),
        (401, '{"error": "bad key"}', "bad key. Name the environment variable"),
        (422, "<html><head><style>p{}</style></head><body><h1>No</h1> thanks</body>", "422, No thanks"),
        (302, "", "Use the address to which it redirects"),
    ],
)
async def test_a_final_refusal_is_not_retried_and_says_why(code: int, body: str, words: str) -> None:
    handler, asked = in_turn(status(code, body, Location="http://127.0.0.1:9/"))
    async with served(handler) as model:
        with pytest.raises(ModelRefused) as caught:
            await model.complete(REQUEST)
    assert words in str(caught.value)
    assert len(asked) == 1


async def test_a_key_that_the_endpoint_repeats_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_TEST_KEY", KEY)
    handler, _ = in_turn(status(401, json.dumps({"error": f"Incorrect key: {KEY}"})))
    async with served(handler, api_key_env="CHAT_TEST_KEY") as model:
        with pytest.raises(ModelRefused) as caught:
            await model.complete(REQUEST)
        assert KEY not in str(caught.value)
        assert "[key]" in str(caught.value)
        assert "CHAT_TEST_KEY" in str(caught.value)
        assert KEY not in repr(model) + model.name + repr(vars(model))
    assert caught.value.__cause__ is None


async def test_a_missing_key_is_named_and_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHAT_TEST_KEY", raising=False)
    handler, asked = in_turn(completion())
    async with served(handler, api_key_env="CHAT_TEST_KEY") as model:
        with pytest.raises(ModelRefused, match="CHAT_TEST_KEY is not set"):
            await model.complete(REQUEST)
    assert asked == []


async def drop(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    assert request.transport is not None
    request.transport.close()
    return response


@pytest.mark.parametrize(
    "reply",
    [
        drop,
        status(200, "not json"),
        status(200, "<html><body>Welcome to the hotel network</body></html>"),
        status(200, "[" * 100_000),
        {"choices": []},
        {"choices": [{"message": {"content": {"no": "text"}}}]},
        {"choices": [{"message": None}]},
        {"error": {"code": 502, "message": "upstream"}},
        {},
    ],
    ids=["dropped", "garbage", "html", "deep", "no choices", "odd content", "no message", "error", "empty"],
)
async def test_a_senseless_reply_is_tried_again(reply: Handler | dict[str, Any]) -> None:
    handler, asked = in_turn(reply, completion("at last"))
    async with served(handler) as model:
        assert (await model.complete(REQUEST)).text == "at last"
    assert len(asked) == 2


@pytest.mark.parametrize("code, body", [(400, "maximum context length is 2048 tokens"), (413, "no")])
async def test_a_prompt_that_does_not_fit_is_told_apart(code: int, body: str) -> None:
    handler, _ = in_turn(status(code, body), status(400, "unknown field"))
    async with served(handler) as model:
        with pytest.raises(PromptRefused, match=body):
            await model.complete(REQUEST)
        with pytest.raises(ModelRefused, match="unknown field") as caught:
            await model.complete(REQUEST)
    assert not isinstance(caught.value, PromptRefused)


async def test_a_prompt_that_is_not_unicode_is_not_sent() -> None:
    handler, asked = in_turn(completion())
    async with served(handler) as model:
        with pytest.raises(PromptRefused, match="not valid Unicode"):
            await model.complete(ModelRequest(messages=(Message("user", "half a pair: \ud83d"),)))
    assert asked == []


async def test_an_error_inside_a_200_is_judged_by_its_code() -> None:
    handler, asked = in_turn({"error": {"code": 400, "message": "prompt too long"}})
    async with served(handler) as model:
        with pytest.raises(ModelRefused, match="prompt too long"):
            await model.complete(REQUEST)
    assert len(asked) == 1


async def test_the_last_error_is_told_when_no_try_brought_a_reply() -> None:
    handler, asked = in_turn(status(503, "loading", **{"Retry-After": "0"}))
    async with served(handler) as model:
        with pytest.raises(ModelUnavailable, match=r"in 5 tries.*status 503, loading.*Check that the server"):
            await model.complete(REQUEST)
    assert len(asked) == 5


async def test_a_dead_port_fails_fast() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = ChatModel(f"http://127.0.0.1:{port}/v1", "m")
    started = time.monotonic()
    with pytest.raises(ModelUnavailable, match=f"127.0.0.1:{port}/v1 .*5 tries.*Connect"):
        await model.complete(REQUEST)
    assert time.monotonic() - started < 10
    await model.close()


async def test_a_reply_without_end_is_cut_off() -> None:
    n_bytes = 0

    async def flood(request: web.Request) -> web.StreamResponse:
        nonlocal n_bytes
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b" " * (1 << 20))
                n_bytes += 1 << 20
        except ConnectionError:
            return response

    handler, asked = in_turn(flood, completion())
    async with served(handler) as model:
        assert (await model.complete(REQUEST)).text == "hi"
    assert len(asked) == 2
    assert n_bytes < 256 << 20


async def test_a_slow_reply_is_given_up_and_tried_again() -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(3)
        return web.json_response(completion("late"))

    handler, asked = in_turn(slow, completion("soon"))
    async with served(handler, timeout_s=0.5) as model:
        before = model.limit.limit
        assert (await model.complete(REQUEST)).text == "soon"
        assert model.limit.limit < before
    assert len(asked) == 2


@pytest.mark.parametrize(
    "content, text",
    [(None, ""), ("", ""), ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab")],
)
async def test_content_may_be_absent_or_in_parts(content: Any, text: str) -> None:
    message = {"role": "assistant", "content": content, "reasoning_content": "hmm"}
    handler, _ = in_turn(completion(choices=[{"finish_reason": "length", "message": message}]))
    async with served(handler) as model:
        reply = await model.complete(REQUEST)
    assert (reply.text, reply.finish_reason) == (text, "length")


async def test_a_model_can_be_closed_twice_and_used_again() -> None:
    handler, asked = in_turn(completion())
    async with served(handler) as model:
        await model.complete(REQUEST)
        await model.close()
        await model.close()
        await model.complete(REQUEST)
    assert len(asked) == 2


async def test_a_thousand_calls_in_flight_all_return() -> None:
    handler, asked = in_turn(completion())
    async with served(handler) as model:
        replies = await asyncio.gather(*(model.complete(REQUEST) for _ in range(1000)))
        assert model.limit.in_flight == 0
        assert model.limit.limit > 8
    assert {reply.text for reply in replies} == {"hi"}
    assert len(asked) == 1000


async def test_a_cancelled_call_gives_its_place_back() -> None:
    async def never(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(5)
        return web.json_response(completion())

    async with served(never) as model:
        calls = [asyncio.create_task(model.complete(REQUEST)) for _ in range(20)]
        await asyncio.sleep(0.2)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert model.limit.in_flight == 0


@pytest.mark.parametrize(
    "url",
    ["localhost:8000/v1", "ftp://host/v1", "http://", "http://user:pw@host/v1", "http://host/v1?key=pw"],
)
def test_a_bad_address_is_refused_and_its_secrets_not_shown(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ChatModel(url, "m")
    assert "pw" not in str(caught.value)


def test_the_name_is_the_address_and_the_model() -> None:
    assert ChatModel("http://localhost:8000/v1/", "org/m").name == "http://localhost:8000/v1::org/m"
    thinking = ChatModel("http://localhost:8000/v1", "m", extra_body={"think": True})
    assert thinking.name != ChatModel("http://localhost:8000/v1", "m", extra_body={"think": False}).name


async def test_a_try_without_an_end_is_billed_at_the_most_that_it_may_cost() -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(3)
        return web.json_response(completion("late"))

    handler, _ = in_turn(slow, completion("soon"))
    request = ModelRequest(messages=(Message("user", "x" * 300),), max_tokens=50)
    async with served(handler, timeout_s=0.5, price=Price(1e6, 1e6)) as model:
        reply = await model.complete(request)
    assert (reply.prompt_tokens, reply.completion_tokens) == (10 + 100 + 8, 5 + 50)
    assert reply.usd == pytest.approx(118 + 55)


async def test_what_was_never_sent_or_was_refused_costs_nothing() -> None:
    handler, _ = in_turn(status(400, "maximum context length is 9 tokens"))
    async with served(handler, price=Price(1.0, 1.0)) as model:
        with pytest.raises(PromptRefused) as refused:
            await model.complete(REQUEST)
    dead = ChatModel("http://127.0.0.1:9/v1", "m", price=Price(1.0, 1.0))
    with pytest.raises(ModelUnavailable) as unreachable:
        await dead.complete(REQUEST)
    await dead.close()
    assert [each.value.usd for each in (refused, unreachable)] == [0.0, 0.0]
