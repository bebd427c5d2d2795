"""Any language model as proposer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from loriner.errors import ConfigError, PromptRefused
from loriner.models.base import Message, Model, ModelRequest, call_of, facts_of
from loriner.propose.prompt import TOKEN_BUDGET, Shown, messages
from loriner.propose.proposer import Completion, Proposer
from loriner.records import Context
from loriner.runtime.base import Limits
from loriner.seeding import derive

MAX_TOKENS = 8_192
"""Longest reply in tokens: reasoning and a whole program. A program may have 16,000 characters, and 2,048
tokens would hold less than half of that."""
LEAST_PROMPT = 2_000
"""Tokens of the shortest prompt that is tried after longer ones were refused."""
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

    def at_most(self, prompt: int | None, reply: int | None) -> Asking:
        """The same for a model that is shown no longer prompt, and asked for no longer reply."""
        return replace(
            self,
            budget=min(self.budget, prompt or self.budget),
            max_tokens=min(self.max_tokens, reply or self.max_tokens),
        )

    def within(self, context: int | None) -> Asking:
        """The same for a model whose context holds so many tokens of prompt and reply together: the reply
        gets what the prompt leaves, and at least a third.
        """
        if context is None:
            return self
        reply = min(self.max_tokens, max(context // 3, context - self.budget - _MARGIN))
        return replace(self, max_tokens=reply, budget=min(self.budget, context - reply - _MARGIN))

    def halved(self) -> Asking:
        """The same with half of the prompt and half of the reply."""
        return replace(self, budget=self.budget // 2, max_tokens=self.max_tokens // 2)

    def has_room(self, context: Context) -> bool:
        """Whether the prompt holds the program, and more than that."""
        try:
            return self.budget >= LEAST_PROMPT and bool(self.read(context))
        except ConfigError:
            return False

    def read(self, context: Context) -> tuple[Message, ...]:
        """The prompt.

        Raises:
            ConfigError: the program is too long for it.
        """
        return messages(context, shown=self.shown, budget=self.budget, limits=self.limits)

    def request(self, context: Context, index: int) -> ModelRequest:
        """What a model is asked for the completion of this place."""
        return ModelRequest(
            messages=self.read(context),
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=derive(self.seed, "propose", context.id, index),
        )


def llm_proposer(model: Model, asking: Asking | None = None) -> Proposer:
    """A proposer that shows the context to `model` and takes its reply.

    If the model refuses the prompt as too long for its context, it is asked again with half of the prompt and
    half of the reply.
    """
    first = asking or Asking()

    async def write(context: Context, index: int) -> Completion:
        asked = first
        while True:
            request, started = asked.request(context, index), time.time()
            try:
                reply = await model.complete(request)
            except PromptRefused:
                asked = asked.halved()
                if not asked.has_room(context):
                    raise
            else:
                return Completion(reply.text, (call_of(facts_of(request), reply, started),))

    return Proposer(model.name, write)
