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
    """`system`, `user`, `assistant` or `tool`."""
    content: str
    """Its text; of several parts, that of the text parts."""
    parts: tuple[Mapping[str, Any], ...] = ()
    """The content in full, where it is more than a text: texts, images, sound and files in OpenAI's form."""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    """What an assistant asked the program to call."""
    tool_call_id: str = ""
    """Which of these calls a message of a tool answers."""


def message_of(given: Mapping[str, Any]) -> Message:
    """The message that a dict of `role` and `content`, as OpenAI has it, describes."""
    content = given.get("content") or ""
    return Message(
        given["role"],
        text_of(content),
        parts=() if isinstance(content, str) else tuple(content),
        tool_calls=tuple(given.get("tool_calls") or ()),
        tool_call_id=given.get("tool_call_id") or "",
    )


def text_of(content: Any) -> str:
    """The text of a message's content, which may be parts."""
    if isinstance(content, list | tuple):
        return "".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
    return str(content or "")


def sent(message: Message) -> dict[str, Any]:
    """The message as endpoints take it, and as a call is recorded."""
    body: dict[str, Any] = {"role": message.role, "content": list(message.parts) or message.content}
    if message.tool_calls:
        body["tool_calls"] = list(message.tool_calls)
    if message.tool_call_id:
        body["tool_call_id"] = message.tool_call_id
    return body


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One chat completion to be sampled once."""

    messages: tuple[Message, ...]
    temperature: float = 0.0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    seed: int = 0
    """The sampling seed. Requests that differ in nothing but the seed are different samples."""
    further: Mapping[str, Any] = field(default_factory=dict)
    """What is asked beyond a text, under OpenAI's names: `response_format`, `logprobs`, `top_logprobs`,
    `tools`, `tool_choice`; and `grammar`, as llama.cpp has it. A model without it refuses the request.
    """


def further_asked(request: ModelRequest) -> tuple[str, ...]:
    """What a request asks beyond texts, by name: `further`, and the kinds of parts other than text."""
    kinds = {str(part.get("type")) for each in request.messages for part in each.parts} - {"text"}
    return (*request.further, *sorted(kinds))


def facts_of(request: ModelRequest) -> dict[str, Any]:
    """A request as JSON values, as a call is recorded."""
    return {
        "messages": [sent(each) for each in request.messages],
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "stop": list(request.stop),
        "seed": request.seed,
        **({"further": dict(request.further)} if request.further else {}),
    }


def request_of(facts: Mapping[str, Any]) -> ModelRequest:
    """The request that a call's record describes."""
    return ModelRequest(
        messages=tuple(map(message_of, facts["messages"])),
        temperature=float(facts.get("temperature", 0.0)),
        max_tokens=int(facts.get("max_tokens", 512)),
        stop=tuple(facts.get("stop") or ()),
        seed=int(facts.get("seed", 0)),
        further=dict(facts.get("further") or {}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What came back, with what it cost."""

    text: str
    finish_reason: str = "stop"
    """`stop`, `length`, or what the endpoint said."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    counted: bool = True
    """Whether the tokens were counted where the reply was made; else they are estimates by its length."""
    usd: float | None = None
    """Cost; None where no price is known; 0.0 for a model on this machine and for a cache hit."""
    seconds: float = 0.0
    cached: bool = False
    usage: Mapping[str, Any] = field(default_factory=dict)
    """The endpoint's own usage object, untouched."""
    further: Mapping[str, Any] = field(default_factory=dict)
    """What came beside the text: `tool_calls`, each of `id`, `name` and `arguments` (text), and `logprobs`,
    the list of tokens as OpenAI has it.
    """


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
        further=reply.further,
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
