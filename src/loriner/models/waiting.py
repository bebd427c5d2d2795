"""How long to wait before a request is tried again, and when to give up."""

from __future__ import annotations

import random
import re

from loriner.models.reply import Failed

WAIT_S = 540.0
"""What a call may wait in all, unless settings say more: less than `limits.call_s`, so that its own words are
told."""
_TRIES = 5
_SLOW_BACKOFF_S = 0.5
"""First pause after a reply that asks for patience (429, 5xx)."""
_FAST_BACKOFF_S = 0.15
"""First pause where nothing answered: all tries at a dead port take less than 5 s."""
_MOST_BACKOFF_S = 60.0
_LOOK_S = 5.0
"""Longest pause while a model is loaded."""
_LOADING = re.compile(
    r"\bload(ing)?\b.{0,40}\bmodel|\bmodel\b.{0,200}\b(load(ing)?|warming|starting|not (yet )?ready)\b"
    r"|^loading\b|^warming up",
    re.IGNORECASE,
)
"""How servers say that they are about to serve a model."""
_IN_VAIN = re.compile(r"\b(fail(ed|ure)?|error|unable|cannot|could not|can't|out of memory)\b", re.IGNORECASE)
"""How they say that they never will."""


class Waiting:
    """The patience that one call has."""

    def __init__(self, most_s: float = WAIT_S) -> None:
        """
        Args:
            most_s: seconds of all pauses together.
        """
        self._left_s = most_s
        self._n_counted = 0
        self.n_tries = 0

    def pause_s(self, failed: Failed) -> float | None:
        """Seconds before the next try; None where there should be none. Our own back-off is the least."""
        self.n_tries += 1
        loading = is_loading(failed)
        self._n_counted += not loading
        if not failed.worth_retrying or self._n_counted >= _TRIES:
            return None
        pause = max(self._backoff_s(failed), failed.retry_after_s or 0.0)
        if loading and not failed.retry_after_s:
            pause = min(pause, _LOOK_S)
        if pause > self._left_s:
            return None
        self._left_s -= pause
        return pause

    def _backoff_s(self, failed: Failed) -> float:
        base = _SLOW_BACKOFF_S if failed.status else _FAST_BACKOFF_S
        return min(base * 2.0 ** min(self.n_tries - 1, 20), _MOST_BACKOFF_S) * random.uniform(0.75, 1.25)


def is_loading(failed: Failed) -> bool:
    """Whether the server says that its model is not there yet, but will be."""
    if failed.status not in (425, 500, 502, 503, 504) or _IN_VAIN.search(failed.message):
        return False
    return _LOADING.search(failed.message) is not None
