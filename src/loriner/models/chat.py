"""Any OpenAI-compatible `/chat/completions` endpoint, over aiohttp.

One request makes one completion. Failures that may pass (429, 408, 5xx, no connection, a broken or
senseless reply) are tried again; every other 4xx is final. The key is read from the environment when a
request is sent and is nowhere else: not in `repr`, names, records, or the words of an error.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from loriner.errors import PromptRefused
from loriner.models.base import ModelReply, ModelRequest, sent
from loriner.models.bill import CallBill
from loriner.models.connection import Connection
from loriner.models.counting import Counting
from loriner.models.failing import Words
from loriner.models.fields import Fields, cut
from loriner.models.limit import AdaptiveLimit, Pace
from loriner.models.prices import Price
from loriner.models.reply import Attempt, Completed, Failed
from loriner.models.serving import Found, is_misplaced, look
from loriner.models.waiting import WAIT_S, Waiting, is_loading

logger = logging.getLogger("loriner")

_OVERLOADED = (429, 503, 529)


class ChatModel:
    """A model behind an address. Its connections open with the first request."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str | None = None,
        price: Price | None = None,
        timeout_s: float = 600.0,
        extra_body: Mapping[str, Any] | None = None,
        wait_s: float = WAIT_S,
    ) -> None:
        """
        Args:
            base_url: up to and including `/v1`.
            api_key_env: name of the environment variable that holds the key.
            price: None where unknown.
            timeout_s: wall time of one try, from sending to the last byte.
            extra_body: further fields of each request; their digest enters the name.
            wait_s: that a call may wait in all where it is asked to, or while the model is loaded.

        Raises:
            ConfigError: the address is not http(s), or carries a password or a query.
        """
        self._connection = Connection(base_url, api_key_env, timeout_s)
        self._base_url = self._connection.base_url
        self._model = model
        self._price = price
        self._extra = dict(extra_body or {})
        self._wait_s = wait_s
        called = f"{self._base_url} ({model})"
        self._fields = Fields(called, self._extra)
        self._counting = Counting(called)
        self._words = Words(base_url=self._base_url, model=model, api_key_env=api_key_env, wait_s=wait_s)
        self._found: Found | None = None
        """What a look at the server brought; None before it was needed."""
        self._told_loading = False
        self.limit = AdaptiveLimit()
        """How many requests may be in flight; it follows the endpoint."""

    @property
    def name(self) -> str:
        """`URL::MODEL`, and the extra fields if there are any."""
        extra = f" {json.dumps(self._extra, sort_keys=True)}" if self._extra else ""
        return f"{self._base_url}::{self._model}{extra}"

    def __repr__(self) -> str:
        return f"ChatModel({self.name!r})"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply, after as many tries as it takes and `Waiting` allows."""
        if lacking := self._fields.lacks(request):
            raise PromptRefused(lacking)
        started, bill = time.perf_counter(), CallBill(self._price)
        attempt = await self._persist(request, bill)
        if isinstance(attempt, Failed):
            found = await self._looked() if is_misplaced(attempt) else Found()
            raise self._words.error(attempt, bill, found, chosen=self._fields.chosen(attempt, request))
        text = cut(attempt.text, request.stop)
        return ModelReply(
            text=text,
            finish_reason=attempt.finish_reason if text == attempt.text else "stop",
            seconds=time.perf_counter() - started,
            usage=attempt.usage,
            counted=attempt.counted,
            further=attempt.further,
            **bill.facts(),
        )

    async def close(self) -> None:
        """Closes the connections; a later request opens new ones."""
        await self._connection.close()

    async def _persist(self, request: ModelRequest, bill: CallBill) -> Attempt:
        """The first try that brings a reply or a final refusal, else the last one; all are on the bill."""
        waiting = Waiting(self._wait_s)
        while True:
            attempt = await self._adapted(request, bill)
            if isinstance(attempt, Completed):
                return attempt
            pause = waiting.pause_s(attempt)
            if pause is None or (is_misplaced(attempt) and (await self._looked()).elsewhere):
                return replace(attempt, n_tries=waiting.n_tries)
            self._tell_loading(attempt)
            await asyncio.sleep(pause)

    async def _looked(self) -> Found:
        """What is served at the address, or near it."""
        if self._found is None:
            key = self._connection.key()
            self._found = await look(self._base_url, lambda url: self._connection.get(url, key))
        return self._found

    async def _adapted(self, request: ModelRequest, bill: CallBill) -> Attempt:
        """One try, sent again for each field that the endpoint turns out not to take."""
        while True:
            attempt, fields = await self._try(request)
            if isinstance(attempt, Completed):
                attempt = self._counting.read(request, attempt)
            bill.add(request, attempt)
            if isinstance(attempt, Completed) or not self._fields.learn(attempt, request, fields):
                return attempt

    async def _try(self, request: ModelRequest) -> tuple[Attempt, Mapping[str, Any]]:
        """One request, in its place among those in flight, and the fields that were sent: those that the
        endpoint is known to take once the place is free.
        """
        key = self._connection.key()
        era = await self.limit.acquire()
        pace = Pace.UNKNOWN
        try:
            fields = self._fields.of(request)
            attempt = await self._connection.post(self._body(request, fields), key)
            pace = _pace(attempt)
            return attempt, fields
        finally:
            self.limit.release(era, pace)

    def _body(self, request: ModelRequest, fields: Mapping[str, Any]) -> bytes:
        body = {
            "model": self._model,
            "messages": [sent(each) for each in request.messages],
            **fields,
            **self._extra,
        }
        try:
            return json.dumps(body, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise PromptRefused(f"the prompt is not valid Unicode: {error}") from error

    def _tell_loading(self, failed: Failed) -> None:
        if is_loading(failed) and not self._told_loading:
            self._told_loading = True
            logger.warning("%s is loading %s: waiting up to %g s", self._base_url, self._model, self._wait_s)


def _pace(attempt: Attempt) -> Pace:
    if isinstance(attempt, Completed):
        return Pace.FINE
    overloaded = attempt.status in _OVERLOADED and not is_loading(attempt) and not attempt.unpaid
    return Pace.OVERLOADED if attempt.too_slow or overloaded else Pace.UNKNOWN
