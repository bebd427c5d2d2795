"""What a run spends, counted where the calls are sent, and the caps that stop it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

from loriner.errors import BudgetReached, ModelError
from loriner.models.base import Model, ModelReply, ModelRequest
from loriner.models.tokens import prompt_about
from loriner.records import Usage

Unit = Literal["calls", "tokens", "usd"]
"""What is counted: the solver's calls; tokens or money of solver and proposer together."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """So much of one unit."""

    unit: Unit
    amount: float

    def __str__(self) -> str:
        return f"{self.amount:,.6g} {'solver calls' if self.unit == 'calls' else self.unit}"


GRACE_S = 60.0
"""How long a call under way may go on once the minutes are over: enough for a reply that is coming."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Caps on a run; None is no cap."""

    calls: int | None = None
    """Model calls at most."""
    tokens: int | None = None
    """Prompt and completion tokens together, at most."""
    usd: float | None = None
    """Stop before this is spent."""
    trials: int | None = None
    """Trials at most."""
    minutes: float | None = None
    """Minutes at most: wall time of this process; time before a resume does not count."""

    def __post_init__(self) -> None:
        """Refuses caps below 0, and those that are no number; ValueError names the first."""
        for name, cap in asdict(self).items():
            if cap is not None and not cap >= 0:  # also false for NaN, which no sum would ever reach
                raise ValueError(f"{name} = {cap}: expected 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What work that is still to be done is expected to take, in the units of a budget."""

    trials: float = 0.0
    calls: float = 0.0
    tokens: float = 0.0
    usd: float = 0.0
    minutes: float = 0.0

    def __add__(self, other: Need) -> Need:
        return self._by_unit(lambda name: getattr(self, name) + getattr(other, name))

    def __mul__(self, times: float) -> Need:
        return self._by_unit(lambda name: getattr(self, name) * times)

    def _by_unit(self, amount: Callable[[str], float]) -> Need:
        return Need(**{name: amount(name) for name in Need.__slots__})


class Meter:
    """Adds up what all the models that share it spend.

    Calls are counted as they are sent, so their cap is exact. Tokens and money are known once a call is
    done: they can pass their cap by what was in flight, but while room is kept, a call is sent only where
    what is expected of it and of those in flight fits beside that room. Time can pass its cap by `GRACE_S`.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self._budget = budget or Budget()
        self._usage = Usage()
        self._kept = Need()
        self._flying = 0.0
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

    def keep(self, need: Need) -> None:
        """From now on every cap leaves room for so much; it takes the place of what was kept before."""
        self._kept = need

    def begin_trial(self) -> None:
        """Counts one trial that is about to run, or raises `BudgetReached`."""
        _stop_at(self._budget.trials, self._n_trials, self._kept.trials, "trials")
        self._n_trials += 1

    def check(self, tokens: float = 0.0) -> None:
        """Raises `BudgetReached` if no further call, expected to take so many tokens, may be sent."""
        budget, usage, kept = self._budget, self._usage, self._kept
        if budget.usd is not None and usage.usd is None:
            raise BudgetReached(
                f"the cap of ${budget.usd:g} cannot be kept: a call of this run has no known price. "
                "Set the model's price, or cap tokens instead"
            )
        spent, usd = usage.prompt_tokens + usage.completion_tokens, usage.usd or 0.0
        ahead = self._flying + tokens
        _stop_at(budget.calls, self._n_sent, kept.calls, "calls")
        _stop_at(budget.tokens, spent, kept.tokens, "tokens", ahead)
        _stop_at(budget.usd, usd, kept.usd, "US dollars", ahead * usd / max(1, spent))
        _stop_at(budget.minutes, self.minutes, kept.minutes, "minutes")

    @property
    def patience_s(self) -> float | None:
        """How long a call that is sent now may take; None without a cap on minutes."""
        cap = self._budget.minutes
        return None if cap is None else max(cap - self._kept.minutes - self.minutes, 0.0) * 60 + GRACE_S

    def send(self, tokens: float = 0.0) -> None:
        """Counts one call that is about to be sent and to take so many tokens, or raises `BudgetReached`."""
        self.check(tokens)
        self._n_sent += 1
        self._flying += tokens

    def expected(self, request: ModelRequest) -> float:
        """Tokens that a call may take: those of its prompt, and the mean of the replies so far."""
        return prompt_about(request) + self._usage.completion_tokens / max(1, self._usage.calls)

    def landed(self, tokens: float) -> None:
        """What was expected of a sent call is in flight no more."""
        self._flying -= tokens

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

    def failed(self, seconds: float, error: BaseException | None = None) -> None:
        """Counts a sent call that brought nothing, with what it cost all the same."""
        billed = error if isinstance(error, ModelError) else ModelError()
        self._usage += Usage(
            calls=1,
            prompt_tokens=billed.prompt_tokens,
            completion_tokens=billed.completion_tokens,
            usd=billed.usd,
            seconds=seconds,
        )


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
        expected = self._meter.expected(request)
        self._meter.send(expected)
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._meter.patience_s) as patience:
                reply = await self._inner.complete(request)
        except BaseException as error:
            self._meter.failed(time.monotonic() - started, error)
            if patience.expired():
                self._meter.check()
            raise
        finally:
            self._meter.landed(expected)
        self._meter.done(reply)
        return reply

    async def close(self) -> None:
        await self._inner.close()


def _stop_at(cap: float | None, spent: float, kept: float, unit: str, ahead: float = 0.0) -> None:
    if cap is None or (spent < cap - kept and not (kept and spent + ahead > cap - kept)):
        return
    room = f", {kept:,.3g} kept for the sealed questions" if kept else ""
    raise BudgetReached(f"the budget of {cap:,.6g} {unit} is reached ({spent:,.6g} spent{room})")
