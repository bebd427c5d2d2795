"""What the tries of one request came to, whatever became of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loriner.models.base import ModelRequest
from loriner.models.prices import Price, cost
from loriner.models.reply import Attempt, Completed, counts
from loriner.models.tokens import most


@dataclass(slots=True)
class CallBill:
    """Adds up tries. One of which no whole reply came is counted at the most that it may have cost."""

    price: Price | None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = 0.0
    """None as soon as the cost of one try is not known."""

    def add(self, request: ModelRequest, attempt: Attempt) -> None:
        """Enters a try. A refusal that tells no usage cost nothing."""
        if isinstance(attempt, Completed):
            self._enter(attempt.prompt_tokens, attempt.completion_tokens, known=attempt.counted)
        elif attempt.lost:
            self._enter(*most(request))
        elif attempt.usage:
            self._enter(*counts(attempt.usage))

    def facts(self) -> Mapping[str, Any]:
        """The sums by name, as a reply and an error carry them."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "usd": self.usd,
        }

    def _enter(self, prompt_tokens: int, completion_tokens: int, *, known: bool = True) -> None:
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens
        usd = cost(self.price, prompt_tokens, completion_tokens) if known else None
        self.usd = None if usd is None or self.usd is None else self.usd + usd
