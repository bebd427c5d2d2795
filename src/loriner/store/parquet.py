"""Exported rows as a Parquet file. The one place that needs pyarrow."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from loriner.errors import MissingExtra

ROWS_AT_ONCE = 10_000

_CONTEXT = {**dict.fromkeys(("run", "context", "task", "harness", "source"), "string"), "round": "int64"}
_MESSAGES = [{"role": "string", "content": "string"}]
_SCORED = {"score": "float64", "completion_rate": "float64", "n": "int64"}
SHAPES: dict[str, dict[str, Any]] = {
    "trials": {
        **dict.fromkeys(("run", "harness", "task", "purpose", "question"), "string"),
        **dict.fromkeys(("sample", "attempt"), "int64"),
        **dict.fromkeys(("status", "detail"), "string"),
        **dict.fromkeys(("score", "seconds", "cpu_s", "started"), "float64"),
        **dict.fromkeys(("calls", "prompt_tokens", "completion_tokens"), "int64"),
        "usd": "float64",
        **dict.fromkeys(("answer", "stdout", "error"), "string"),
    },
    "sft": {
        **_CONTEXT,
        "index": "int64",
        "messages": _MESSAGES,
        **dict.fromkeys(("candidate", "candidate_source"), "string"),
        **dict.fromkeys(("parent_score", "score"), "float64"),
        "accepted": "bool",
    },
    "grpo": {
        **_CONTEXT,
        "messages": _MESSAGES,
        "rollouts": [
            {"index": "int64", **dict.fromkeys(("completion", "code", "candidate"), "string"), **_SCORED}
        ],
    },
}
"""The columns of each export. A list holds one element's columns."""


def write_parquet(rows: Iterable[Mapping[str, Any]], out: Path, what: str) -> int:
    """How many rows were written to a file with the columns of `SHAPES[what]`.

    Raises:
        MissingExtra: pyarrow is not installed.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingExtra("parquet", "writing Parquet")
    import pyarrow
    from pyarrow import parquet

    schema, n_rows = pyarrow.schema(_type(SHAPES[what])), 0
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        left = iter(rows)
        while part := [_utf8(row) for row in islice(left, ROWS_AT_ONCE)]:
            writer.write_table(pyarrow.Table.from_pylist(part, schema))
            n_rows += len(part)
    return n_rows


def _type(shape: Any) -> Any:
    import pyarrow

    if isinstance(shape, list):
        return pyarrow.list_(_type(shape[0]))
    if isinstance(shape, dict):
        return pyarrow.struct([(name, _type(inner)) for name, inner in shape.items()])
    return pyarrow.type_for_alias(shape)


def _utf8(value: Any) -> Any:
    """The value with lone surrogates written out, which Parquet's text cannot hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {key: _utf8(inner) for key, inner in value.items()}
    return [_utf8(inner) for inner in value] if isinstance(value, list) else value
