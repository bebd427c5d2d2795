"""A real model in this process: SmolLM2-135M through llama.cpp. It asserts plumbing, never cleverness."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loriner.errors import ConfigError, ModelUnavailable, PromptRefused
from loriner.models.base import Message, ModelReply, ModelRequest
from loriner.models.llama import LlamaModel, idle_cores
from loriner.models.pull import packaged, pull
from loriner.models.weights import TRAINED

pytest.importorskip("xllamacpp", reason="needs the extra [local]")

HEADER = b"GGUF" + (3).to_bytes(4, "little")


def weights() -> Path:
    """The model file: from LORINER_MODELS_DIR, or pulled once into the user's cache."""
    folder = os.environ.get("LORINER_MODELS_DIR") or Path.home() / ".cache/loriner/models"
    return pull("smollm2-135m", Path(folder))


def ask(text: str, *, max_tokens: int = 12, seed: int = 1, **changes: float) -> ModelRequest:
    return ModelRequest(messages=(Message("user", text),), max_tokens=max_tokens, seed=seed, **changes)  # type: ignore[arg-type]


@pytest.fixture
async def model() -> AsyncIterator[LlamaModel]:
    made = LlamaModel(weights(), n_parallel=2, n_ctx_per_slot=256)
    yield made
    await made.close()


@pytest.mark.real_model
async def test_it_answers_costs_nothing_and_counts_its_tokens(model: LlamaModel) -> None:
    reply = await model.complete(ask("Say hello."))
    assert reply.text.strip()
    assert (reply.finish_reason, reply.completion_tokens, reply.usd) == ("length", 12, 0.0)
    assert reply.prompt_tokens == reply.usage["prompt_tokens"] > 0
    assert model.name == "gguf:SmolLM2-135M-Instruct.Q4_1.gguf@b179c9523d0e"


@pytest.mark.real_model
async def test_a_seed_means_something(model: LlamaModel) -> None:
    one, two, three = [
        (await model.complete(ask("Invent a word.", seed=seed, temperature=1.5))).text for seed in (5, 5, 6)
    ]
    assert one == two != three


@pytest.mark.real_model
@pytest.mark.parametrize(("n_parallel", "kept"), [(2, True), (1, False)])
async def test_slots_read_an_equal_beginning_once_and_a_single_slot_is_exact(
    n_parallel: int, kept: bool
) -> None:
    model = LlamaModel(weights(), n_parallel=n_parallel, n_ctx_per_slot=256)
    beginning = "Here is a long list of things that we know: " + ", ".join(map(str, range(40)))
    replies = [await model.complete(ask(f"{beginning}. What comes after {n}?")) for n in (3, 4)]
    await model.close()
    read = [reply.usage["prompt_tokens_details"]["cached_tokens"] for reply in replies]
    assert read[0] == 0
    assert (read[1] > replies[1].prompt_tokens // 2) is kept


def test_as_many_threads_as_idle_cores() -> None:
    assert 1 <= idle_cores() <= 8


@pytest.mark.real_model
async def test_more_requests_than_slots_all_return(model: LlamaModel) -> None:
    replies = await asyncio.gather(*(model.complete(ask(f"Count to {n}.", max_tokens=4)) for n in range(7)))
    assert [reply.completion_tokens for reply in replies] == [4] * 7


@pytest.mark.real_model
async def test_stop_ends_the_reply_and_is_not_part_of_it(model: LlamaModel) -> None:
    whole = (await model.complete(ask("List three fruits.", max_tokens=24))).text
    stop = whole.split()[3]
    request = ModelRequest(
        messages=(Message("user", "List three fruits."),), max_tokens=24, seed=1, stop=(stop,)
    )
    reply = await model.complete(request)
    assert whole.startswith(reply.text) and stop not in reply.text
    assert reply.finish_reason == "stop"


@pytest.mark.real_model
async def test_a_prompt_longer_than_the_context_is_the_programs_doing(model: LlamaModel) -> None:
    with pytest.raises(PromptRefused, match=r"the prompt has \d+ tokens, .* context of 256 .* shorten"):
        await model.complete(ask("word " * 400))
    with pytest.raises(PromptRefused, match=r"not valid Unicode.*surrogates"):
        await model.complete(ask("half a pair: \ud83d"))
    assert (await model.complete(ask("Hi", max_tokens=2))).completion_tokens == 2


@pytest.mark.real_model
async def test_a_reply_that_fills_the_context_ends_as_cut(model: LlamaModel) -> None:
    reply = await model.complete(ask("1 2 3 4 5 6 7 8 9 " * 12, max_tokens=2000))
    assert 240 < reply.prompt_tokens < 256
    n_tokens = reply.prompt_tokens + reply.completion_tokens
    assert n_tokens <= 256
    assert (reply.finish_reason == "length") == (n_tokens == 256)


@pytest.mark.real_model
async def test_giving_up_frees_the_slots_at_once(model: LlamaModel) -> None:
    long = [
        asyncio.create_task(model.complete(ask("Tell a long story.", max_tokens=200, seed=n)))
        for n in range(12)
    ]
    await asyncio.sleep(1)
    for each in long:
        each.cancel()
    ended = await asyncio.gather(*long, return_exceptions=True)
    assert any(isinstance(each, asyncio.CancelledError) for each in ended)
    reply = await asyncio.wait_for(model.complete(ask("Hi", max_tokens=2)), 30)
    assert reply.completion_tokens == 2


@pytest.mark.real_model
async def test_it_can_be_closed_twice_and_used_again(model: LlamaModel) -> None:
    first = await model.complete(ask("Hi", max_tokens=4))
    await model.close()
    await model.close()
    assert (await model.complete(ask("Hi", max_tokens=4))).text == first.text


@pytest.mark.real_model
@pytest.mark.parametrize("ending", ["await m.close()", "pass"], ids=["closed", "left open"])
def test_the_interpreter_exits_cleanly_and_stderr_stays_empty(ending: str) -> None:
    program = f"""
import asyncio
from pathlib import Path
from loriner.models.base import Message, ModelReply, ModelRequest
from loriner.models.llama import LlamaModel

async def main():
    m = LlamaModel(Path({str(weights())!r}), n_parallel=2, n_ctx_per_slot=256)
    r = ModelRequest(messages=(Message("user", "Hi"),), max_tokens=4)
    print(len([await m.complete(r) for _ in range(2)]))
    {ending}

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


@pytest.mark.parametrize(
    "data, words",
    [(None, "there is no model file"), (b"hello", "not a GGUF"), (b"", "not a GGUF"), (HEADER, "cut short")],
)
def test_a_file_that_is_no_model_is_refused_in_words(tmp_path: Path, data: bytes | None, words: str) -> None:
    path = tmp_path / "some.gguf"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(ConfigError, match=words):
        LlamaModel(path)
    whole = tmp_path / "whole.gguf"
    whole.write_bytes(HEADER + bytes(16))
    with pytest.raises(ConfigError, match=words):
        LlamaModel(whole, adapter=path)


@pytest.mark.real_model
async def test_an_adapter_of_other_weights_does_not_load_and_does_not_end_the_process() -> None:
    model = LlamaModel(weights(), adapter=packaged(TRAINED))
    assert (
        model.name == f"gguf:SmolLM2-135M-Instruct.Q4_1.gguf@b179c9523d0e+trained.gguf@{TRAINED.sha256[:12]}"
    )
    with pytest.raises(
        ModelUnavailable, match=r"cannot load .*Q4_1.gguf .*with .*trained.gguf .*other weights"
    ):
        await model.complete(ask("Hi"))
    await model.close()


@pytest.mark.real_model
@pytest.mark.parametrize("share", [0.001, 0.3, 0.999])
async def test_a_model_cut_short_does_not_load_and_does_not_end_the_process(
    tmp_path: Path, share: float
) -> None:
    path = tmp_path / "cut.gguf"
    whole = weights().read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    model = LlamaModel(path)
    with pytest.raises(ModelUnavailable, match=r"cannot load .*cut.gguf \([\d,]+ bytes\)"):
        await model.complete(ask("Hi"))
    await model.close()


@pytest.mark.real_model
async def test_it_follows_grammars_and_schemas_and_says_what_it_has_not(model: LlamaModel) -> None:
    async def asked(**further: Any) -> ModelReply:
        return await model.complete(replace(ask("Is water wet?", max_tokens=24), further=further))

    assert (await asked(grammar='root ::= "yes" | "no"')).text in ("yes", "no")
    schema = {"type": "object", "properties": {"wet": {"type": "boolean"}}, "required": ["wet"]}
    found = await asked(
        response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    )
    assert isinstance(json.loads(found.text)["wet"], bool)
    tokens = (await asked(logprobs=True, top_logprobs=2)).further["logprobs"]
    assert all(each["logprob"] <= 0 and len(each["top_logprobs"]) == 2 for each in tokens)
    with pytest.raises(PromptRefused, match="grammar"):
        await asked(grammar="root ::= (")
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    with pytest.raises(PromptRefused, match="image input is not supported"):
        await model.complete(ModelRequest(messages=(Message("user", "", parts=(image,)),)))
