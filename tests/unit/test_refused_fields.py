"""Endpoints that do not take every field of a request: learned once, told once, and nobody else's loss."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from endpoint import REQUEST, Handler, completion, in_turn, served, status
from loriner.errors import ModelRefused, PromptRefused
from loriner.models.base import Message, ModelRequest
from loriner.models.fields import Fields, cut
from loriner.models.reply import read_refusal

ASKED = ModelRequest(messages=(Message("user", "Say hi"),), stop=("END",))


def openai(name: str, instead: str = "") -> dict[str, Any]:
    message = f"Unsupported parameter: '{name}' is not supported with this model.{instead}"
    return {"error": {"message": message, "param": name, "code": "unsupported_parameter"}}


def forbidden(name: str) -> dict[str, Any]:
    return {"detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs"}]}


def plain(name: str) -> dict[str, Any]:
    return {"error": f"property {name} is unsupported; max_n is 1"}


def strict(refusals: Mapping[str, dict[str, Any]], text: str = "hi") -> tuple[Handler, list[dict[str, Any]]]:
    """An endpoint that refuses these fields, the first of them first, and the bodies that it was sent."""
    bodies: list[dict[str, Any]] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        bodies.append(body := await request.json())
        refused = next((refusals[name] for name in refusals if name in body), None)
        return web.json_response(refused or completion(text), status=400 if refused else 200)

    return handler, bodies


@pytest.mark.parametrize("say", [openai, forbidden, plain])
@pytest.mark.parametrize("name", ["seed", "stop", "temperature"])
async def test_a_field_that_is_refused_is_left_out_from_then_on_and_told_once(
    name: str, say: Any, caplog: pytest.LogCaptureFixture
) -> None:
    handler, bodies = strict({name: say(name)})
    with caplog.at_level(logging.WARNING):
        async with served(handler) as model:
            assert [(await model.complete(ASKED)).text for _ in range(3)] == ["hi"] * 3
    assert [name in body for body in bodies] == [True, False, False, False]
    assert bodies[1] == {key: value for key, value in bodies[0].items() if key != name}
    (told,) = caplog.messages
    assert f"does not take the field {name}: it is no longer sent" in told


async def test_a_model_that_wants_max_completion_tokens_gets_it(caplog: pytest.LogCaptureFixture) -> None:
    instead = " Use 'max_completion_tokens' instead."
    handler, bodies = strict({"max_tokens": openai("max_tokens", instead)})
    async with served(handler) as model:
        await model.complete(REQUEST)
        await model.complete(REQUEST)
    assert [body.get("max_tokens") for body in bodies] == [512, None, None]
    assert [body.get("max_completion_tokens") for body in bodies] == [None, 512, 512]
    assert "it is sent as max_completion_tokens" in caplog.text and len(caplog.messages) == 1


async def test_an_endpoint_that_takes_no_sampling_field_can_be_used() -> None:
    names = ("seed", "max_tokens", "max_completion_tokens", "stop", "temperature")
    handler, bodies = strict({name: plain(name) for name in names}, "one END two")
    async with served(handler) as model:
        assert (await model.complete(ASKED)).text == "one "
    assert bodies[-1].keys() == {"model", "messages"}
    assert len(bodies) == len(names) + 1


async def test_calls_that_are_refused_beside_each_other_all_go_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    handler, bodies = strict({"seed": openai("seed")})
    async with served(handler) as model:
        replies = await asyncio.gather(*(model.complete(REQUEST) for _ in range(30)))
    assert {reply.text for reply in replies} == {"hi"}
    assert 30 < len(bodies) <= 30 + 8
    assert len(caplog.messages) == 1


async def test_a_stop_that_is_not_sent_cuts_the_reply_all_the_same() -> None:
    handler, _ = strict({"stop": openai("stop")}, "one END two")
    async with served(handler) as model:
        reply = await model.complete(ASKED)
    assert (reply.text, reply.finish_reason) == ("one ", "stop")


async def test_a_stop_that_one_program_chose_is_no_other_program_s_loss() -> None:
    many = ModelRequest(messages=ASKED.messages, stop=("a", "b", "c", "END", "e"))
    bodies: list[dict[str, Any]] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        bodies.append(body := await request.json())
        if len(body.get("stop", ())) > 4:
            error = {"message": "Invalid 'stop': array too long", "param": "stop"}
            return web.json_response({"error": error}, status=400)
        return web.json_response(completion("hi END"))

    async with served(handler) as model:
        assert (await model.complete(many)).text == "hi "
        assert (await model.complete(ASKED)).text == "hi "
    assert [body.get("stop") for body in bodies] == [list(many.stop), None, ["END"]]


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("temperature", 5.0, "Invalid 'temperature': expected a value <= 2"),
        ("max_tokens", 99_999, "max_tokens must be at most 4096"),
    ],
)
async def test_a_value_that_a_program_chose_is_that_program_s_fault(
    field: str, value: Any, message: str
) -> None:
    handler, asked = in_turn(status(400, json.dumps({"error": {"message": message}})))
    chosen = ModelRequest(messages=ASKED.messages, **{field: value})
    async with served(handler) as model:
        with pytest.raises(PromptRefused, match=field):
            await model.complete(chosen)
        with pytest.raises(ModelRefused, match=field) as caught:
            await model.complete(REQUEST)
    assert not isinstance(caught.value, PromptRefused), "nobody chose the default"
    assert len(asked) == 2


async def test_a_field_of_the_settings_is_not_left_out() -> None:
    handler, bodies = strict({"seed": openai("seed")})
    async with served(handler, extra_body={"seed": 7}) as model:
        with pytest.raises(ModelRefused, match="seed"):
            await model.complete(REQUEST)
    assert [body["seed"] for body in bodies] == [7]


@given(
    st.lists(st.sampled_from(["seed", "stop", "temperature", "max_tokens", "max_completion_tokens"])),
    st.sampled_from([openai, forbidden, plain]),
)
def test_no_refusal_is_learned_from_twice(names: list[str], say: Any) -> None:
    """Whatever is refused in whatever order, a request goes again only if it is another one."""
    fields = Fields("endpoint")
    for name in names:
        sent = fields.of(ASKED)
        failed = read_refusal(400, json.dumps(say(name)).encode())
        if fields.learn(failed, ASKED, sent):
            assert fields.of(ASKED) != sent


@given(st.text(alphabet="abE"), st.lists(st.text(alphabet="abE", min_size=1, max_size=2)))
def test_what_is_cut_holds_no_stop_and_is_a_beginning(text: str, stop: list[str]) -> None:
    left = cut(text, stop)
    assert text.startswith(left)
    assert not any(each in left for each in stop)
    assert left == text or any(text[len(left) :].startswith(each) for each in stop)
