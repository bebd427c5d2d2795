"""A model as proposer: asked within its context, with less where it refuses."""

from __future__ import annotations

import pytest

from loriner.errors import PromptRefused
from loriner.models.base import ModelReply, ModelRequest
from loriner.models.named import KNOWN, ModelSpec, context_of
from loriner.propose.llm import Asking, llm_proposer
from loriner.propose.prompt import estimate_tokens
from loriner.records import Harness
from makers import context, feedback

SPECS = {
    "slots": ModelSpec(gguf="smollm2-135m", n_ctx_per_slot=4096),
    "served": ModelSpec(base_url="http://localhost:1/v1", model="m", context_tokens=8192),
    "unknown": ModelSpec(base_url="http://localhost:1/v1", model="m"),
}


class Narrow:
    """A model with a context of so many tokens."""

    name = "narrow"

    def __init__(self, n_tokens: int) -> None:
        self.n_tokens = n_tokens
        self.asked: list[tuple[int, int]] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        prompt = sum(estimate_tokens(each.content) for each in request.messages)
        self.asked.append((prompt, request.max_tokens))
        if prompt + request.max_tokens > self.n_tokens:
            raise PromptRefused("maximum context length exceeded")
        return ModelReply(text="I would change nothing.")

    async def close(self) -> None:
        """Nothing to end."""


LONG = context(*(feedback(question=f"{n} and " * 900, answer=str(n)) for n in range(16)))


@pytest.mark.parametrize(
    ("name", "n_tokens"),
    [
        ("slots", 4096),
        ("served", 8192),
        ("unknown", None),
        ("qwen2.5-coder-0.5b", 2048),
        ("trained", 4608),
        ("gguf:m.gguf", 2048),
        ("http://localhost:1/v1::m", None),
        ("scripted:echo", None),
    ],
)
def test_the_context_of_a_model_is_known_where_it_is_set(name: str, n_tokens: int | None) -> None:
    assert context_of(name, SPECS) == n_tokens


@pytest.mark.parametrize("n_tokens", [2_048, 4_096, 8_192, 32_768, 131_072])
async def test_prompt_and_reply_fit_a_context_that_is_known(n_tokens: int) -> None:
    model = Narrow(n_tokens)
    await llm_proposer(model, Asking().within(n_tokens)).write(LONG, 0)
    ((prompt, reply),) = model.asked
    assert prompt > n_tokens // 2 or prompt > 12_000
    assert reply >= min(n_tokens // 3, 8_192)


def test_what_the_user_asked_for_stands_where_it_fits() -> None:
    asking = Asking(budget=1_000, max_tokens=900).within(2_048)
    assert (asking.budget, asking.max_tokens) == (1_000, 900)
    assert Asking().within(None) == Asking()


def test_the_trained_proposer_gets_the_prompts_that_it_knows_and_fits_its_context() -> None:
    spec = KNOWN["trained"]
    asking = Asking().at_most(spec.prompt_tokens, spec.completion_tokens).within(context_of("trained", {}))
    assert (asking.budget, asking.max_tokens) == (3_072, 1_400)
    small = Asking(budget=2_500, max_tokens=900)
    assert small.at_most(spec.prompt_tokens, spec.completion_tokens) == small
    assert small.at_most(None, None) == small


async def test_a_prompt_that_is_refused_as_too_long_is_asked_again_at_half() -> None:
    model = Narrow(7_000)
    completion = await llm_proposer(model).write(LONG, 0)
    assert completion.text == "I would change nothing."
    assert [reply for _, reply in model.asked] == [8_192, 4_096, 2_048]
    assert model.asked[-1][0] <= 4_000
    again = Narrow(7_000)
    await llm_proposer(again).write(LONG, 0)
    assert again.asked == model.asked


async def test_a_context_too_small_for_any_prompt_is_the_models_error() -> None:
    model = Narrow(500)
    with pytest.raises(PromptRefused):
        await llm_proposer(model).write(LONG, 0)
    assert len(model.asked) == 4


async def test_a_program_that_leaves_no_room_to_halve_is_the_models_error() -> None:
    source = context().harness.source + "".join(f"\n# {n} {'x' * 90}" for n in range(150)) + "\n"
    with pytest.raises(PromptRefused):
        await llm_proposer(Narrow(500)).write(context(harness=Harness(source)), 0)
