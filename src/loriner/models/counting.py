"""The tokens that an endpoint counts: estimated where it counts none, doubted where they cannot be."""

from __future__ import annotations

import logging
from dataclasses import replace

from loriner.models.base import ModelRequest
from loriner.models.reply import Completed
from loriner.models.tokens import CHARACTERS_PER_TOKEN, about, prompt_about, prompt_characters

logger = logging.getLogger("loriner")

_LEAST_CUT = 100
"""No endpoint has a context of fewer tokens."""
_ODD_CHARACTERS_PER_TOKEN = 8.0
"""So many are in no ordinary text."""
_UNLIKE = 1.5
"""Times that one of two prompts is longer, at least, to be unlike the other in length."""


class Counting:
    """Reads the counts of one endpoint, and tells once what is wrong with them."""

    def __init__(self, endpoint: str) -> None:
        """
        Args:
            endpoint: what it is called where something is told.
        """
        self._endpoint = endpoint
        self._told: set[str] = set()
        self._shortest: dict[int, int] = {}
        """By number of tokens, the characters of the shortest prompt that was counted so."""

    def read(self, request: ModelRequest, reply: Completed) -> Completed:
        """The reply with all its tokens: 0 is no count of a text."""
        prompt = reply.prompt_tokens or prompt_about(request)
        completion = reply.completion_tokens or about(len(reply.text))
        counted = (prompt, completion) == (reply.prompt_tokens, reply.completion_tokens)
        if not counted:
            self._tell(
                "uncounted",
                f"reports no usage: tokens are estimated at {CHARACTERS_PER_TOKEN:g} characters each, and "
                "what the calls cost is not known",
            )
        if reply.prompt_tokens:
            self._compare(prompt_characters(request), reply.prompt_tokens)
        return replace(reply, prompt_tokens=prompt, completion_tokens=completion, counted=counted)

    def _compare(self, n_characters: int, n_tokens: int) -> None:
        """Tells it if a longer prompt has as many tokens as a shorter one had."""
        shortest = self._shortest.setdefault(n_tokens, n_characters)
        low, high = sorted((shortest, n_characters))
        self._shortest[n_tokens] = low
        odd = high > _ODD_CHARACTERS_PER_TOKEN * n_tokens
        if n_tokens >= _LEAST_CUT and odd and high > _UNLIKE * low:
            self._tell(
                "cut",
                f"counts {n_tokens:,} tokens in a prompt of {low:,} characters and in one of {high:,}: it "
                "seems to cut long prompts without a word. Raise its context (of Ollama: num_ctx)",
            )

    def _tell(self, what: str, words: str) -> None:
        if what not in self._told:
            self._told.add(what)
            logger.warning("%s %s", self._endpoint, words)
