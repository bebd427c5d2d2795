"""What a call that is to be sent may take, by the price of its model and by the replies so far."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loriner.models.base import ModelReply, ModelRequest
from loriner.models.prices import Price, cost
from loriner.models.tokens import ASSUMED_REPLY, most, prompt_about, prompt_bytes
from loriner.records import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What one call is expected to take."""

    tokens: float = 0.0
    """As its prompt and the mean reply have."""
    usd: float = 0.0
    """With a prompt as dense in tokens and a reply as long as any of its model so far."""
    most_usd: float = 0.0
    """With a reply as long as it may be."""


class Forecast:
    """Looks ahead for the calls of one model."""

    def __init__(self, price: Price | None = None) -> None:
        """
        Args:
            price: None where unknown; then the mean cost of a token of the run so far stands for it.
        """
        self._price = price
        self._longest: int | None = None
        """Tokens of the longest reply; None before the first."""
        self._densest = 0.0
        """Tokens a byte of the prompt that had the most."""

    def of(self, request: ModelRequest, usage: Usage) -> Ahead:
        """What the call may take in a run that has spent so much."""
        tokens = prompt_about(request) + usage.completion_tokens / max(1, usage.calls)
        prompt, reply = most(request)
        if self._price is None:
            usd = (usage.usd or 0.0) * tokens / max(1, usage.prompt_tokens + usage.completion_tokens)
            return Ahead(tokens=tokens, usd=usd, most_usd=usd)
        likely = (prompt, min(reply, ASSUMED_REPLY))
        if self._longest is not None:
            likely = (math.ceil(self._densest * prompt_bytes(request)), min(reply, self._longest))
        return Ahead(
            tokens=tokens,
            usd=cost(self._price, *likely) or 0.0,
            most_usd=cost(self._price, prompt, reply) or 0.0,
        )

    def learn(self, request: ModelRequest, reply: ModelReply) -> None:
        """Takes note of how many tokens a prompt and its reply had."""
        self._longest = max(self._longest or 0, reply.completion_tokens)
        self._densest = max(self._densest, reply.prompt_tokens / max(1, prompt_bytes(request)))
