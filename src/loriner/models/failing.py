"""The exception for a request that failed in the end: what was tried, on what, what was found, what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass

from loriner.errors import ModelError, ModelRefused, ModelUnavailable, PromptRefused
from loriner.models.bill import CallBill
from loriner.models.reply import Failed
from loriner.models.serving import Found
from loriner.models.waiting import is_loading

_TOO_LONG = re.compile(
    r"context (length|window|size)|maximum context|too (long|large)|exceeds?\b.*\b(context|length)",
    re.IGNORECASE,
)
"""How endpoints say that a prompt does not fit; any other 400 is a matter of settings, not of the prompt."""
_FILTERED = ("content_filter", "content_policy_violation")
"""How endpoints call it when they do not allow a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Tells the failures of one model."""

    base_url: str
    model: str
    api_key_env: str | None
    wait_s: float

    def error(self, failed: Failed, bill: CallBill, found: Found, *, chosen: bool) -> ModelError:
        """The exception for the last failed try; `chosen` where the program asked for what was refused."""
        words = failed.message.removesuffix(".")
        said = f"status {failed.status}, {words}" if failed.status else words
        if failed.worth_retrying and not found.elsewhere:
            return ModelUnavailable(
                f"{self.base_url} did not answer for {self.model} in {failed.n_tries} tries; the last error "
                f"was: {said}. {self._next_step(failed)}, then run the command again",
                **bill.facts(),
            )
        message = f"{self.base_url} refused a request to {self.model}: {said}"
        if _of_the_prompt(failed) or chosen:
            return PromptRefused(message, **bill.facts())
        advice = found.advice(self.model) or self._hint(failed)
        return ModelRefused(". ".join(filter(None, (message, advice))), **bill.facts())

    def _next_step(self, failed: Failed) -> str:
        """What to do about a failure that may pass."""
        if (asked := failed.retry_after_s or 0.0) > self.wait_s:
            return f"It asks to wait {asked:,.0f} s, which is more than wait_s = {self.wait_s:g}: wait"
        if is_loading(failed):
            return f"It was still loading the model after {self.wait_s:g} s (wait_s): wait until it is there"
        if failed.status == 200:
            return "Something answers there: check that the address is an endpoint's (it often ends in /v1)"
        return "Check that the server runs and is reachable"

    def _hint(self, failed: Failed) -> str:
        status = failed.status
        if status == 200 and failed.final:
            return "Have the server answer whole: extra_body = { stream = false }, or a setting of its own"
        if failed.unpaid:
            return "The account has no credit left, and waiting does not help"
        if status in (401, 403):
            if self.api_key_env:
                return f"Check the key in the environment variable {self.api_key_env}"
            return "Name the environment variable that holds the key in api_key_env"
        if status in (404, 405):
            return f"Check the address (it often ends in /v1) and that the endpoint serves {self.model}"
        if 300 <= status < 400:
            return "Use the address to which it redirects"
        return ""


def _of_the_prompt(failed: Failed) -> bool:
    """Whether the prompt is refused, rather than how it was sent: too long, or not allowed."""
    if failed.status not in (400, 422):
        return failed.status == 413
    return failed.code in _FILTERED or _TOO_LONG.search(failed.message) is not None
