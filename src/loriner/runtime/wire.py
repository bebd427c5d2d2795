"""Frames between the host and a program: four bytes of little-endian length, then one JSON object in UTF-8.

Standard library only: the child uses this module too. The child's end is untrusted, so the host reads
through `Decoder` and `violation`, which bound size, depth and numbers and refuse what is not in `FIELDS`.
What a valid frame *says* is not checked here.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Frame = dict[str, Any]

CHILD_FRAME_BYTES = 2**20
"""The longest frame that a child may send."""
HOST_FRAME_BYTES = 16 * 2**20
"""The longest frame that the host may send: a program, or the reply of a tool."""
PROMPT_BYTES = 256 * 2**10
"""The longest text of one model call, all messages together."""
SOLVING = os.O_APPEND
"""The flag that a child sets on its output file when its source is loaded. The host reads it when it judges:
a frame would wake it in each run, to say what only matters when a run fails."""
_DEPTH = 32
_LENGTH = struct.Struct("<I")
_INTEGER_DIGITS = 18


class WireError(Exception):
    """The bytes are not frames, or the frame is not one that may come now."""


def encode(frame: Mapping[str, Any], limit: int = HOST_FRAME_BYTES) -> bytes:
    """The bytes of a frame; text that is not Unicode is replaced.

    Raises:
        WireError: it is longer than `limit` bytes.
    """
    data = _encode(frame).encode("utf-8", "replace")
    if len(data) > limit:
        raise WireError(f"a frame of {len(data)} bytes is over the limit of {limit}")
    return _LENGTH.pack(len(data)) + data


def decode(data: bytes) -> Frame:
    """The object in the bytes of one frame, without its length."""
    try:
        value = _decode(data.decode())
    except (ValueError, RecursionError) as error:
        raise WireError(f"not a JSON object: {type(error).__name__}") from None
    if not isinstance(value, dict) or not _shallow(value, _DEPTH):
        raise WireError(f"not a JSON object of depth {_DEPTH} or less")
    return value


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _integer(digits: str) -> int:
    return int(digits) if len(digits.lstrip("-")) <= _INTEGER_DIGITS else _refuse(digits[:20])


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_decode = json.JSONDecoder(parse_constant=_refuse, parse_int=_integer, parse_float=_finite).decode


def _shallow(value: Any, depth: int) -> bool:
    if isinstance(value, dict):
        return depth > 0 and all(_shallow(each, depth - 1) for each in value.values())
    if isinstance(value, list):
        return depth > 0 and all(_shallow(each, depth - 1) for each in value)
    return True


class Decoder:
    """Cuts a stream of bytes into frames, holding never more than one frame's bytes and a read."""

    def __init__(self, limit: int = CHILD_FRAME_BYTES) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that `data` completes. Raises WireError."""
        self._buffer += data
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > self._limit:
                raise WireError(f"a frame of {length} bytes is over the limit of {self._limit}")
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            yield decode(body)

    @property
    def partial(self) -> bool:
        """Whether a frame has begun and not ended."""
        return bool(self._buffer)


def send(fd: int, frame: Mapping[str, Any]) -> None:
    """Writes a frame to a blocking descriptor (the child's side)."""
    write_all(fd, encode(frame, CHILD_FRAME_BYTES))


def write_all(fd: int, data: bytes) -> None:
    """Writes all of `data` to a blocking descriptor."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def receive(fd: int) -> Frame:
    """Reads one of the host's frames, which are trusted, from a blocking descriptor. Raises EOFError."""
    (length,) = _LENGTH.unpack(_read_exactly(fd, _LENGTH.size))
    frame: Frame = json.loads(_read_exactly(fd, length))
    return frame


def _read_exactly(fd: int, n: int) -> bytes:
    parts = bytearray()
    while len(parts) < n:
        part = os.read(fd, min(n - len(parts), 2**18))
        if not part:
            raise EOFError("the other end is closed")
        parts += part
    return bytes(parts)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _optional_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _count(value: Any) -> bool:
    return type(value) is int and 0 < value < 2**31


def _number(value: Any) -> bool:
    return type(value) in (int, float)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= 16 and all(isinstance(each, str) for each in value)


def _messages(value: Any) -> bool:
    if not isinstance(value, list) or not 0 < len(value) <= 256:
        return False
    return all(map(_message, value)) and sum(map(text_bytes, value)) <= PROMPT_BYTES


def _message(value: Any) -> bool:
    """A role and a content, which is text or parts; calls of tools, and which of them a message answers."""
    if not isinstance(value, dict) or not {"role", "content"} <= value.keys() <= _MESSAGE_KEYS:
        return False
    content, calls = value["content"], value.get("tool_calls", [])
    return (
        value["role"] in ROLES
        and (_text(content) or (isinstance(content, list) and len(content) > 0 and all(map(part, content))))
        and isinstance(calls, list)
        and all(isinstance(each, dict) for each in calls)
        and _text(value.get("tool_call_id", ""))
    )


def part(value: Any) -> bool:
    """A part of a content: a text, or an image, a sound or a file that the request itself holds. An address
    would have the server of the model fetch it, which is a way out of the cage.
    """
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str):
        return False
    if kind == "text":
        return value.keys() == {"type", "text"} and _text(value["text"])
    held = value.get(kind)
    if kind not in PARTS or value.keys() != {"type", kind} or not isinstance(held, dict):
        return False
    return held.keys() <= _PART_KEYS and all(map(_held, held.values()))


def _held(value: Any) -> bool:
    """Whether it is a text, and no address."""
    return isinstance(value, str) and (value.startswith("data:") or "://" not in value)


def text_bytes(message: Mapping[str, Any]) -> int:
    """Bytes of a message's role and text; what it holds beside counts for the frame alone."""
    content = message["content"]
    texts = [content] if isinstance(content, str) else [each.get("text", "") for each in content]
    return sum(len(text.encode("utf-8", "replace")) for text in (message["role"], *texts))


def further(value: Any) -> bool:
    """What a call asks beyond texts, each under its name. A tool is a function of the program: those that a
    server runs itself, such as a search of the web, are ways out of the cage.
    """
    known = isinstance(value, dict) and all(
        name in FURTHER and isinstance(each, FURTHER[name]) for name, each in value.items()
    )
    return known and all(map(_function, value.get("tools", ())))


def _function(tool: Any) -> bool:
    return isinstance(tool, dict) and tool.get("type") == "function"


ROLES = ("system", "user", "assistant", "tool")
PARTS = ("image_url", "input_audio", "file")
FURTHER: Mapping[str, type | tuple[type, ...]] = {
    "response_format": dict,
    "grammar": str,
    "logprobs": bool,
    "top_logprobs": int,
    "tools": list,
    "tool_choice": (str, dict),
}
"""What a model may be asked beyond a text, and of what kind each is."""
_MESSAGE_KEYS = {"role", "content", "tool_calls", "tool_call_id"}
_PART_KEYS = {"url", "detail", "data", "format", "file_data", "filename"}


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _causes(value: Any) -> bool:
    """Up to 8 of [exception type, errno or None]."""
    return (
        isinstance(value, list)
        and len(value) <= 8
        and all(isinstance(each, list) and len(each) == 2 for each in value)
        and all(_text(name) and (code is None or type(code) is int) for name, code in value)
    )


FIELDS: Mapping[str, Mapping[str, Callable[[Any], bool]]] = {
    "ready": {},
    "uncaged": {"guards": _texts},
    "call": {
        "id": _count,
        "messages": _messages,
        "temperature": _number,
        "max_tokens": _count,
        "stop": _texts,
        "n": _count,
        "further": further,
    },
    "tool": {"id": _count, "name": _text, "arguments": _object},
    "done": {"answer": _optional_text, "type": _text},
    "error": {"type": _text, "message": _text, "traceback": _text, "causes": _causes},
}
"""The frames that a child may send: kind, and for each field what its value must be."""


def violation(frame: Frame) -> str | None:
    """What is wrong with a child's frame, or None."""
    kind = frame.get("kind")
    fields = FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None:
        return f"unknown frame {str(kind)[:40]!r}"
    if frame.keys() != {"kind", *fields}:
        odd = sorted(frame.keys() ^ {"kind", *fields})
        return f"frame {kind!r} has unknown or missing fields: {', '.join(odd)[:80]}"
    wrong = [name for name, valid in fields.items() if not valid(frame[name])]
    return f"frame {kind!r} has a wrong {wrong[0]}" if wrong else None
