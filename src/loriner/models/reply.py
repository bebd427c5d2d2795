"""What a `/chat/completions` endpoint may answer, read without trust."""

from __future__ import annotations

import email.utils
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

_SHOWN_CHARS = 300
_UNPAID = ("insufficient_quota", "insufficient_balance", "billing_hard_limit_reached", "billing_not_active")
"""How endpoints call it when an account has no credit left."""
_STREAMED = (b"data:", b"event:", b"id:", b":")
"""How a stream of server-sent events begins, and JSON never does."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A try that brought no completion."""

    status: int
    """HTTP status; 0 where no whole reply came."""
    message: str
    retry_after_s: float | None = None
    too_slow: bool = False
    """No whole reply came in time."""
    lost: bool = False
    """The request was sent and no whole reply came, so that what it cost is not known."""
    final: bool = False
    """Another try would end in the same way, whatever the status says."""
    code: str = ""
    """What the endpoint calls the error, such as `content_filter`."""
    param: str = ""
    """The field of the request that the error is about, where the endpoint says so."""
    usage: Mapping[str, Any] = field(default_factory=dict)
    """What was billed all the same."""
    n_tries: int = 1
    """Tries of which this is the last."""

    @property
    def worth_retrying(self) -> bool:
        passing = self.status in (0, 408, 425, 429) or self.status >= 500 or 200 <= self.status < 300
        return passing and not self.final and not self.unpaid

    @property
    def unpaid(self) -> bool:
        """Whether the account has nothing left, which no waiting mends."""
        return self.status == 402 or self.code in _UNPAID

    def without(self, key: str) -> Failed:
        """The same, should the endpoint have repeated the key in its message."""
        return replace(self, message=self.message.replace(key, "[key]"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A try that brought one."""

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    counted: bool = True
    """Whether the endpoint counted these tokens; else they are estimates."""
    usage: Mapping[str, Any] = field(default_factory=dict)
    further: Mapping[str, Any] = field(default_factory=dict)
    """What came beside the text, as `ModelReply.further`."""


Attempt = Completed | Failed


def read_reply(payload: bytes) -> Attempt:
    """The completion in the body of a 200, or why there is none.

    Absent or null content is an empty text: a model that only reasoned, or called a tool. So is an absent
    message of a choice that says why it ended, as a filtered one does.
    """
    if payload.lstrip().startswith(_STREAMED):
        return Failed(
            200, f"the reply is an event stream, which was not asked for: {_shown(payload)}", final=True
        )
    body = _json(payload)
    if body is None:
        return Failed(200, f"the reply is not JSON: {_shown(payload)}")
    usage = _usage(body)
    if isinstance(body, dict) and body.get("error"):
        return _failed_inside(body, usage)
    try:
        choice = body["choices"][0]
        if choice.get("finish_reason") == "error" or choice.get("error"):
            return _failed_inside(choice, usage)
        text, further = _text_of(choice), further_of(choice)
    except (KeyError, IndexError, TypeError, AttributeError):
        return Failed(200, f"the reply is no chat completion: {_shown(payload)}", usage=usage)
    prompt_tokens, completion_tokens = counts(usage)
    return Completed(
        text=text,
        finish_reason=str(choice.get("finish_reason") or ""),
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        usage=usage,
        further=further,
    )


def further_of(choice: Mapping[str, Any]) -> dict[str, Any]:
    """What a choice brings beside its text. Raises as an endpoint's nonsense does."""
    further: dict[str, Any] = {}
    calls = (choice.get("message") or {}).get("tool_calls")
    if calls:
        further["tool_calls"] = [_tool_call(each) for each in calls]
    if tokens := (choice.get("logprobs") or {}).get("content"):
        further["logprobs"] = list(tokens)
    return further


def _tool_call(given: Mapping[str, Any]) -> dict[str, str]:
    function = given["function"]
    arguments = function.get("arguments") or "{}"
    return {
        "id": str(given.get("id") or ""),
        "name": str(function["name"]),
        "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
    }


def read_refusal(status: int, payload: bytes, wait_s: float | None = None) -> Failed:
    """What the body of another status says."""
    body = _json(payload)
    error = (body.get("error") or body) if isinstance(body, dict) else None
    param = error.get("param") if isinstance(error, dict) else None
    return Failed(
        status,
        error_text(payload),
        wait_s,
        code=_code(error),
        param=param if isinstance(param, str) else "",
        usage=_usage(body),
    )


def counts(usage: Mapping[str, Any]) -> tuple[int, int]:
    """Tokens of prompt and completion; 0 where the endpoint does not count them."""
    return _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))


def error_text(payload: bytes) -> str:
    """The message in an error body of any of the usual forms, in one short line."""
    found = _json(payload)
    for key in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(key):
            found = found[key]
    return _shown(found.encode() if isinstance(found, str) else payload)


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that `Retry-After` asks for, as a number or as a date; None where it does not.

    Source: RFC 9110, section 10.2.3.
    """
    value = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value):
        return float(value)
    try:
        date = email.utils.parsedate_to_datetime(value)
        return max(date.timestamp() - now, 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def _json(payload: bytes) -> Any:
    """The body's value; None where it is not JSON."""
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return None


def _usage(body: Any) -> Mapping[str, Any]:
    usage = body.get("usage") if isinstance(body, dict) else None
    return usage if isinstance(usage, dict) else {}


def _failed_inside(place: Mapping[str, Any], usage: Mapping[str, Any]) -> Failed:
    """The error that a body, or a choice in it, tells with the status 200."""
    error = place.get("error")
    number = error.get("code") if isinstance(error, dict) else None
    return Failed(
        number if isinstance(number, int) and number >= 400 else 200,
        error_text(json.dumps(place).encode()),
        code=_code(error),
        usage=usage,
    )


def _code(error: Any) -> str:
    """What an error is called: its code, else its type; empty for a number or nothing."""
    named = (error.get(key) for key in ("code", "type")) if isinstance(error, dict) else ()
    return next((each for each in named if isinstance(each, str) and not each.isdigit()), "")


def _text_of(choice: Mapping[str, Any]) -> str:
    """What a choice says."""
    if choice.get("message") is None and isinstance(choice.get("finish_reason"), str):
        return ""
    return _text(choice["message"].get("content"))


def _text(content: Any) -> str:
    """Content as text: a string, nothing, or a list of typed parts."""
    if content is None:
        return ""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    if not isinstance(content, str):
        raise TypeError("content is neither text nor parts")
    return content


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _shown(payload: bytes) -> str:
    """The body as one line for a person, without markup, shortened."""
    text = payload[: 20 * _SHOWN_CHARS].decode(errors="replace")
    if text.lstrip()[:1] == "<":
        text = re.sub(r"(?s)<(style|script).*?</\1>|<[^>]*>", " ", text)
    line = " ".join(text.split())
    if not line:
        return "(empty)"
    return line if len(line) <= _SHOWN_CHARS else line[:_SHOWN_CHARS] + "…"
