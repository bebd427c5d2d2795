"""Names of models, scripts, prices."""

from __future__ import annotations

from pathlib import Path

import pytest

from loriner.errors import ConfigError, ModelUnavailable
from loriner.models.base import Message, Model, ModelRequest
from loriner.models.chat import ChatModel
from loriner.models.named import ModelSpec, open_model
from loriner.models.prices import Price, price_of
from loriner.models.scripted import scripted

SPECS = {
    "mine": ModelSpec(base_url="http://localhost:8000/v1", model="org/mine", price=Price(1.0, 2.0)),
    "far": ModelSpec(base_url="https://models.example.com/v1", model="big", api_key_env="FAR_TEST_KEY"),
    "half": ModelSpec(base_url="http://localhost:8000/v1"),
    "both": ModelSpec(base_url="http://localhost/v1", model="m", gguf="m.gguf"),
    "smollm2-135m": ModelSpec(base_url="http://localhost:1/v1", model="served"),
}


def opened(name: str, models_dir: Path = Path("nowhere"), offline: bool = False) -> Model:
    return open_model(name, specs=SPECS, models_dir=models_dir, offline=offline)


@pytest.mark.parametrize(
    "name, full",
    [
        ("mine", "http://localhost:8000/v1::org/mine"),
        ("http://localhost:8000/v1::a/b:c", "http://localhost:8000/v1::a/b:c"),
        ("http://[::1]:8000/v1::m", "http://[::1]:8000/v1::m"),
        ("scripted:echo", "scripted:echo"),
        ("smollm2-135m", "http://localhost:1/v1::served"),
    ],
)
def test_a_name_opens_what_it_says_and_the_users_own_come_first(name: str, full: str) -> None:
    assert opened(name).name == full


@pytest.mark.parametrize(
    "name, words",
    [
        ("mime", "did you mean mine"),
        ("qwen2.5-coder-0.5", "did you mean qwen2.5-coder-0.5b"),
        ("gpt", "There are mine, far, .*smollm2-135m, trained, gguf:PATH and URL::MODEL"),
        ("", "no model is called ''"),
        ("gguf:", "no model is called"),
        ("http://localhost:8000/v1", "no model is called"),
        ("http://localhost:8000/v1::", "no model is called"),
        ("scripted:ehco", "no script is called 'ehco'; there are echo"),
        ("ftp://host/v1::m", "is not the address of an endpoint"),
        ("half", "half needs either base_url and model, or gguf"),
        ("both", "both needs either"),
        ("gguf:/no/such/file.gguf", "there is no model file /no/such/file.gguf"),
        ("qwen2.5-coder-0.5b", "not in nowhere: loriner models pull qwen2.5-coder-0.5b"),
        (
            "trained",
            "weights of qwen2.5-coder-0.5b are not in nowhere: loriner models pull qwen2.5-coder-0.5b",
        ),
        ("traned", "did you mean trained"),
    ],
)
def test_a_bad_name_is_an_error_that_helps(name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        opened(name)


def test_a_missing_key_is_told_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAR_TEST_KEY", raising=False)
    with pytest.raises(ConfigError, match="FAR_TEST_KEY"):
        opened("far")
    monkeypatch.setenv("FAR_TEST_KEY", "sk-1234567")
    model = opened("far")
    assert "sk-1234567" not in repr(model) + model.name


@pytest.mark.parametrize("name", ["far", "http://10.0.0.1:8000/v1::m"])
def test_offline_keeps_to_this_machine(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAR_TEST_KEY", "sk-1234567")
    with pytest.raises(ConfigError, match="--offline forbids"):
        opened(name, offline=True)
    assert isinstance(opened("mine", offline=True), ChatModel)


@pytest.mark.parametrize("script, text", [("echo", "last line"), ("count", "4"), ("empty", "")])
async def test_scripts_reply_to_the_last_user_message(script: str, text: str) -> None:
    messages = (
        Message("user", "earlier"),
        Message("assistant", "well"),
        Message("user", "two\nwords\nlast line"),
        Message("assistant", "prefill"),
    )
    reply = await scripted(script).complete(ModelRequest(messages=messages))
    assert (reply.text, reply.usd) == (text, 0.0)
    assert (reply.prompt_tokens, reply.completion_tokens) == (7, len(text.split()))


async def test_a_script_can_be_down() -> None:
    with pytest.raises(ModelUnavailable, match="scripted:down"):
        await scripted("down").complete(ModelRequest(messages=()))
    assert (await scripted("echo").complete(ModelRequest(messages=()))).text == ""


def test_a_list_price_needs_a_known_provider() -> None:
    pytest.importorskip("genai_prices")
    found = price_of("https://api.openai.com/v1", "gpt-4o-mini")
    assert found is not None and 0 < found.input < found.output
    assert price_of("https://api.openai.com/v1", "no-such-model") is None
    assert price_of("http://localhost:8000/v1", "gpt-4o-mini") is None
