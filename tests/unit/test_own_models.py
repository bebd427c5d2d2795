"""Models that are objects of the caller's own."""

from __future__ import annotations

from typing import Any

import pytest

from loriner.api.given import Given, Model
from loriner.errors import ConfigError, ModelRefused
from loriner.models.base import Message, ModelRequest
from loriner.models.named import price_named
from loriner.models.own import OwnModel, as_model
from loriner.models.scripted import ScriptedModel

ASKED = ModelRequest(
    messages=(Message("system", "Be brief."), Message("user", "2+2?")), temperature=0.5, max_tokens=9, seed=4
)


async def reply(given: Any) -> str:
    return (await as_model(given).complete(ASKED)).text


def plain(prompt: str) -> str:
    return f"<{prompt}>"


async def later(prompt: str, *, seed: int, max_tokens: int) -> str:
    return f"{prompt}|{seed}|{max_tokens}"


def apart(prompt: str, system: str, temperature: float) -> str:
    return f"{system}/{prompt}/{temperature}"


class Talking:
    name = "talk"

    async def chat(self, messages: list[dict[str, str]], stop: Any = "") -> str:
        return f"{[each['role'] for each in messages]} {messages[-1]['content']} {stop}"


async def test_a_function_gets_the_prompt_and_what_it_has_parameters_for() -> None:
    assert await reply(plain) == "<Be brief.\n\n2+2?>"
    assert await reply(later) == "Be brief.\n\n2+2?|4|9"
    assert await reply(apart) == "Be brief./2+2?/0.5"
    assert await reply(str.upper) == "BE BRIEF.\n\n2+2?"


async def test_an_object_with_chat_gets_messages() -> None:
    assert await reply(Talking()) == "['system', 'user'] 2+2? None"


def test_a_model_stays_what_it_is() -> None:
    scripted = ScriptedModel("mine", lambda request: "x")
    assert as_model(scripted) is scripted


@pytest.mark.parametrize("given", [7, None, object(), Model("http://x/v1", "m")])
def test_what_is_no_model_is_refused_with_what_is_one(given: object) -> None:
    with pytest.raises(ConfigError, match="expected a name"):
        as_model(given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda prompt: 7, "returned int"),
        (lambda prompt: 1 / 0, "raised ZeroDivisionError: division by zero"),
    ],
)
async def test_a_function_that_fails_refuses_the_request_and_says_why(given: Any, words: str) -> None:
    with pytest.raises(ModelRefused, match=words):
        await reply(given)


def test_two_functions_of_one_name_are_told_apart_and_one_is_known_again() -> None:
    given = Given()
    solver, proposer = (lambda prompt: "a"), (lambda prompt: "b")
    first, second = given.model(solver), given.proposer(proposer)
    assert (first, second) == ("python:<lambda>", "python:<lambda>#2")
    models = [given.lent.models[name] for name in (first, second)]
    assert all(isinstance(each, OwnModel) for each in models) and models[0] is not models[1]
    assert price_named(first, {}) is None


def test_an_endpoint_is_kept_with_the_name_of_its_key_and_not_the_key() -> None:
    given = Given()
    name = given.model(Model("http://x/v1", "m", api_key_env="KEY"))
    assert (name, given.specs[name].api_key_env) == ("http://x/v1::m", "KEY")
