"""What a `/chat/completions` endpoint may answer, read without trust."""

from __future__ import annotations

import email.utils
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

_SHOWN_CHARS = 300


@dataclass(frozen=True, slots=True)
class Failed:
    """A try that brought no completion."""

    status: int
    """HTTP status; 0 where no whole reply came."""
    message: str
    retry_after_s: float | None = None
    too_slow: bool = False
    """No whole reply came in time."""

    @property
    def worth_retrying(self) -> bool:
        return self.status in (0, 408, 425, 429) or self.status >= 500 or 200 <= self.status < 300

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
    usage: Mapping[str, Any] = field(default_factory=dict)


Attempt = Completed | Failed


def read_reply(payload: bytes) -> Attempt:
    """The completion in the body of a 200, or why there is none.

    Absent or null content is an empty text: a model that only reasoned, or called a tool.
    """
    try:
        body = json.loads(payload)
    except (ValueError, RecursionError):
        return Failed(200, f"the reply is not JSON: {_shown(payload)}")
    if isinstance(body, dict) and body.get("error"):
        code = body["error"].get("code") if isinstance(body["error"], dict) else None
        return Failed(code if isinstance(code, int) and code >= 400 else 200, error_text(payload))
    try:
        choice = body["choices"][0]
        text = _text(choice["message"].get("content"))
    except (KeyError, IndexError, TypeError, AttributeError):
        return Failed(200, f"the reply is no chat completion: {_shown(payload)}")
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Completed(
        text=text,
        finish_reason=str(choice.get("finish_reason") or ""),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        usage=usage,
    )


def error_text(payload: bytes) -> str:
    """The message in an error body of any of the usual forms, in one short line."""
    try:
        body = json.loads(payload)
    except (ValueError, RecursionError):
        return _shown(payload)
    found = body
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
    return value if isinstance(value, int) and value >= 0 else 0


def _shown(payload: bytes) -> str:
    """The body as one line for a person, without markup, shortened."""
    text = payload[: 20 * _SHOWN_CHARS].decode(errors="replace")
    if text.lstrip()[:1] == "<":
        text = re.sub(r"(?s)<(style|script).*?</\1>|<[^>]*>", " ", text)
    line = " ".join(text.split())
    if not line:
        return "(empty)"
    return line if len(line) <= _SHOWN_CHARS else line[:_SHOWN_CHARS] + "…"
