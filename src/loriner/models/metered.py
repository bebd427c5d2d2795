"""A model whose calls a meter counts and may forbid."""

from __future__ import annotations

import asyncio
import time

from loriner.errors import ModelError
from loriner.models.base import Model, ModelReply, ModelRequest
from loriner.models.forecast import Forecast
from loriner.models.meter import Meter
from loriner.models.prices import Price
from loriner.models.tokens import most


class MeteredModel:
    """A model behind the meter of a run."""

    def __init__(self, inner: Model, meter: Meter, price: Price | None = None) -> None:
        """
        Args:
            price: None where unknown.
        """
        self._inner = inner
        self._meter = meter
        self._forecast = Forecast(price)

    @property
    def name(self) -> str:
        return self._inner.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply.

        Raises:
            BudgetReached: a cap is reached and nothing was sent, or the minutes ended while nothing came.
            ConfigError: a cap is smaller than the first call of the run.
        """
        meter = self._meter
        ahead = await meter.admit(lambda: self._forecast.of(request, meter.usage))
        started = time.monotonic()
        try:
            async with asyncio.timeout(meter.patience_s) as patience:
                reply = await self._inner.complete(request)
        except BaseException as error:
            billed = error if isinstance(error, ModelError) else _given_up(request, ahead.most_usd)
            meter.failed(time.monotonic() - started, billed)
            if patience.expired():
                meter.check()
            raise
        finally:
            meter.landed(ahead)
        self._forecast.learn(request, reply)
        meter.done(reply, self.name, self._forecast.of(request, meter.usage).usd)
        return reply

    async def close(self) -> None:
        await self._inner.close()


def _given_up(request: ModelRequest, usd: float) -> ModelError:
    """A call whose end nobody waited for is counted at the most that it may have cost."""
    prompt_tokens, completion_tokens = most(request)
    return ModelError(prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, usd=usd)
