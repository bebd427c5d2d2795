"""What a program may ask of a model beyond texts: it is sent, read, told apart in the cache, or refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web

from endpoint import completion, in_turn, served, status
from loriner.errors import ModelRefused, PromptRefused
from loriner.models.base import Message, ModelRequest, facts_of, message_of, request_of, sent
from loriner.models.cache import CachedModel, MemoryReplies, key_of
from loriner.models.own import as_model
from loriner.models.reply import Failed, read_reply
from loriner.models.scripted import scripted
from loriner.models.tokens import most, prompt_bytes
from loriner.runtime import wire

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
TURNS: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "What is it?"}, IMAGE]},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    },
    {"role": "tool", "content": "a cat", "tool_call_id": "1"},
]
EACH: list[dict[str, Any]] = [
    {"response_format": SCHEMA},
    {"response_format": {"type": "json_object"}},
    {"grammar": 'root ::= "yes" | "no"'},
    {"logprobs": True, "top_logprobs": 2},
    {"tools": [TOOL], "tool_choice": "auto"},
]


def asked(further: Mapping[str, Any] | None = None, messages: Any = TURNS) -> ModelRequest:
    return ModelRequest(messages=tuple(map(message_of, messages)), further=further or {})


PLAIN = ModelRequest(messages=(Message("user", "Say hi"),))


@pytest.mark.parametrize("further", EACH)
async def test_it_is_sent_as_it_was_asked(further: dict[str, Any]) -> None:
    bodies: list[dict[str, Any]] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        bodies.append(await request.json())
        return web.json_response(completion("hi"))

    async with served(handler) as model:
        await model.complete(asked(further))
    assert bodies[0]["messages"] == TURNS
    assert {name: bodies[0][name] for name in further} == further


async def test_calls_of_tools_and_logprobs_are_read() -> None:
    call = {"id": "7", "type": "function", "function": {"name": "look", "arguments": '{"word": "b"}'}}
    token = {"token": "hi", "logprob": -0.1, "top_logprobs": []}
    reply = completion()
    reply["choices"][0] |= {
        "message": {"role": "assistant", "content": None, "tool_calls": [call]},
        "finish_reason": "tool_calls",
        "logprobs": {"content": [token]},
    }
    handler, _ = in_turn(reply)
    async with served(handler) as model:
        found = await model.complete(asked({"tools": [TOOL], "logprobs": True}))
    assert (found.text, found.finish_reason) == ("", "tool_calls")
    assert found.further == {
        "tool_calls": [{"id": "7", "name": "look", "arguments": '{"word": "b"}'}],
        "logprobs": [token],
    }


@pytest.mark.parametrize("calls", ["x", [3], [{}], [{"function": {}}], [{"function": 3}]])
def test_calls_that_are_none_are_no_completion(calls: Any) -> None:
    body = completion()
    body["choices"][0]["message"]["tool_calls"] = calls
    assert isinstance(read_reply(json.dumps(body).encode()), Failed)


@pytest.mark.parametrize("further", EACH)
async def test_an_endpoint_that_has_it_not_is_asked_once(further: dict[str, Any]) -> None:
    name = next(iter(further))
    handler, times = in_turn(
        status(400, json.dumps({"error": {"message": f"Unsupported parameter: {name}", "param": name}})),
        completion("hi"),
    )
    async with served(handler) as model:
        for _ in range(3):
            with pytest.raises(PromptRefused, match=name):
                await model.complete(asked(further, [{"role": "user", "content": "Say hi"}]))
        assert len(times) == 1
        assert (await model.complete(PLAIN)).text == "hi"


async def test_a_model_for_texts_that_is_shown_an_image_is_no_failure_of_the_endpoint() -> None:
    handler, _ = in_turn(status(404, '{"error": "No endpoints found that support image input"}'))
    async with served(handler) as model:
        with pytest.raises(PromptRefused, match="support image input"):
            await model.complete(asked())
        with pytest.raises(ModelRefused) as refused:
            await model.complete(PLAIN)
    assert not isinstance(refused.value, PromptRefused)


def test_requests_that_ask_for_more_are_other_requests() -> None:
    requests = [PLAIN, *(ModelRequest(messages=PLAIN.messages, further=each) for each in EACH), asked()]
    other = {**TURNS[0], "content": [TURNS[0]["content"][0]]}
    requests.append(asked(messages=[other, *TURNS[1:]]))
    keys = [key_of("m", each) for each in requests]
    assert len(set(keys)) == len(keys)
    for each in requests:
        again = request_of(json.loads(json.dumps(facts_of(each))))
        assert key_of("m", again) == key_of("m", each) and list(map(sent, again.messages)) == list(
            map(sent, each.messages)
        )


def test_a_request_for_a_text_has_the_key_that_it_always_had() -> None:
    assert key_of("m", PLAIN) == "646881eb28079899fcaf8bd888f8651b5e0444626a2d4e500f3f4312f30108e0"


async def test_a_cached_reply_keeps_what_came_beside_its_text() -> None:
    reply = completion()
    reply["choices"][0]["logprobs"] = {"content": [{"token": "hi", "logprob": -0.1}]}
    handler, times = in_turn(reply)
    async with served(handler) as model:
        cached = CachedModel(model, MemoryReplies())
        first, second = [await cached.complete(asked({"logprobs": True})) for _ in range(2)]
    assert (len(times), second.cached, second.further) == (1, True, first.further)


def test_what_is_read_beside_the_text_is_counted() -> None:
    assert prompt_bytes(asked({"tools": [TOOL]})) > prompt_bytes(asked()) > len("What is it?a cat")
    assert most(asked())[0] > 2_000


async def test_a_function_takes_what_it_has_parameters_for() -> None:
    def typed(prompt: str, response_format: Any = None) -> str:
        return json.dumps(response_format)

    model = as_model(typed)
    found = await model.complete(ModelRequest(messages=PLAIN.messages, further=EACH[1]))
    assert json.loads(found.text) == {"type": "json_object"}
    for further, messages in ((EACH[2], PLAIN.messages), ({}, asked().messages)):
        with pytest.raises(PromptRefused, match=r"typed does not take (grammar|image_url)"):
            await model.complete(ModelRequest(messages=messages, further=further))
    with pytest.raises(PromptRefused, match="has no grammar"):
        await scripted("echo").complete(ModelRequest(messages=PLAIN.messages, further=EACH[2]))


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://elsewhere.example/?leak"}},
        {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}},
        {"type": "image_url", "image_url": {"url": "data:x", "other": "y"}},
        {"type": "image_url", "image_url": "data:x"},
        {"type": "file", "file": {"file_data": "https://elsewhere.example/"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "video_url", "video_url": {"url": "data:x"}},
        {"type": ["text"], "text": "x"},
        {"type": "text", "text": 3},
        "text",
    ],
)
def test_a_part_holds_its_data_itself(part: Any) -> None:
    frame = {
        "kind": "call",
        "id": 1,
        "messages": [{"role": "user", "content": [part]}],
        "temperature": 0.0,
        "max_tokens": 8,
        "stop": [],
        "n": 1,
        "further": {},
    }
    assert wire.violation(frame) == "frame 'call' has a wrong messages"
    assert wire.violation({**frame, "messages": [{"role": "user", "content": [IMAGE]}]}) is None


@pytest.mark.parametrize(
    "further",
    [
        {"tools": [{"type": "web_search"}]},
        {"tools": {}},
        {"web_search_options": {}},
        {"grammar": 3},
        {"response_format": "json"},
        [],
    ],
)
def test_what_a_server_would_do_by_itself_is_not_asked(further: Any) -> None:
    assert not wire.further(further)
