"""Replies remembered by what was asked, so that no sample is paid for twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import replace
from typing import Any, Protocol

from loriner.errors import ModelError
from loriner.models.base import Model, ModelReply, ModelRequest, further_asked, sent


class ReplyStore(Protocol):
    """Where replies are kept."""

    def get(self, key: str) -> ModelReply | None:
        """The reply under `key`, if there is one. Called on the event loop: it must be quick."""
        ...

    async def put(self, key: str, reply: ModelReply) -> None:
        """Keeps a reply; it may be lost only if this has not returned."""
        ...


class MemoryReplies:
    """Replies kept for the life of the process."""

    def __init__(self) -> None:
        self._replies: dict[str, ModelReply] = {}

    def get(self, key: str) -> ModelReply | None:
        return self._replies.get(key)

    async def put(self, key: str, reply: ModelReply) -> None:
        self._replies[key] = reply


def key_of(model: str, request: ModelRequest) -> str:
    """SHA-256 over the model's name and all that the reply depends on, in hex."""
    facts: list[Any] = [
        model,
        float(request.temperature),
        request.max_tokens,
        list(request.stop),
        request.seed,
        [[message.role, message.content] for message in request.messages],
    ]
    if further_asked(request) or any(each.role == "tool" or each.tool_calls for each in request.messages):
        facts.append([dict(request.further), [sent(each) for each in request.messages]])
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


class _Call:
    """A call that several may wait for."""

    def __init__(self, task: asyncio.Task[ModelReply]) -> None:
        self.task = task
        self.n_waiting = 0
        self.claimed = False
        """Whether one of them has taken the reply with its cost."""


class CachedModel:
    """A model that asks the store first. Equal requests in flight at once share one call.

    A hit is marked `cached`, and costs and took nothing. Failures are not remembered.
    """

    def __init__(self, inner: Model, store: ReplyStore) -> None:
        self._inner = inner
        self._store = store
        self._calls: dict[str, _Call] = {}

    @property
    def name(self) -> str:
        return self._inner.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        key = key_of(self.name, request)
        if (known := self._store.get(key)) is not None:
            return _hit(known)
        if key not in self._calls:
            self._calls[key] = _Call(asyncio.create_task(self._ask(key, request)))
        return await self._wait(key, self._calls[key])

    async def close(self) -> None:
        await self._inner.close()

    async def _ask(self, key: str, request: ModelRequest) -> ModelReply:
        reply = await self._inner.complete(request)
        await self._store.put(key, reply)
        return reply

    async def _wait(self, key: str, call: _Call) -> ModelReply:
        """The reply or its failure, with the cost for the first to take it. The last to give up ends it."""
        call.n_waiting += 1
        try:
            reply = await asyncio.shield(call.task)
        except ModelError as error:
            if call.claimed:
                raise type(error)(str(error)) from error
            call.claimed = True
            raise
        finally:
            call.n_waiting -= 1
            if call.n_waiting == 0:
                call.task.cancel()
                del self._calls[key]
        if call.claimed:
            return _hit(reply)
        call.claimed = True
        return reply


def _hit(reply: ModelReply) -> ModelReply:
    return replace(reply, cached=True, usd=0.0, seconds=0.0)
