"""The connections to one endpoint: an address, a key that is nowhere kept, and what HTTP brings."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

import aiohttp
from yarl import URL

from loriner.errors import ConfigError, ModelRefused
from loriner.models.reply import Attempt, Failed, read_refusal, read_reply, retry_after_s

_MAX_BODY_BYTES = 16 << 20
_CONNECT_S = 10.0


class Connection:
    """Sends requests to an address and to others beside it. It opens with the first request."""

    def __init__(self, base_url: str, api_key_env: str | None, timeout_s: float) -> None:
        """
        Args:
            api_key_env: name of the environment variable that holds the key.
            timeout_s: wall time of one request, from sending to the last byte.

        Raises:
            ConfigError: the address is not http(s), or carries a password or a query.
        """
        self.base_url = checked(base_url)
        self._api_key_env = api_key_env
        self._timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=min(_CONNECT_S, timeout_s))
        self._session: aiohttp.ClientSession | None = None

    def key(self) -> str | None:
        """The key, None where none is needed. Raises `ModelRefused` where it is and is not set."""
        if self._api_key_env is None:
            return None
        key = os.environ.get(self._api_key_env, "").strip()
        if not key:
            raise ModelRefused(
                f"{self.base_url} needs a key, and the environment variable {self._api_key_env} is not set"
            )
        return key

    async def post(self, body: bytes, key: str | None) -> Attempt:
        """What comes of one request for a completion."""
        try:
            attempt = await self._posted(body, _headers(key))
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

    async def get(self, url: str, key: str | None) -> bytes | None:
        """The body of a 200 at an address of the same server; None where there is none soon."""
        timeout = aiohttp.ClientTimeout(total=_CONNECT_S)
        try:
            async with self._open().get(
                url, headers=_headers(key), allow_redirects=False, timeout=timeout
            ) as response:
                return await _read_capped(response) if response.status == 200 else None
        except (aiohttp.ClientError, OSError):  # a TimeoutError is an OSError
            return None

    async def close(self) -> None:
        """Closes what is open; a later request opens it anew."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _posted(self, body: bytes, headers: Mapping[str, str]) -> Attempt:
        async with self._open().post(
            f"{self.base_url}/chat/completions", data=body, headers=headers, allow_redirects=False
        ) as response:
            payload = await _read_capped(response)
            if response.status == 200:
                return read_reply(payload)
            return read_refusal(response.status, payload, retry_after_s(response.headers, time.time()))

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0)  # `AdaptiveLimit` is the limit
            self._session = aiohttp.ClientSession(connector=connector, timeout=self._timeout)
        return self._session


def checked(base_url: str) -> str:
    """The address without a slash at its end. Raises `ConfigError` where it is none, or holds a secret."""
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


def _headers(key: str | None) -> dict[str, str]:
    headers = {"Content-Type": "application/json"}
    return headers | {"Authorization": f"Bearer {key}"} if key else headers


async def _read_capped(response: aiohttp.ClientResponse) -> bytes:
    chunks, n_bytes = [], 0
    async for chunk in response.content.iter_any():
        chunks.append(chunk)
        n_bytes += len(chunk)
        if n_bytes > _MAX_BODY_BYTES:
            response.close()
            raise aiohttp.ClientPayloadError(f"the reply is longer than {_MAX_BODY_BYTES:,} bytes")
    return b"".join(chunks)
