"""What a run spends, counted where the calls are sent, and the caps that stop it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass

from loriner.errors import BudgetReached
from loriner.models.base import Model, ModelReply, ModelRequest
from loriner.records import Usage

GRACE_S = 60.0
"""How long a call under way may go on once the minutes are over: enough for a reply that is coming."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Caps on a run; None is no cap."""

    calls: int | None = None
    tokens: int | None = None
    """Prompt and completion tokens together."""
    usd: float | None = None
    trials: int | None = None
    minutes: float | None = None
    """Wall time of this process; time before a resume does not count."""

    def __post_init__(self) -> None:
        """Refuses caps below 0, and those that are no number; ValueError names the first."""
        for name, cap in asdict(self).items():
            if cap is not None and not cap >= 0:  # also false for NaN, which no sum would ever reach
                raise ValueError(f"{name} = {cap}: expected 0 or more")


class Meter:
    """Adds up what all the models that share it spend.

    Calls are counted as they are sent, so their cap is exact. Tokens and money are known once a call is
    done: they can pass their cap by what was in flight. Time can pass it by `GRACE_S`.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self._budget = budget or Budget()
        self._usage = Usage()
        self._n_sent = 0
        self._n_trials = 0
        self._started = time.monotonic()

    @property
    def usage(self) -> Usage:
        """What was spent: finished calls, and the past that was added."""
        return self._usage

    @property
    def minutes(self) -> float:
        """Wall time since the meter was made."""
        return (time.monotonic() - self._started) / 60

    def add_past(self, usage: Usage, n_trials: int = 0) -> None:
        """Counts what a run had spent before it was resumed."""
        self._usage += usage
        self._n_sent += usage.calls
        self._n_trials += n_trials

    def begin_trial(self) -> None:
        """Counts one trial that is about to run, or raises `BudgetReached`."""
        _stop_at(self._budget.trials, self._n_trials, "trials")
        self._n_trials += 1

    def check(self) -> None:
        """Raises `BudgetReached` if no further call may be sent."""
        budget, usage = self._budget, self._usage
        if budget.usd is not None and usage.usd is None:
            raise BudgetReached(
                f"the cap of ${budget.usd:g} cannot be kept: a call of this run has no known price. "
                "Set the model's price, or cap tokens instead"
            )
        _stop_at(budget.calls, self._n_sent, "calls")
        _stop_at(budget.tokens, usage.prompt_tokens + usage.completion_tokens, "tokens")
        _stop_at(budget.usd, usage.usd or 0.0, "US dollars")
        _stop_at(budget.minutes, self.minutes, "minutes")

    @property
    def patience_s(self) -> float | None:
        """How long a call that is sent now may take; None without a cap on minutes."""
        cap = self._budget.minutes
        return None if cap is None else max(cap - self.minutes, 0.0) * 60 + GRACE_S

    def send(self) -> None:
        """Counts one call that is about to be sent, or raises `BudgetReached`."""
        self.check()
        self._n_sent += 1

    def done(self, reply: ModelReply) -> None:
        """Counts what a sent call cost. A reply from a cache gives the call back."""
        if reply.cached:
            self._n_sent -= 1
            return
        self._usage += Usage(
            calls=1,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            usd=reply.usd,
            seconds=reply.seconds,
        )

    def failed(self, seconds: float) -> None:
        """Counts a sent call that brought nothing."""
        self._usage += Usage(calls=1, seconds=seconds)


class MeteredModel:
    """A model whose calls a meter counts and may forbid."""

    def __init__(self, inner: Model, meter: Meter) -> None:
        self._inner = inner
        self._meter = meter

    @property
    def name(self) -> str:
        return self._inner.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply.

        Raises:
            BudgetReached: a cap is reached and nothing was sent, or the minutes ended while nothing came.
        """
        self._meter.send()
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._meter.patience_s) as patience:
                reply = await self._inner.complete(request)
        except BaseException:
            self._meter.failed(time.monotonic() - started)
            if patience.expired():
                self._meter.check()
            raise
        self._meter.done(reply)
        return reply

    async def close(self) -> None:
        await self._inner.close()


def _stop_at(cap: float | None, spent: float, unit: str) -> None:
    if cap is not None and spent >= cap:
        raise BudgetReached(
            f"the budget of {cap:,.6g} {unit} is reached ({spent:,.6g} spent); raise it to go on"
        )
