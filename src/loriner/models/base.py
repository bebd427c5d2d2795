"""The seam to a language model: one request in, one reply out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from loriner.errors import ModelError
from loriner.records import Call


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    """`system`, `user` or `assistant`."""
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One chat completion to be sampled once."""

    messages: tuple[Message, ...]
    temperature: float = 0.0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    seed: int = 0
    """The sampling seed. Requests that differ in nothing but the seed are different samples."""


def facts_of(request: ModelRequest) -> dict[str, Any]:
    """A request as JSON values, as a call is recorded."""
    return {
        "messages": [{"role": each.role, "content": each.content} for each in request.messages],
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "stop": list(request.stop),
        "seed": request.seed,
    }


def request_of(facts: Mapping[str, Any]) -> ModelRequest:
    """The request that a call's record describes."""
    return ModelRequest(
        messages=tuple(Message(each["role"], each["content"]) for each in facts["messages"]),
        temperature=float(facts.get("temperature", 0.0)),
        max_tokens=int(facts.get("max_tokens", 512)),
        stop=tuple(facts.get("stop") or ()),
        seed=int(facts.get("seed", 0)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What came back, with what it cost."""

    text: str
    finish_reason: str = "stop"
    """`stop`, `length`, or what the endpoint said."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None
    """Cost; None where no price is known; 0.0 for a model on this machine and for a cache hit."""
    seconds: float = 0.0
    cached: bool = False
    usage: Mapping[str, Any] = field(default_factory=dict)
    """The endpoint's own usage object, untouched."""


def call_of(request: Mapping[str, Any], reply: ModelReply, started: float | None = None) -> Call:
    """The record of one answered model call."""
    return Call(
        kind="model",
        request=request,
        reply=reply.text,
        finish_reason=reply.finish_reason,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        usd=reply.usd,
        seconds=reply.seconds,
        cached=reply.cached,
        started=started,
    )


def failed_call(request: Mapping[str, Any], error: ModelError, started: float | None = None) -> Call:
    """The record of a model call that brought no answer, with what it cost all the same."""
    return Call(
        kind="model",
        request=request,
        reply="",
        error=str(error),
        prompt_tokens=error.prompt_tokens,
        completion_tokens=error.completion_tokens,
        usd=error.usd,
        started=started,
    )


class Model(Protocol):
    """A frozen language model. Wrappers (meter, cache) are models too."""

    @property
    def name(self) -> str:
        """Stable identity: it enters cache keys, records and reports. Never holds a key."""
        ...

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply.

        Raises:
            ModelUnavailable: the endpoint is down or overloaded, after retries: infrastructure.
            PromptRefused: the endpoint takes other requests and not this one, as a prompt that is too long.
            ModelRefused: the endpoint refuses this request for good, for another reason.
            BudgetReached: a cap of the run is reached (meter only).
        """
        ...

    async def close(self) -> None:
        """Frees connections, threads and memory. Safe to call twice."""
        ...
