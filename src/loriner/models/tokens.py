"""How many tokens a text may have, where nobody has counted them."""

from __future__ import annotations

import math

from loriner.models.base import ModelRequest

CHARACTERS_PER_TOKEN = 4.0
"""Of English text, roughly."""
LEAST_BYTES_PER_TOKEN = 3.0
"""Of nearly any text, roughly: one token a character in scripts that UTF-8 writes with three bytes."""
_OF_A_MESSAGE = 8
"""What a chat template adds to each message, and a little more."""


def about(n_characters: int) -> int:
    """Tokens of a text of this length."""
    return math.ceil(n_characters / CHARACTERS_PER_TOKEN)


def prompt_about(request: ModelRequest) -> int:
    """Tokens that the prompt is likely to have."""
    return about(sum(len(message.content) for message in request.messages))


def most(request: ModelRequest) -> tuple[int, int]:
    """Tokens of prompt and completion that a request takes at most: it may ask for no more of the second;
    the first are counted by bytes, which only an odd text can pass.
    """
    n_bytes = sum(len(each.content.encode("utf-8", "replace")) for each in request.messages)
    return math.ceil(n_bytes / LEAST_BYTES_PER_TOKEN) + _OF_A_MESSAGE * len(
        request.messages
    ), request.max_tokens
