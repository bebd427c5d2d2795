"""Any OpenAI-compatible `/chat/completions` endpoint, over aiohttp.

One request makes one completion. Failures that may pass (429, 408, 5xx, no connection, a broken or
senseless reply) are tried again; every other 4xx is final. The key is read from the environment when a
request is sent and is nowhere else: not in `repr`, names, records, or the words of an error.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
from collections.abc import Mapping
from typing import Any

import aiohttp
from yarl import URL

from loriner.errors import ConfigError, ModelRefused, ModelUnavailable, PromptRefused
from loriner.models.base import ModelReply, ModelRequest
from loriner.models.bill import Bill
from loriner.models.fields import Fields, cut
from loriner.models.limit import AdaptiveLimit, Pace
from loriner.models.prices import Price
from loriner.models.reply import Attempt, Failed, read_refusal, read_reply, retry_after_s

_TOO_LONG = re.compile(
    r"context (length|window|size)|maximum context|too (long|large)|exceeds?\b.*\b(context|length)",
    re.IGNORECASE,
)
"""How endpoints say that a prompt does not fit; any other 400 is a matter of settings, not of the prompt."""
_FILTERED = ("content_filter", "content_policy_violation")
"""How endpoints call it when they do not allow a prompt."""
_TRIES = 5
_SLOW_BACKOFF_S = 0.5
"""First pause after a reply that asks for patience (429, 5xx)."""
_FAST_BACKOFF_S = 0.15
"""First pause where nothing answered: all tries at a dead port take less than 5 s."""
_MAX_PAUSE_S = 60.0
_MAX_BODY_BYTES = 16 << 20
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
    ) -> None:
        """
        Args:
            base_url: up to and including `/v1`.
            api_key_env: name of the environment variable that holds the key.
            price: None where unknown.
            timeout_s: wall time of one try, from sending to the last byte.
            extra_body: further fields of each request; their digest enters the name.

        Raises:
            ConfigError: the address is not http(s), or carries a password or a query.
        """
        self._base_url = _checked(base_url)
        self._model = model
        self._api_key_env = api_key_env
        self._price = price
        self._timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=min(10.0, timeout_s))
        self._extra = dict(extra_body or {})
        self._fields = Fields(f"{self._base_url} ({model})", self._extra)
        self.limit = AdaptiveLimit()
        """How many requests may be in flight; it follows the endpoint."""
        self._session: aiohttp.ClientSession | None = None

    @property
    def name(self) -> str:
        """`URL::MODEL`, and the extra fields if there are any."""
        extra = f" {json.dumps(self._extra, sort_keys=True)}" if self._extra else ""
        return f"{self._base_url}::{self._model}{extra}"

    def __repr__(self) -> str:
        return f"ChatModel({self.name!r})"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply, after up to five tries."""
        started, bill = time.perf_counter(), Bill(self._price)
        attempt = await self._persist(request, bill)
        if isinstance(attempt, Failed):
            raise self._error(attempt, request, bill)
        text = cut(attempt.text, request.stop)
        return ModelReply(
            text=text,
            finish_reason=attempt.finish_reason if text == attempt.text else "stop",
            seconds=time.perf_counter() - started,
            usage=attempt.usage,
            **bill.facts(),
        )

    async def close(self) -> None:
        """Closes the connections; a later request opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _body(self, request: ModelRequest, fields: Mapping[str, Any]) -> bytes:
        messages = [{"role": m.role, "content": m.content} for m in request.messages]
        body = {"model": self._model, "messages": messages, **fields, **self._extra}
        try:
            return json.dumps(body, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise PromptRefused(f"the prompt is not valid Unicode: {error}") from error

    async def _persist(self, request: ModelRequest, bill: Bill) -> Attempt:
        """The first try that brings a reply or a final refusal, else the last one; all are on the bill."""
        for n_tries in range(1, _TRIES + 1):
            attempt = await self._adapted(request, bill)
            if not isinstance(attempt, Failed) or not attempt.worth_retrying or n_tries == _TRIES:
                break
            await asyncio.sleep(_pause_s(n_tries, attempt))
        return attempt

    async def _adapted(self, request: ModelRequest, bill: Bill) -> Attempt:
        """One try, sent again for each field that the endpoint turns out not to take."""
        while True:
            attempt, fields = await self._try(request)
            bill.add(request, attempt)
            if not isinstance(attempt, Failed) or not self._fields.learn(attempt, request, fields):
                return attempt

    async def _try(self, request: ModelRequest) -> tuple[Attempt, Mapping[str, Any]]:
        """One request, in its place among those in flight, and the fields that were sent: those that the
        endpoint is known to take once the place is free.
        """
        key = self._key()
        era = await self.limit.acquire()
        pace = Pace.UNKNOWN
        try:
            fields = self._fields.of(request)
            attempt = await self._send(self._body(request, fields), key)
            pace = _pace(attempt)
            return attempt, fields
        finally:
            self.limit.release(era, pace)

    async def _send(self, body: bytes, key: str | None) -> Attempt:
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        try:
            async with self._open().post(
                f"{self._base_url}/chat/completions", data=body, headers=headers, allow_redirects=False
            ) as response:
                payload = await _read_capped(response)
                if response.status == 200:
                    attempt = read_reply(payload)
                else:
                    wait_s = retry_after_s(response.headers, time.time())
                    attempt = read_refusal(response.status, payload, wait_s)
        except aiohttp.ConnectionTimeoutError:
            attempt = Failed(0, f"no connection within {self._timeout.sock_connect:g} s")
        except TimeoutError:
            message = f"no complete reply within {self._timeout.total:g} s"
            attempt = Failed(0, message, too_slow=True, lost=True)
        except (aiohttp.ClientError, OSError) as error:
            lost = not isinstance(error, aiohttp.ClientConnectorError)
            attempt = Failed(0, f"{type(error).__name__}: {error}", lost=lost)
        if key and isinstance(attempt, Failed):
            return attempt.without(key)
        return attempt

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0)  # `AdaptiveLimit` is the limit
            self._session = aiohttp.ClientSession(connector=connector, timeout=self._timeout)
        return self._session

    def _key(self) -> str | None:
        if self._api_key_env is None:
            return None
        key = os.environ.get(self._api_key_env, "").strip()
        if not key:
            raise ModelRefused(
                f"{self.name} needs a key, and the environment variable {self._api_key_env} is not set"
            )
        return key

    def _error(self, failed: Failed, request: ModelRequest, bill: Bill) -> ModelRefused | ModelUnavailable:
        """The exception for the last failed try, in words."""
        found = f"status {failed.status}, {failed.message}" if failed.status else failed.message
        if failed.worth_retrying:
            return ModelUnavailable(
                f"{self._base_url} did not answer for {self._model} in {_TRIES} tries; the last error was: "
                f"{found}. Check that the server runs and is reachable, then run the command again",
                **bill.facts(),
            )
        message = f"{self._base_url} refused a request to {self._model}: {found}"
        if _of_the_prompt(failed) or self._fields.chosen(failed, request):
            return PromptRefused(message, **bill.facts())
        return ModelRefused(". ".join(filter(None, (message, self._hint(failed)))), **bill.facts())

    def _hint(self, failed: Failed) -> str:
        status = failed.status
        if status == 200 and failed.final:
            return "Have the server answer whole: extra_body = { stream = false }, or a setting of its own"
        if status in (401, 403):
            if self._api_key_env:
                return f"Check the key in the environment variable {self._api_key_env}"
            return "Name the environment variable that holds the key in api_key_env"
        if status == 404:
            return f"Check the address (it often ends in /v1) and that the endpoint serves {self._model}"
        if 300 <= status < 400:
            return "Use the address to which it redirects"
        return ""


def _checked(base_url: str) -> str:
    try:
        url = URL(base_url)
    except ValueError as error:
        raise ConfigError(f"{base_url!r} is not an address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigError(f"{base_url!r} is not the address of an endpoint, such as http://localhost:8000/v1")
    if url.user or url.password or url.query_string or url.fragment:
        raise ConfigError(
            f"the address of the endpoint at {url.host} carries a user, password, query or fragment; a key "
            "belongs in an environment variable, named by api_key_env"
        )
    return base_url.rstrip("/")


def _of_the_prompt(failed: Failed) -> bool:
    """Whether the prompt is refused, rather than how it was sent: too long, or not allowed."""
    if failed.status not in (400, 422):
        return failed.status == 413
    return failed.code in _FILTERED or _TOO_LONG.search(failed.message) is not None


def _pace(attempt: Attempt) -> Pace:
    if not isinstance(attempt, Failed):
        return Pace.FINE
    return Pace.OVERLOADED if attempt.too_slow or attempt.status in _OVERLOADED else Pace.UNKNOWN


def _pause_s(n_tries: int, failed: Failed) -> float:
    """Seconds before the next try: what the server asked for, else exponential; with jitter."""
    if failed.retry_after_s is not None:
        return min(failed.retry_after_s, _MAX_PAUSE_S) * random.uniform(1.0, 1.1)
    base = _SLOW_BACKOFF_S if failed.status else _FAST_BACKOFF_S
    return min(base * 2.0 ** (n_tries - 1), _MAX_PAUSE_S) * random.uniform(0.5, 1.5)


async def _read_capped(response: aiohttp.ClientResponse) -> bytes:
    chunks, n_bytes = [], 0
    async for chunk in response.content.iter_any():
        chunks.append(chunk)
        n_bytes += len(chunk)
        if n_bytes > _MAX_BODY_BYTES:
            response.close()
            raise aiohttp.ClientPayloadError(f"the reply is longer than {_MAX_BODY_BYTES:,} bytes")
    return b"".join(chunks)
