"""Laws of the model wrappers: cache keys, what is shared, what is counted, how the limit moves."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loriner.errors import BudgetReached, ConfigError, ModelUnavailable
from loriner.models import meter as meter_module
from loriner.models.base import Message, ModelReply, ModelRequest
from loriner.models.cache import CachedModel, MemoryReplies, key_of
from loriner.models.limit import AdaptiveLimit, Pace
from loriner.models.meter import Budget, Meter, Need
from loriner.models.metered import MeteredModel
from loriner.models.prices import Price, cost
from loriner.models.scripted import ScriptedModel
from loriner.records import Usage

texts = st.text(alphabet=st.characters(), max_size=8)
requests = st.builds(
    ModelRequest,
    messages=st.lists(
        st.builds(Message, st.sampled_from(["system", "user", "assistant"]), texts), max_size=3
    ).map(tuple),
    temperature=st.floats(0, 2),
    max_tokens=st.integers(1, 4096),
    stop=st.lists(texts, max_size=2).map(tuple),
    seed=st.integers(0, 2**31 - 1),
)
replies = st.builds(
    ModelReply,
    text=texts,
    prompt_tokens=st.integers(0, 10**6),
    completion_tokens=st.integers(0, 10**6),
    usd=st.none() | st.floats(0, 100),
    cached=st.booleans(),
)


def ask(text: str = "hi", **changes: Any) -> ModelRequest:
    return ModelRequest(messages=(Message("user", text),), **changes)


class Slow:
    """A model that answers after one turn of the loop, counting what it was asked."""

    name = "slow"

    def __init__(self, seconds: float = 0.0) -> None:
        self.n_asked = 0
        self.n_ended_early = 0
        self._seconds = seconds

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.n_asked += 1
        try:
            await asyncio.sleep(self._seconds)
        except asyncio.CancelledError:
            self.n_ended_early += 1
            raise
        return ModelReply(text=f"reply {self.n_asked}", usd=0.5, prompt_tokens=1)

    async def close(self) -> None: ...


@given(requests, requests, st.sampled_from(["a", "b"]), st.sampled_from(["a", "b"]))
def test_keys_are_equal_exactly_when_model_and_request_are(
    one: ModelRequest, two: ModelRequest, model_one: str, model_two: str
) -> None:
    same = one == two and model_one == model_two
    assert (key_of(model_one, one) == key_of(model_two, two)) == same
    assert key_of(model_one, one) == key_of(model_one, replace(one))


@given(requests, st.data())
def test_each_field_of_a_request_enters_the_key(request: ModelRequest, data: st.DataObject) -> None:
    field = data.draw(st.sampled_from(["messages", "temperature", "max_tokens", "stop", "seed"]))
    other = data.draw(requests)
    changed = replace(request, **{field: getattr(other, field)})
    assert (key_of("m", changed) == key_of("m", request)) == (changed == request)


def test_text_cannot_move_between_the_parts_of_a_key() -> None:
    joined = ModelRequest(messages=(Message("user", "a"), Message("user", "b")))
    assert key_of("m", joined) != key_of("m", ask("ab"))
    assert key_of("m", ask("a", stop=("b",))) != key_of("m", ask("ab"))
    assert key_of("m", ask(temperature=0)) == key_of("m", ask(temperature=0.0))


async def test_a_second_equal_request_is_a_hit_that_costs_nothing() -> None:
    inner = Slow()
    model = CachedModel(inner, MemoryReplies())
    first, second = await model.complete(ask()), await model.complete(ask())
    assert (first.cached, first.usd) == (False, 0.5)
    assert (second.cached, second.usd, second.text) == (True, 0.0, first.text)
    await model.complete(ask(seed=1))
    assert inner.n_asked == 2


async def test_equal_requests_in_flight_share_one_call_and_one_cost() -> None:
    inner = Slow(0.05)
    model = CachedModel(inner, MemoryReplies())
    got = await asyncio.gather(*(model.complete(ask()) for _ in range(20)))
    assert inner.n_asked == 1
    assert {reply.text for reply in got} == {"reply 1"}
    assert sum(reply.usd or 0 for reply in got) == 0.5
    assert sum(not reply.cached for reply in got) == 1


async def test_a_shared_call_lives_while_anybody_waits() -> None:
    inner = Slow(0.1)
    model = CachedModel(inner, MemoryReplies())
    first, second = (asyncio.create_task(model.complete(ask())) for _ in range(2))
    await asyncio.sleep(0.02)
    first.cancel()
    reply = await second
    assert (reply.text, reply.usd, reply.cached) == ("reply 1", 0.5, False)


@pytest.mark.parametrize("after_s", [0.0, 0.02])
async def test_a_call_that_nobody_waits_for_ends_and_the_next_one_is_new(after_s: float) -> None:
    inner = Slow(0.2)
    model = CachedModel(inner, MemoryReplies())
    waiting = asyncio.create_task(model.complete(ask()))
    await asyncio.sleep(after_s)
    waiting.cancel()
    again = asyncio.create_task(model.complete(ask()))
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await again).cached is False
    assert inner.n_ended_early == inner.n_asked - 1


async def test_a_failure_reaches_all_who_wait_and_is_not_remembered() -> None:
    n_asked = 0

    def script(request: ModelRequest) -> str:
        nonlocal n_asked
        n_asked += 1
        if n_asked == 1:
            raise ModelUnavailable("down")
        return "up"

    model = CachedModel(ScriptedModel("s", script), MemoryReplies())
    got = await asyncio.gather(*(model.complete(ask()) for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in got] == [ModelUnavailable] * 3
    assert (await model.complete(ask())).text == "up"


@given(st.lists(replies), st.lists(replies))
def test_a_meter_adds_up_what_was_not_cached(first: list[ModelReply], rest: list[ModelReply]) -> None:
    one, two = Meter(), Meter()
    for reply in first + rest:
        one.send()
        one.done(reply)
    for reply in rest:
        two.send()
        two.done(reply)
    past = Meter()
    for reply in first:
        past.send()
        past.done(reply)
    two.add_past(past.usage)
    paid = [reply for reply in first + rest if not reply.cached]
    assert one.usage.calls == two.usage.calls == len(paid)
    assert one.usage.prompt_tokens == two.usage.prompt_tokens == sum(reply.prompt_tokens for reply in paid)
    unpriced = any(reply.usd is None for reply in paid)
    assert (one.usage.usd is None) == (two.usage.usd is None) == unpriced
    if not unpriced:
        assert one.usage.usd == pytest.approx(sum(reply.usd or 0 for reply in paid))


@given(st.integers(0, 12), st.integers(0, 30), st.integers(0, 5))
def test_the_cap_on_calls_is_exact_however_many_are_sent_at_once(cap: int, n_asked: int, past: int) -> None:
    async def main() -> None:
        inner = Slow()
        meter = Meter(Budget(calls=cap))
        meter.add_past(Usage(calls=past))
        models = [MeteredModel(inner, meter), MeteredModel(inner, meter)]
        got = await asyncio.gather(
            *(models[i % 2].complete(ask(seed=i)) for i in range(n_asked)), return_exceptions=True
        )
        assert inner.n_asked == min(n_asked, max(cap - past, 0))
        assert sum(isinstance(each, BudgetReached) for each in got) == n_asked - inner.n_asked
        assert meter.usage.calls == past + inner.n_asked

    asyncio.run(main())


@pytest.mark.parametrize(
    "budget, words",
    [
        (Budget(tokens=3), "3 tokens is reached"),
        (Budget(usd=1.5), "1.5 US dollars is reached"),
        (Budget(minutes=0.0), "0 minutes is reached"),
    ],
)
async def test_a_cap_names_itself_and_stops_before_a_call(budget: Budget, words: str) -> None:
    inner = Slow()
    model = MeteredModel(inner, Meter(budget))
    with pytest.raises(BudgetReached, match=words):
        for i in range(10):
            await model.complete(ask(seed=i))
    assert inner.n_asked == (0 if budget.minutes == 0 else 3)


async def test_a_call_that_brings_nothing_ends_soon_after_the_minutes_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(meter_module, "GRACE_S", 0.2)

    class Hanging(Slow):
        async def complete(self, request: ModelRequest) -> ModelReply:
            await asyncio.sleep(600)
            raise AssertionError

    meter = Meter(Budget(minutes=0.001))
    with pytest.raises(BudgetReached, match=r"0\.001 minutes is reached"):
        await asyncio.wait_for(MeteredModel(Hanging(), meter).complete(ask()), 30)
    assert meter.usage.calls == 1, "it was sent"


async def test_a_cap_on_money_is_not_kept_in_silence_where_a_price_is_unknown() -> None:
    meter = Meter(Budget(usd=10.0))
    meter.send()
    meter.done(ModelReply(text="x", usd=None))
    assert meter.usage.usd is None
    with pytest.raises(BudgetReached, match="cost is not known"):
        meter.check()


async def test_a_failed_call_counts_and_a_hit_does_not() -> None:
    def script(request: ModelRequest) -> str:
        raise ModelUnavailable("down")

    meter = Meter(Budget(calls=2))
    with pytest.raises(ModelUnavailable):
        await MeteredModel(ScriptedModel("s", script), meter).complete(ask())
    cached = CachedModel(MeteredModel(Slow(), meter), MemoryReplies())
    for _ in range(5):
        await cached.complete(ask())
    assert meter.usage.calls == 2


@given(st.floats(0, 100), st.floats(0, 100), st.integers(0, 10**7), st.integers(0, 10**7))
def test_cost_is_linear_in_tokens(input_usd: float, output_usd: float, prompt: int, completion: int) -> None:
    price = Price(input_usd, output_usd)
    whole = cost(price, prompt, completion)
    parts = (cost(price, prompt, 0) or 0) + (cost(price, 0, completion) or 0)
    assert whole == pytest.approx(parts)
    assert cost(None, prompt, completion) is None


@given(st.integers(0, 2**31), st.integers(1, 40), st.floats(0, 1))
def test_the_limit_is_never_passed_and_loses_no_place(seed: int, most: int, share_bad: float) -> None:
    """Whatever the endpoint says and whoever gives up, no place is lost."""
    rng = random.Random(seed)
    limit = AdaptiveLimit(most=most)

    async def call() -> None:
        era = await limit.acquire()
        assert 1 <= limit.in_flight <= most
        try:
            await asyncio.sleep(0)
        finally:
            pace = Pace.OVERLOADED if rng.random() < share_bad else rng.choice([Pace.FINE, Pace.UNKNOWN])
            limit.release(era, pace)
        assert 1 <= limit.limit <= most

    async def main() -> None:
        calls = [asyncio.create_task(call()) for _ in range(60)]
        for _ in range(3):
            await asyncio.sleep(0)
            for each in rng.sample(calls, 10):
                each.cancel()
        results = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 10)
        assert not [each for each in results if isinstance(each, AssertionError)]
        assert limit.in_flight == 0

    asyncio.run(main())


async def test_one_burst_of_overloads_halves_the_limit_once() -> None:
    limit = AdaptiveLimit(start=8)
    eras = [await limit.acquire() for _ in range(8)]
    for era in eras:
        limit.release(era, Pace.OVERLOADED)
    assert limit.limit == 4


async def test_the_limit_doubles_a_round_trip_while_all_is_fine_and_then_creeps() -> None:
    limit = AdaptiveLimit(start=8, most=1000)
    waiting = [asyncio.create_task(limit.acquire()) for _ in range(500)]

    async def round_trip(pace: Pace) -> int:
        """Ends all calls in flight, lets as many as may start, and tells how many those are."""
        await asyncio.sleep(0)
        for _ in range(limit.in_flight):
            limit.release(await waiting.pop(0), pace)
        return limit.in_flight

    assert [await round_trip(Pace.FINE) for _ in range(3)] == [16, 32, 64]
    assert await round_trip(Pace.OVERLOADED) == 32
    assert [await round_trip(Pace.FINE) for _ in range(3)] == [32, 33, 34]
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


class Dear:
    """A model whose replies have these numbers of tokens in turn, and cost a dollar a token of a reply."""

    name = "dear"

    def __init__(self, lengths: list[int]) -> None:
        self.lengths = lengths
        self.spent = 0.0
        self.n_asked = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        length = self.lengths[self.n_asked % len(self.lengths)]
        self.n_asked += 1
        for _ in range(length % 4):
            await asyncio.sleep(0)
        self.spent += length
        return ModelReply(text="x", prompt_tokens=1, completion_tokens=length, usd=float(length))

    async def close(self) -> None: ...


@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=9), st.integers(20, 400), st.integers(1, 60), st.data()
)
def test_money_is_held_however_many_ask_at_once(
    lengths: list[int], cap: int, n_asked: int, data: st.DataObject
) -> None:
    """The cap is passed by no more than a reply is longer than those before it: by less than one call."""
    kept = data.draw(st.integers(0, cap))

    async def main() -> None:
        inner, meter = Dear(lengths), Meter(Budget(usd=cap))
        meter.keep(Need(usd=kept))
        model = MeteredModel(inner, meter, Price(0.0, 1e6))
        asked = [model.complete(ask(seed=i, max_tokens=20)) for i in range(n_asked)]
        got = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 30)
        n_refused = sum(isinstance(each, BudgetReached) for each in got)
        assert n_refused == n_asked - inner.n_asked, "each is answered or refused, and none waits for ever"
        assert inner.spent == meter.usage.usd
        longest_first = lengths[0] == max(lengths)
        assert inner.spent <= cap - kept + (0 if longest_first else max(lengths) - 1)
        if n_refused:
            assert inner.spent + 20 > cap - kept, "it stops for want of money alone"

    asyncio.run(main())


async def test_a_cap_smaller_than_one_call_is_refused_and_nothing_is_sent() -> None:
    for budget in (Budget(usd=9.0), Budget(tokens=5)):
        inner = Dear([10])
        model = MeteredModel(inner, Meter(budget), Price(0.0, 1e6))
        with pytest.raises(ConfigError, match="holds no call"):
            await model.complete(ask("a prompt of more than five tokens", max_tokens=10))
        assert inner.n_asked == 0


async def test_calls_wait_for_their_share_of_the_tokens_as_well() -> None:
    inner, meter = Dear([10]), Meter(Budget(tokens=100))
    model = MeteredModel(inner, meter)
    await model.complete(ask())
    await asyncio.gather(*(model.complete(ask(seed=i)) for i in range(1, 60)), return_exceptions=True)
    spent = meter.usage.prompt_tokens + meter.usage.completion_tokens
    assert 100 <= spent <= 100 + 11, "by one call at most"


async def test_a_call_that_is_given_up_counts_at_its_most() -> None:
    meter = Meter(Budget(usd=1000.0))
    model = MeteredModel(Slow(60), meter, Price(0.0, 1e6))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(model.complete(ask(max_tokens=30)), 0.05)
    assert meter.usage.usd == 30.0
    assert meter.usage.completion_tokens == 30
