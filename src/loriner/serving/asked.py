"""What a request of the OpenAI protocol asks: one question, or something that only a plain model answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from loriner.models.base import Message, ModelRequest

_TEXT = ("text", "input_text")
_PLAIN = (None, False, 0, "", "auto", "none", ["text"])
"""Values with which a field asks for nothing, beside empty lists and objects."""
_CHAT = ("tools", "functions", "logprobs", "top_logprobs", "audio", "modalities", "prediction")
_RESPONSES = ("tools", "previous_response_id", "conversation", "background", "prompt", "include")
"""Fields of either protocol that ask for more than a text."""


class BadRequest(Exception):
    """The request cannot be read; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request, as far as it is read here. Everything else in it is the solver's affair."""

    model: str
    beyond: str
    """Why it is not a single question, such as `tools`; empty for one."""
    system: str = ""
    question: str = ""
    stream: bool = False
    usage: bool = False
    """Whether a streamed reply ends with the usage."""
    seed: int | None = None
    temperature: float = 0.0
    max_tokens: int = 2048

    def plain(self) -> ModelRequest:
        """The question as the solver is asked without a harness."""
        system = [Message("system", self.system)] if self.system else []
        return ModelRequest(
            messages=(*system, Message("user", self.question)),
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=self.seed or 0,
        )


def chat(body: Any) -> Asked:
    """What a body of `/v1/chat/completions` asks. Raises `BadRequest`."""
    body = _object(body)
    kind = _kind(body.get("response_format"))
    beyond = _beyond(body, _CHAT) or ("n" if body.get("n") not in (None, 1) else "")
    beyond = beyond or ("response_format" if kind != "text" else "")
    options = body.get("stream_options")
    usage = isinstance(options, Mapping) and bool(options.get("include_usage"))
    return _asked(body, body.get("messages"), "", beyond, usage=usage)


def responses(body: Any) -> Asked:
    """What a body of `/v1/responses` asks. Raises `BadRequest`."""
    body = _object(body)
    text = body.get("text")
    kind = _kind(text.get("format")) if isinstance(text, Mapping) else "text"
    beyond = _beyond(body, _RESPONSES) or ("text.format" if kind != "text" else "")
    given = body.get("input")
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
    return _asked(body, messages, body.get("instructions") or "", beyond, usage=True)


def _object(body: Any) -> Mapping[str, Any]:
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        raise BadRequest("the body must be a JSON object with a text in `model`")
    return body


def _beyond(body: Mapping[str, Any], fields: Iterable[str]) -> str:
    """The first field that asks for more than a text."""
    return next((each for each in fields if body.get(each) not in (*_PLAIN, [], {})), "")


def _kind(format_: Any) -> str:
    if format_ is None:
        return "text"
    return str(format_.get("type")) if isinstance(format_, Mapping) else "unknown"


def _asked(body: Mapping[str, Any], messages: Any, system: Any, beyond: str, *, usage: bool) -> Asked:
    systems, users = _parted(messages)
    text = users[0] if len(users) == 1 else None
    whole = text is not None and isinstance(system, str) and None not in systems
    if not beyond and not whole:
        beyond = "messages"
    said = "\n\n".join(each for each in (system, *systems) if isinstance(each, str) and each)
    tokens = body.get("max_completion_tokens") or body.get("max_tokens") or body.get("max_output_tokens")
    return Asked(
        model=body["model"],
        beyond=beyond,
        system="" if beyond else said,
        question="" if beyond else text or "",
        stream=bool(body.get("stream")),
        usage=usage,
        seed=_number(body.get("seed"), int),
        temperature=_number(body.get("temperature"), float) or 0.0,
        max_tokens=_number(tokens, int) or 2048,
    )


def _parted(messages: Any) -> tuple[list[str | None], list[str | None]]:
    """The texts of the system messages and of all others; None for what is not a text of the user."""
    systems: list[str | None] = []
    others: list[str | None] = []
    for each in messages if isinstance(messages, list) else [None]:
        is_message = isinstance(each, Mapping) and each.get("type", "message") == "message"
        message = each if is_message and each is not None else {}
        role, text = message.get("role"), _text(message.get("content"))
        if role in ("system", "developer"):
            systems.append(text)
        else:
            others.append(text if role == "user" else None)
    return systems, others


def _text(content: Any) -> str | None:
    """The content of a message; None where a part of it is no text, or it is blank."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [
        each.get("text") if isinstance(each, Mapping) and each.get("type") in _TEXT else None
        for each in parts
    ]
    joined = "".join(each for each in texts if isinstance(each, str))
    return joined if joined.strip() and all(isinstance(each, str) for each in texts) else None


def _number(value: Any, kind: type[Any]) -> Any:
    ok = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63
    return kind(value) if ok else None
