"""What a run spends, counted where the calls are sent, and the caps that stop it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

from loriner.errors import BudgetReached, ConfigError, ModelError
from loriner.models.base import ModelReply
from loriner.models.forecast import Ahead
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


NOTHING = Ahead()
GRACE_S = 60.0
"""How long a call under way may go on once the minutes are over: enough for a reply that is coming."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Caps on a run; None is no cap."""

    calls: int | None = None
    """Largest number of model calls."""
    tokens: int | None = None
    """Largest number of prompt and completion tokens together."""
    usd: float | None = None
    """Stop before this is spent."""
    trials: int | None = None
    """Largest number of trials."""
    minutes: float | None = None
    """Most minutes of wall time of this process; time before a resume does not count."""

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
    done. So a call waits while what may come of those in flight, and of itself, does not fit under the cap:
    in money the most that each may cost. Where nothing is in flight, it is sent if what it is expected to
    cost fits; money can pass its cap only by a reply that is longer than any before, tokens by one call, and
    time by `GRACE_S`.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self._budget = budget or Budget()
        self._usage = Usage()
        self._kept = Need()
        self._flying: list[Ahead] = []
        self._waiting: list[asyncio.Future[None]] = []
        """Calls that do not fit beside those in flight."""
        self._dearest: dict[str, float] = {}
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

    def dearest(self, model: str) -> float:
        """US dollars that a call such as the dearest of the model so far is expected to cost."""
        return self._dearest.get(model, 0.0)

    def begin_trial(self) -> None:
        """Counts one trial that is about to run, or raises `BudgetReached`."""
        _stop_at(self._budget.trials, self._n_trials, self._kept.trials, "trials")
        self._n_trials += 1

    def check(self, ahead: Ahead = NOTHING) -> None:
        """Raises `BudgetReached` if no further call, expected to take so much, may be sent."""
        budget, usage, kept = self._budget, self._usage, self._kept
        if budget.usd is not None and usage.usd is None:
            raise BudgetReached(
                f"the cap of ${budget.usd:g} cannot be kept: what a call of this run cost is not known, as "
                "its model has no price or its endpoint reports no usage. Cap tokens or calls instead"
            )
        tokens, usd = usage.prompt_tokens + usage.completion_tokens, usage.usd or 0.0
        next_tokens = ahead.tokens + sum(each.tokens for each in self._flying)
        next_usd = ahead.usd + sum(each.most_usd for each in self._flying)
        _stop_at(budget.calls, self._n_sent, kept.calls, "calls")
        _stop_at(budget.tokens, tokens, kept.tokens, "tokens", next_tokens if kept.tokens else 0.0)
        _stop_at(budget.usd, usd, kept.usd, "US dollars", next_usd)
        _stop_at(budget.minutes, self.minutes, kept.minutes, "minutes")

    @property
    def patience_s(self) -> float | None:
        """How long a call that is sent now may take; None without a cap on minutes."""
        cap = self._budget.minutes
        return None if cap is None else max(cap - self._kept.minutes - self.minutes, 0.0) * 60 + GRACE_S

    async def admit(self, forecast: Callable[[], Ahead]) -> Ahead:
        """Counts one call that is about to be sent, once it fits beside those in flight; what it may take by
        the forecast of that moment.

        Raises:
            BudgetReached: it does not fit, or a cap is reached.
            ConfigError: a cap is smaller than this call, and it would be the first.
        """
        while self._crowded(ahead := forecast()):
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter
        self.send(ahead)
        return ahead

    def send(self, ahead: Ahead = NOTHING) -> None:
        """Counts one call that is sent now, as `admit` does without waiting."""
        if not self._n_sent:
            _require_room(self._budget.tokens, ahead.tokens, "tokens")
            _require_room(self._budget.usd, ahead.usd, "US dollars")
        self.check(ahead)
        self._n_sent += 1
        self._flying.append(ahead)

    def landed(self, ahead: Ahead) -> None:
        """A sent call is in flight no more."""
        self._flying.remove(ahead)
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _crowded(self, ahead: Ahead) -> bool:
        """Whether a call fits only once some of those in flight have ended."""
        budget, usage, kept = self._budget, self._usage, self._kept
        if not self._flying:
            return False
        together = [*self._flying, ahead]
        tokens = usage.prompt_tokens + usage.completion_tokens + sum(each.tokens for each in together)
        usd = (usage.usd or 0.0) + sum(each.most_usd for each in together)
        return (budget.tokens is not None and tokens > budget.tokens - kept.tokens) or (
            budget.usd is not None and usd > budget.usd - kept.usd
        )

    def done(self, reply: ModelReply, model: str = "", again_usd: float = 0.0) -> None:
        """Counts what a sent call cost, which asked again is expected to cost so much. A reply from a cache
        gives the call back.
        """
        self._dearest[model] = max(again_usd, self.dearest(model))
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

    def failed(self, seconds: float, billed: ModelError) -> None:
        """Counts a sent call that brought nothing, with what it cost all the same."""
        self._usage += Usage(
            calls=1,
            prompt_tokens=billed.prompt_tokens,
            completion_tokens=billed.completion_tokens,
            usd=billed.usd,
            seconds=seconds,
        )


def _require_room(cap: float | None, needed: float, unit: str) -> None:
    if cap is not None and 0 < cap < needed:
        raise ConfigError(
            f"the budget of {cap:,.6g} {unit} holds no call: the first is expected to take {needed:,.6g}, "
            "and was not sent. Give more"
        )


def _stop_at(cap: float | None, spent: float, kept: float, unit: str, ahead: float = 0.0) -> None:
    if cap is None or (spent < cap - kept and spent + ahead <= cap - kept):
        return
    room = f", {kept:,.3g} kept for the sealed questions" if kept else ""
    further = f", and the next call may take {ahead:,.3g}" if spent < cap - kept else ""
    raise BudgetReached(f"the budget of {cap:,.6g} {unit} is reached ({spent:,.6g} spent{further}{room})")
