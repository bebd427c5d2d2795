"""The strict JSON adapter: `{"edits": [{"find": str, "replace": str}]}`, as other tools write it.

Code is never repaired: a payload that is not JSON to the letter is refused. Off in training.
"""

from __future__ import annotations

import json
import re
from typing import Any

from loriner.errors import EditError
from loriner.harness.blocks import MAX_EDITS, no_edit_block, require_text, too_many_edits
from loriner.records import Edit, Revision

_PAYLOAD = re.compile(r'\{\s*"edits"\s*:')
_FENCE = re.compile(r"^```\w*[ \t]*\r?\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SHAPE = '{"edits": [{"find": "whole lines", "replace": "new lines"}]}'


def parse_json(text: str) -> Revision:
    """The edits of the one JSON object in the text.

    Raises:
        EditError: `no_edit_block`, `json_invalid`, `json_schema`, `multiple_payloads`, `too_many_edits`,
            `empty_search`.
    """
    payload = _only_payload(text)
    if not isinstance(payload, dict) or set(payload) != {"edits"}:
        raise _schema("the object must have the one key `edits`")
    items = payload["edits"]
    if not isinstance(items, list) or not items:
        raise _schema("`edits` must be a list with at least one edit")
    if len(items) > MAX_EDITS:
        raise too_many_edits()
    return Revision(edits=tuple(_edit(item, number) for number, item in enumerate(items, 1)))


def _only_payload(text: str) -> Any:
    start = _PAYLOAD.search(text)
    if start is None:
        return _other_document(text)
    payload, end = _decoded(text, start.start())
    if _PAYLOAD.search(text, end):
        raise EditError(
            "multiple_payloads",
            "multiple_payloads: the reply holds more than one object with `edits`. Give exactly one.",
        )
    return payload


def _other_document(text: str) -> Any:
    """A JSON document of another shape, so that it is refused for its shape; none is no edit."""
    fence = _FENCE.search(text)
    body = (fence[1] if fence else text).strip()
    if not body.startswith(("{", "[")):
        raise no_edit_block()
    return _decoded(body, 0)[0]


def _decoded(text: str, at: int) -> tuple[Any, int]:
    try:
        return json.JSONDecoder(object_pairs_hook=_distinct).raw_decode(text, at)
    except json.JSONDecodeError as error:
        why = f"{error.msg} at line {error.lineno}, column {error.colno}"
    except (RecursionError, ValueError) as error:
        why = str(error)[:100]
    raise EditError(
        "json_invalid",
        f'json_invalid: {why}. Code is not repaired: escape each quote as \\", each backslash as \\\\ '
        "and each line end as \\n inside a string.",
    )


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _schema("a key stands twice in one object")
    return found


def _edit(item: Any, number: int) -> Edit:
    if not isinstance(item, dict) or set(item) != {"find", "replace"}:
        raise _schema(f"edit {number} must have exactly the keys `find` and `replace`")
    find, replace = item["find"], item["replace"]
    if not isinstance(find, str) or not isinstance(replace, str):
        raise _schema(f"`find` and `replace` of edit {number} must be strings")
    require_text(find.split("\n"), number)
    return Edit(_whole_lines(find), _whole_lines(replace))


def _whole_lines(text: str) -> str:
    text = text.replace("\r\n", "\n")
    return text if not text or text.endswith("\n") else text + "\n"


def _schema(why: str) -> EditError:
    return EditError("json_schema", f"json_schema: {why}. Expected {_SHAPE}.")
