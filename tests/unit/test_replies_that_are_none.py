"""What comes with a status that promises a reply, or a refusal, and is something else; and who pays."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from endpoint import REQUEST, completion, in_turn, served, status
from guessing import SEED, Words, opened
from loriner.errors import ModelError, ModelRefused, ModelUnavailable, PromptRefused
from loriner.models.base import ModelReply, ModelRequest
from loriner.models.cache import CachedModel, MemoryReplies
from loriner.models.meter import Meter, MeteredModel
from loriner.models.prices import Price

PRICE = Price(input=1.0, output=2.0)
BILLED = 10 * 1e-6 + 5 * 2e-6
"""US dollars of one `completion()` at that price."""


def choice(**facts: Any) -> dict[str, Any]:
    return completion(choices=[facts])


ERRED = choice(
    finish_reason="error",
    message={"role": "assistant", "content": ""},
    error={"code": 502, "message": "the provider broke off"},
)


async def test_a_choice_that_ended_in_an_error_is_no_answer() -> None:
    handler, asked = in_turn(ERRED, completion("at last"))
    async with served(handler) as model:
        assert (await model.complete(REQUEST)).text == "at last"
    assert len(asked) == 2


@pytest.mark.parametrize("text", ["", "half of an ans"])
async def test_an_error_without_words_is_no_answer_either(text: str) -> None:
    handler, asked = in_turn(choice(finish_reason="error", message={"content": text}), completion("whole"))
    async with served(handler) as model:
        assert (await model.complete(REQUEST)).text == "whole"
    assert len(asked) == 2


async def test_what_a_failed_try_billed_is_on_the_bill_of_the_reply() -> None:
    handler, _ = in_turn(ERRED, ERRED, completion("at last"))
    async with served(handler, price=PRICE) as model:
        reply = await model.complete(REQUEST)
    assert (reply.prompt_tokens, reply.completion_tokens) == (30, 15)
    assert reply.usd == pytest.approx(3 * BILLED)


async def test_what_was_billed_is_counted_where_no_try_brought_a_reply() -> None:
    refused = json.dumps({"error": {"message": "broken"}, "usage": completion()["usage"]})
    handler, _ = in_turn(ERRED, status(400, refused))
    meter = Meter()
    async with served(handler, price=PRICE) as model:
        with pytest.raises(ModelRefused, match="broken") as caught:
            await MeteredModel(model, meter).complete(REQUEST)
    assert caught.value.usd == pytest.approx(2 * BILLED)
    assert (meter.usage.calls, meter.usage.prompt_tokens, meter.usage.completion_tokens) == (1, 20, 10)
    assert meter.usage.usd == pytest.approx(2 * BILLED)


@pytest.mark.parametrize("reason", ["content_filter", "length", "stop"])
async def test_a_choice_without_a_message_that_says_why_it_ended_is_an_empty_reply(reason: str) -> None:
    handler, asked = in_turn(choice(finish_reason=reason, message=None))
    async with served(handler, price=PRICE) as model:
        reply = await model.complete(REQUEST)
    assert (reply.text, reply.finish_reason, len(asked)) == ("", reason, 1)
    assert reply.usd == pytest.approx(BILLED)


async def test_a_prompt_that_the_filter_refuses_is_not_the_end_of_a_run() -> None:
    handler, asked = in_turn(status(400, json.dumps({"error": {"code": "content_filter", "message": "no"}})))
    async with served(handler) as model:
        with pytest.raises(PromptRefused, match="status 400, no"):
            await model.complete(REQUEST)
    assert len(asked) == 1


@pytest.mark.parametrize(
    "stream",
    [
        'data: {"choices": [{"delta": {"content": "hi"}}]}\n\ndata: [DONE]\n\n',
        ": PROCESSING\n\ndata: {}\n\n",
        "event: message\ndata: {}\n\n",
    ],
)
async def test_a_stream_that_nobody_asked_for_is_named_after_one_request(stream: str) -> None:
    handler, asked = in_turn(status(200, stream))
    async with served(handler) as model:
        with pytest.raises(ModelRefused, match=r"event stream.*stream = false") as caught:
            await model.complete(REQUEST)
    assert not isinstance(caught.value, PromptRefused)
    assert len(asked) == 1


async def test_a_failure_that_several_wait_for_is_paid_once() -> None:
    class Failing:
        name = "failing"

        async def complete(self, request: ModelRequest) -> ModelReply:
            await asyncio.sleep(0)
            raise ModelUnavailable("down", prompt_tokens=7, usd=0.5)

        async def close(self) -> None: ...

    model = CachedModel(Failing(), MemoryReplies())
    got = await asyncio.gather(*(model.complete(REQUEST) for _ in range(3)), return_exceptions=True)
    failures = [each for each in got if isinstance(each, ModelError)]
    assert len(failures) == 3
    assert sum(each.usd or 0 for each in failures) == 0.5
    assert sum(each.prompt_tokens for each in failures) == 7


async def test_the_bill_of_a_run_holds_what_its_failed_calls_cost(tmp_path: Path) -> None:
    def failing(request: ModelRequest) -> str:
        raise ModelUnavailable("down", prompt_tokens=7, completion_tokens=3, usd=0.25)

    place = opened(tmp_path, failing)
    run = place.store.start_run("evaluate", config={}, seed=0)
    with pytest.raises(ModelUnavailable):
        await place.evaluator(run, place.model("solver")).evaluate(
            Words(1), SEED, Words(1).questions("grade"), purpose="grade"
        )
    spent = place.store.usage(run)
    place.store.close()
    assert spent.calls == place.meter.usage.calls > 0
    assert spent.usd == place.meter.usage.usd == 0.25 * spent.calls
    assert spent.prompt_tokens == 7 * spent.calls
