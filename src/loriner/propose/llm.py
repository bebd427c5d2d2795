"""Any language model as proposer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from loriner.errors import PromptRefused
from loriner.models.base import Message, Model, ModelReply, ModelRequest, call_of, facts_of
from loriner.propose.prompt import TOKEN_BUDGET, Shown, messages
from loriner.propose.proposer import Completion, Proposer
from loriner.records import Context
from loriner.runtime.base import Limits
from loriner.seeding import derive

MAX_TOKENS = 8_192
"""New tokens of one completion: a whole program with the reasoning before it. The program alone may have
16,000 characters, of which 2,048 tokens held not half."""
LEAST_PROMPT = 2_000
"""Tokens of a prompt below which it is not halved again."""
_MARGIN = 64
"""Tokens that a chat template adds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How a model is asked for revisions."""

    seed: int = 0
    temperature: float = 0.8
    max_tokens: int = MAX_TOKENS
    budget: int = TOKEN_BUDGET
    """Tokens of the prompt."""
    shown: Shown = field(default_factory=Shown)
    limits: Limits | None = None
    """What a program may use for one question, if the proposer is to know."""

    def within(self, context: int | None) -> Asking:
        """The same for a model whose context holds so many tokens of prompt and reply together: the reply
        gets what the prompt leaves, and at least a third.
        """
        if context is None:
            return self
        reply = min(self.max_tokens, max(context // 3, context - self.budget - _MARGIN))
        return replace(self, max_tokens=reply, budget=min(self.budget, context - reply - _MARGIN))

    def read(self, context: Context) -> tuple[Message, ...]:
        """The prompt."""
        return messages(context, shown=self.shown, budget=self.budget, limits=self.limits)


def llm_proposer(model: Model, asking: Asking | None = None) -> Proposer:
    """A proposer that shows the context to `model` and takes its reply. A model that refuses the prompt as
    too long for its context is asked again with half of it and half of the reply.
    """
    first = asking or Asking()

    async def write(context: Context, index: int) -> Completion:
        request, reply = await _ask(model, first, context, index)
        return Completion(reply.text, (call_of(facts_of(request), reply),))

    return Proposer(model.name, write)


async def _ask(model: Model, asking: Asking, context: Context, index: int) -> tuple[ModelRequest, ModelReply]:
    request = ModelRequest(
        messages=asking.read(context),
        temperature=asking.temperature,
        max_tokens=asking.max_tokens,
        seed=derive(asking.seed, "propose", context.id, index),
    )
    try:
        return request, await model.complete(request)
    except PromptRefused:
        if asking.budget < 2 * LEAST_PROMPT:
            raise
    half = replace(asking, budget=asking.budget // 2, max_tokens=asking.max_tokens // 2)
    return await _ask(model, half, context, index)
