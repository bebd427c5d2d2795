"""Everything that can stop a command, as a small tree of exceptions.

Outcomes are data (a `Trial` or a `Rollout` with a failure); an exception stops something. A message
says what was tried, on what, what was found, and what to do. Each class names the exit code with which
the command line ends when the exception reaches it.
"""

from __future__ import annotations

from typing import ClassVar


class LorinerError(Exception):
    """Root of every error that this package raises on purpose."""

    exit_code: ClassVar[int] = 2


class ConfigError(LorinerError):
    """A setting, a file or an option is wrong; nothing was started."""


class MissingExtra(ConfigError):
    """An optional dependency is not installed."""

    def __init__(self, extra: str, needed_for: str) -> None:
        super().__init__(f"{needed_for} needs the extra [{extra}]: pip install 'loriner[{extra}]'")
        self.extra = extra


class TaskError(LorinerError):
    """A task cannot be read, or its scorer breaks its contract."""


class EditError(LorinerError):
    """A completion does not make a candidate.

    `code` is one of the codes in `loriner.harness.edits.STAGE_OF`; the message is fit for a proposer.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class HarnessError(LorinerError):
    """A harness file cannot be used: it does not load, or has no `solve(model, question)`."""


class ModelError(LorinerError):
    """A model did not answer. What it billed all the same is told beside the words."""

    exit_code = 3

    def __init__(
        self,
        message: str = "",
        *,
        prompt_tokens: int = 0,
        completion_tokens: int = 0,
        usd: float | None = 0.0,
    ) -> None:
        """
        Args:
            usd: None where something was billed and its price is not known.
        """
        super().__init__(message)
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        self.usd = usd


class ModelUnavailable(ModelError):
    """The endpoint is down, overloaded or unreachable: our fault, worth another try."""


class ModelRefused(ModelError):
    """The endpoint answered that this request will never work (a 4xx other than 408 and 429)."""


class PromptRefused(ModelRefused):
    """The endpoint takes other requests and not this one: its prompt does not fit or is not allowed, or it
    asks for what the model cannot do. It is the doing of whoever wrote the request.
    """


class NotOnRecord(LorinerError):
    """A replayed run asks a model for what the recorded run never asked."""

    exit_code = 3


class RuntimeUnavailable(LorinerError):
    """The sandbox cannot run a harness on this machine."""

    exit_code = 3


class InfrastructureError(LorinerError):
    """Too many trials failed through no fault of the harness; the run stopped."""

    exit_code = 3


class BudgetReached(LorinerError):
    """A cap on calls, tokens, money, trials or time was reached; the run can be resumed."""

    exit_code = 4


class Interrupted(LorinerError):
    """The person stopped the run; what was acknowledged is in the store."""

    exit_code = 5


class StoreError(LorinerError):
    """The store or the registry is damaged, or its disk is full."""

    exit_code = 6
