"""The solver without a harness: what a request that is no single question gets, and a harness that fails."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp

from loriner.config import Settings
from loriner.errors import ModelError, ModelRefused
from loriner.models.base import Message, Model, ModelReply, ModelRequest
from loriner.models.connection import Connection
from loriner.models.named import open_model, spec_of

_CONNECT_S = 10.0
_ROLES = ("system", "developer", "user", "assistant")
_REFUSED = ("tools", "functions", "logprobs", "audio", "prediction")


class NotReached(Exception):
    """The solver cannot be reached: our fault, to be tried again later."""


class NotPossible(Exception):
    """The solver has no way to answer this request; the message says what it does take."""


class Relayed(Protocol):
    """A reply as it comes from the solver."""

    status: int
    headers: Mapping[str, str]

    def parts(self) -> AsyncIterator[bytes]: ...


class Plain(Protocol):
    """Answers requests as they are."""

    @property
    def name(self) -> str:
        """The name of the solver, as clients call it."""
        ...

    def relay(self, path: str, body: Mapping[str, Any]) -> Any:
        """The reply to a request of `path` below `/v1`, as an async context of a `Relayed` or a `ModelReply`.

        Raises:
            NotReached: there is none now.
            NotPossible: it cannot be asked for this.
        """
        ...

    async def close(self) -> None: ...


@dataclass(slots=True)
class Endpoint:
    """A solver behind an address: requests reach it as they are, but for its own name and key."""

    base_url: str
    name: str
    connection: Connection
    timeout_s: float
    extra: Mapping[str, Any]
    session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def relay(self, path: str, body: Mapping[str, Any]) -> AsyncIterator[_Reply]:
        payload = json.dumps({**body, "model": self.name, **self.extra}).encode()
        headers = {"Content-Type": "application/json"}
        try:
            if key := self.connection.key():
                headers["Authorization"] = f"Bearer {key}"
        except ModelRefused as error:
            raise NotReached(str(error)) from error
        request = self._open().post(
            f"{self.base_url}/{path}", data=payload, headers=headers, allow_redirects=False
        )
        try:
            reply = await request
        except (aiohttp.ClientError, OSError) as error:  # a TimeoutError is an OSError
            raise NotReached(f"{self.base_url} is not reached: {type(error).__name__}") from error
        async with reply:
            kept = ("Content-Type", "Retry-After")
            yield _Reply(reply, reply.status, {k: v for k, v in reply.headers.items() if k in kept})

    async def close(self) -> None:
        if self.session is not None:
            await self.session.close()

    def _open(self) -> aiohttp.ClientSession:
        if self.session is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=self.timeout_s)
            connector = aiohttp.TCPConnector(limit=0)
            self.session = aiohttp.ClientSession(connector=connector, timeout=timeout)
        return self.session


@dataclass(slots=True)
class _Reply:
    reply: aiohttp.ClientResponse
    status: int
    headers: Mapping[str, str]

    async def parts(self) -> AsyncIterator[bytes]:
        """The body as it comes. Raises `NotReached` where it ends early."""
        try:
            async for part in self.reply.content.iter_any():
                yield part
        except (aiohttp.ClientError, OSError) as error:
            raise NotReached(f"the solver's reply broke off: {type(error).__name__}") from error


@dataclass(slots=True)
class Inside:
    """A solver in this process, such as weights on this disk: it takes conversations of texts."""

    model: Model
    name: str

    @asynccontextmanager
    async def relay(self, path: str, body: Mapping[str, Any]) -> AsyncIterator[ModelReply]:
        try:
            yield await self.model.complete(self._request(path, body))
        except ModelError as error:
            raise NotReached(str(error)) from error

    async def close(self) -> None:
        """The model is closed by whoever opened it."""

    def _request(self, path: str, body: Mapping[str, Any]) -> ModelRequest:
        if path != "chat/completions":
            raise NotPossible(f"{self.name} runs inside this server and answers /v1/chat/completions alone")
        more = next((each for each in _REFUSED if body.get(each)), None)
        more = more or ("n" if body.get("n") not in (None, 1) else None)
        kind = body.get("response_format")
        if more is None and kind is not None and kind != {"type": "text"}:
            more = "response_format"
        if more is not None:
            raise NotPossible(
                f"{self.name} runs inside this server and takes texts alone: "
                f"`{more}` needs a solver behind an address"
            )
        stop = body.get("stop") or ()
        return ModelRequest(
            messages=tuple(map(self._message, body.get("messages") or ())),
            temperature=float(body.get("temperature") or 0.0),
            max_tokens=int(body.get("max_completion_tokens") or body.get("max_tokens") or 2048),
            stop=(stop,) if isinstance(stop, str) else tuple(stop),
            seed=int(body.get("seed") or 0),
        )

    def _message(self, message: Any) -> Message:
        content = message.get("content") if isinstance(message, Mapping) else None
        if isinstance(content, list) and all(
            isinstance(p, Mapping) and p.get("type") == "text" for p in content
        ):
            content = "".join(str(part.get("text")) for part in content)
        if not isinstance(content, str) or message.get("role") not in _ROLES:
            raise NotPossible(f"{self.name} runs inside this server and takes messages of text alone")
        role = "system" if message["role"] == "developer" else message["role"]
        return Message(role, content)


def opened(settings: Settings, name: str) -> tuple[Model, Plain]:
    """The solver as harnesses ask it, and as clients do without one. Raises as `open_model`."""
    model = open_model(name, specs=settings.models, models_dir=settings.weights, offline=settings.offline)
    spec = spec_of(name, settings.models)
    if spec is None or not spec.base_url or not spec.model:
        return model, Inside(model, name)
    connection = Connection(spec.base_url, spec.api_key_env, spec.timeout_s)
    extra = dict(spec.extra_body or {})
    return model, Endpoint(connection.base_url, spec.model, connection, spec.timeout_s, extra)
