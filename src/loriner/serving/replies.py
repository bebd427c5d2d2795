"""Replies in the shapes of the OpenAI protocol, whole and as server-sent events.

An answer is streamed as one delta: it is whole before any of it is known to be there.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

KEEP_ALIVE = b": keep-alive\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A text for the client, and what it took."""

    model: str
    text: str
    why: str
    """How it came about: the value of `X-Loriner`."""
    harness_id: str = ""
    """Empty for an answer of the solver alone."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    n_calls: int = 1
    n_tool_calls: int = 0
    seconds: float = 0.0

    @property
    def took(self) -> dict[str, Any]:
        """What stands under `loriner` in a reply."""
        return {"calls": self.n_calls, "tools": self.n_tool_calls, "seconds": round(self.seconds, 4)}

    @property
    def headers(self) -> dict[str, str]:
        return {"X-Loriner": self.why} | (
            {"X-Loriner-Harness": self.harness_id[:12]} if self.harness_id else {}
        )


def completion(answer: Answer) -> dict[str, Any]:
    """The body of `/v1/chat/completions`."""
    message = {"role": "assistant", "content": answer.text}
    return {
        **_head(answer, "chat.completion"),
        "choices": [{"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}],
        "usage": _chat_usage(answer),
        "loriner": answer.took,
    }


def chunks(answer: Answer, *, usage: bool) -> Iterator[bytes]:
    """The same as events; `usage` adds it in one of its own, as `stream_options.include_usage` asks."""
    head = _head(answer, "chat.completion.chunk")
    for delta, reason in (({"role": "assistant", "content": answer.text}, None), ({}, "stop")):
        yield _event(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    if usage:
        yield _event(head | {"choices": [], "usage": _chat_usage(answer)})
    yield b"data: [DONE]\n\n"


def response(answer: Answer) -> dict[str, Any]:
    """The body of `/v1/responses`."""
    n_in, n_out = answer.prompt_tokens, answer.completion_tokens
    usage = {
        "input_tokens": n_in,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": n_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": n_in + n_out,
    }
    return _response(answer) | {
        "status": "completed",
        "output": [_message(_id("msg"), "completed", [_part(answer.text)])],
        "usage": usage,
        "loriner": answer.took,
    }


def response_events(answer: Answer) -> Iterator[bytes]:
    """The same as events."""
    whole = response(answer)
    begun = whole | {"status": "in_progress", "output": [], "usage": None}
    item = whole["output"][0]
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    started = _message(item["id"], "in_progress", [])
    events: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": begun}),
        ("response.in_progress", {"response": begun}),
        ("response.output_item.added", {"output_index": 0, "item": started}),
        ("response.content_part.added", place | {"part": _part("")}),
        ("response.output_text.delta", place | {"delta": answer.text, "logprobs": []}),
        ("response.output_text.done", place | {"text": answer.text, "logprobs": []}),
        ("response.content_part.done", place | {"part": _part(answer.text)}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": whole}),
    ]
    for number, (kind, facts) in enumerate(events):
        yield f"event: {kind}\n".encode() + _event({"type": kind, "sequence_number": number} | facts)


def error(message: str, kind: str, code: str | None = None) -> dict[str, Any]:
    """The body of any refusal."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def error_event(message: str) -> bytes:
    """A refusal inside a stream that has begun."""
    return _event(error(message, "server_error", "unavailable"))


def _head(answer: Answer, kind: str) -> dict[str, Any]:
    return {"id": _id("chatcmpl"), "object": kind, "created": int(time.time()), "model": answer.model}


def _chat_usage(answer: Answer) -> dict[str, int]:
    n_in, n_out = answer.prompt_tokens, answer.completion_tokens
    return {"prompt_tokens": n_in, "completion_tokens": n_out, "total_tokens": n_in + n_out}


def _response(answer: Answer) -> dict[str, Any]:
    return {
        "id": _id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "model": answer.model,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": False,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
    }


def _message(id_: str, status: str, content: list[Mapping[str, Any]]) -> dict[str, Any]:
    return {"id": id_, "type": "message", "role": "assistant", "status": status, "content": content}


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _event(facts: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(facts, ensure_ascii=False)}\n\n".encode()


def _id(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex}"
