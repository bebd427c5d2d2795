"""How many tokens a text may have, where nobody has counted them."""

from __future__ import annotations

import json
import math

from loriner.models.base import ModelRequest

CHARACTERS_PER_TOKEN = 4.0
"""Of English text, roughly."""
LEAST_BYTES_PER_TOKEN = 3.0
"""Of nearly any text, roughly: one token a character in scripts that UTF-8 writes with three bytes."""
ASSUMED_REPLY = 64
"""Tokens of a reply where none is known."""
_BYTES_OF_A_PART = 6_000
"""What an image or a file is taken for: some 2,000 tokens, more than most images are billed at."""
_OF_A_MESSAGE = 8
"""What a chat template adds to each message, and a little more."""


def about(n_characters: int) -> int:
    """Tokens of a text of this length."""
    return math.ceil(n_characters / CHARACTERS_PER_TOKEN)


def prompt_characters(request: ModelRequest) -> int:
    """Characters of all messages."""
    return sum(len(message.content) for message in request.messages)


def prompt_about(request: ModelRequest) -> int:
    """Tokens that the prompt is likely to have."""
    return about(prompt_characters(request))


def prompt_bytes(request: ModelRequest) -> int:
    """Bytes of all messages, and of what else the model reads: tools, schemas, and parts that are no text."""
    texts = sum(len(each.content.encode("utf-8", "replace")) for each in request.messages)
    calls = [call for each in request.messages for call in each.tool_calls]
    beside = len(json.dumps([dict(request.further), calls])) if request.further or calls else 0
    n_parts: int = sum(part.get("type") != "text" for each in request.messages for part in each.parts)
    return texts + beside + n_parts * _BYTES_OF_A_PART


def most(request: ModelRequest) -> tuple[int, int]:
    """Tokens of prompt and completion that a request takes at most: it may ask for no more of the second;
    the first are counted by bytes, which only an odd text can pass.
    """
    prompt = math.ceil(prompt_bytes(request) / LEAST_BYTES_PER_TOKEN) + _OF_A_MESSAGE * len(request.messages)
    return prompt, request.max_tokens
