"""JSON as its standard has it, where Python reads more: `NaN`, numbers beyond all bounds, half characters."""

from __future__ import annotations

import json
import math
from typing import Any


def loads(text: str) -> Any:
    """The value of a JSON text. Source: RFC 8259, sections 6 and 8.2.

    Raises:
        ValueError: it is not JSON, or holds what no other reader of JSON understands.
    """
    value = _decode(text)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"half of a surrogate pair ({error.object[error.start]!r}), which is no character"
        ) from None
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON: write null, or text such as {json.dumps(name)}")


def _finite(text: str) -> float:
    value = float(text)
    if math.isfinite(value):
        return value
    raise ValueError(f"the number {text[:40]} is too large: write it as text")


_decode = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite).decode
