"""What tokens cost. A price that nobody knows stays None; it never becomes 0."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars a million tokens."""

    input: float
    output: float


def cost(price: Price | None, prompt_tokens: int, completion_tokens: int) -> float | None:
    """US dollars for so many tokens; None where the price is unknown."""
    if price is None:
        return None
    return (price.input * prompt_tokens + price.output * completion_tokens) / 1e6


def price_of(base_url: str, model: str) -> Price | None:
    """The list price of a hosted model, from the package `genai-prices` where it is installed; else None.

    The provider is recognised by its address, so a model on a machine of one's own has no list price.
    It is the price of the lowest tier, without discounts for cached tokens.
    """
    if importlib.util.find_spec("genai_prices") is None:
        return None
    from genai_prices import Usage, calc_price

    tokens = 1000
    usage = Usage(input_tokens=tokens, output_tokens=tokens)
    try:
        found = calc_price(usage, model, provider_api_url=base_url)
    except LookupError:
        return None
    scale = 1e6 / tokens
    return Price(float(found.input_price) * scale, float(found.output_price) * scale)
