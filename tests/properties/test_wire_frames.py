"""Frames survive any cutting of the stream, and no bytes make the host's reader do anything but refuse."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loriner.runtime import wire

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS | NUMBERS, lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner), max_leaves=10
)
FRAMES = st.dictionaries(st.text("abcdef", max_size=5), VALUES, max_size=4)


@settings(deadline=None, max_examples=50)
@given(st.lists(FRAMES, max_size=4), st.data())
def test_frames_come_out_as_they_went_in(frames: list[dict[str, Any]], data: st.DataObject) -> None:
    stream = b"".join(map(wire.encode, frames))
    decoder = wire.Decoder()
    found: list[wire.Frame] = []
    while stream:
        n = data.draw(st.integers(1, len(stream)))
        found += decoder.feed(stream[:n])
        stream = stream[n:]
    assert found == frames
    assert not decoder.partial


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=300))
def test_bytes_are_refused_or_are_frames(stream: bytes) -> None:
    try:
        frames = list(wire.Decoder().feed(stream))
    except wire.WireError as error:
        assert 0 < len(str(error)) < 200
        return
    assert all(isinstance(frame, dict) and wire.violation(frame) for frame in frames)


@settings(deadline=None, max_examples=50)
@given(FRAMES)
def test_only_frames_of_the_table_pass(frame: dict[str, Any]) -> None:
    assert wire.violation(frame)
    assert wire.violation({"kind": "done", **frame}) or frame.keys() == {"answer", "type"}


def body(text: str) -> bytes:
    return struct.pack("<I", len(text.encode())) + text.encode()


@pytest.mark.parametrize(
    "stream",
    [
        struct.pack("<I", wire.CHILD_FRAME_BYTES + 1),
        b"\xff\xff\xff\xff",
        body("[]"),
        body('"text"'),
        body('{"a": NaN}'),
        body('{"a": -Infinity}'),
        body('{"a": 1e999}'),
        body('{"a": ' + "9" * 5000 + "}"),
        body("[" * 100_000),
        body('{"a": ' + "[" * 40 + "]" * 40 + "}"),
        struct.pack("<I", 3) + b"\xff\xfe{",
    ],
)
def test_hostile_bytes_are_refused(stream: bytes) -> None:
    with pytest.raises(wire.WireError):
        list(wire.Decoder().feed(stream))


def test_text_that_is_not_unicode_does_not_travel() -> None:
    (frame,) = wire.Decoder().feed(wire.encode({"a": "x\ud800y"}))
    assert frame == {"a": "x?y"}


def test_too_long_a_frame_is_not_sent() -> None:
    with pytest.raises(wire.WireError, match="over the limit of 100"):
        wire.encode({"a": "x" * 100}, 100)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({}, None),
        ({"n": 0}, "wrong n"),
        ({"n": True}, "wrong n"),
        ({"temperature": "1"}, "wrong temperature"),
        ({"stop": ["x"] * 17}, "wrong stop"),
        ({"messages": []}, "wrong messages"),
        ({"messages": [{"role": "user"}]}, "wrong messages"),
        ({"messages": [{"role": "user", "content": "x" * 300_000}]}, "wrong messages"),
        ({"further": {"grammar": 1}}, "wrong further"),
        ({"score": 1}, "unknown or missing fields: score"),
    ],
)
def test_a_call_must_have_its_fields_and_no_other(change: dict[str, Any], complaint: str | None) -> None:
    messages = [{"role": "user", "content": "hello"}]
    call = {
        "kind": "call",
        "id": 1,
        "messages": messages,
        "temperature": 0,
        "max_tokens": 9,
        "stop": [],
        "n": 1,
        "further": {},
    }
    found = wire.violation(json.loads(json.dumps(call | change)))
    assert (found is None) if complaint is None else (found is not None and complaint in found)
