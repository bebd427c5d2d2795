"""Any language model as proposer."""

from __future__ import annotations

from loriner.models.base import Model, ModelRequest, call_of, facts_of
from loriner.propose.prompt import TOKEN_BUDGET, Shown, messages
from loriner.propose.proposer import Completion, Proposer
from loriner.records import Context
from loriner.seeding import derive

MAX_TOKENS = 2_048
"""New tokens of one completion. Source: docs/edits.md, limits."""


def llm_proposer(
    model: Model,
    *,
    seed: int = 0,
    temperature: float = 0.8,
    max_tokens: int = MAX_TOKENS,
    budget: int = TOKEN_BUDGET,
    shown: Shown | None = None,
) -> Proposer:
    """A proposer that shows the context to `model`, within `budget` tokens, and takes its reply."""

    async def write(context: Context, index: int) -> Completion:
        request = ModelRequest(
            messages=messages(context, shown=shown, budget=budget),
            temperature=temperature,
            max_tokens=max_tokens,
            seed=derive(seed, "propose", context.id, index),
        )
        reply = await model.complete(request)
        return Completion(reply.text, (call_of(facts_of(request), reply),))

    return Proposer(model.name, write)
