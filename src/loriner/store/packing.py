"""Values as bytes and back: compact JSON, deflated where that pays.

Any JSON value comes back equal, lone surrogates and NaN included; tuples come back as lists, records as their
fields.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

PLAIN_BYTES = 200
"""Shorter texts stay as they are: deflating them costs more time than it saves space."""


def fields_of(record: Any) -> dict[str, Any]:
    """The fields of a record, for an encoder that meets one; records within it are met in their turn.

    Raises:
        TypeError: it is no dataclass.
    """
    if not is_dataclass(record) or isinstance(record, type):
        raise TypeError(f"a {type(record).__name__} has no JSON form")
    return {name: getattr(record, name) for name in _names(type(record))}


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


_encode = json.JSONEncoder(separators=(",", ":"), default=fields_of).encode
"""Kept, since `json.dumps` would build an encoder for each value."""


def pack(value: Any) -> bytes:
    """JSON in ASCII, or a zlib stream of it. The first byte tells: `x` begins a zlib stream, and no JSON."""
    plain = _encode(value).encode("ascii")
    return plain if len(plain) <= PLAIN_BYTES else zlib.compress(plain, 1)


def unpack(body: bytes) -> Any:
    """The value that was packed."""
    return json.loads(zlib.decompress(body) if body[:1] == b"x" else body)
