"""Eight forms in which an answer can be asked for, each with a strict reader.

A reader wants exactly one hit: a reply without the form, or with two of them, has no answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contract:
    """A form that a reply must have. `key` is a word of four hex digits that some forms use."""

    kind: str
    key: str

    @property
    def instruction(self) -> str:
        """What the question says of it."""
        wanted = FORMS[self.kind].instruction.replace("KEY", self.key)
        return f"[output format] {wanted} This replaces any output format named in the task."


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of contract."""

    instruction: str
    write: Callable[[str, str], str]
    """(answer, key) → the shortest reply that keeps the contract."""
    read: Callable[[str, str], str | None]
    """(reply, key) → the answer, or None."""


def write(contract: Contract, answer: str) -> str:
    """The shortest reply that keeps the contract."""
    return FORMS[contract.kind].write(answer, contract.key)


def extract(contract: Contract, reply: str) -> str | None:
    """The answer in a reply; None when the reply breaks the contract."""
    return FORMS[contract.kind].read(reply, contract.key)


def _only_value(reply: str, key: str) -> str | None:
    try:
        data = json.loads(reply.strip())
    except (ValueError, RecursionError):
        return None
    value = data[key] if isinstance(data, dict) and list(data) == [key] else None
    return value if isinstance(value, str) else None


def _tagged(reply: str, key: str) -> str | None:
    if reply.count("<final>") != 1 or reply.count("</final>") != 1:
        return None
    before, _, rest = reply.partition("<final>")
    return rest.partition("</final>")[0] if "</final>" not in before else None


def _boxed(reply: str, key: str) -> str | None:
    if reply.count("\\boxed{") != 1:
        return None
    body, depth = reply.partition("\\boxed{")[2], 1
    for place, character in enumerate(body):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return body[:place]
    return None


def _fence(answer: str, key: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", answer)), default=0))
    return f"{fence}answer\n{answer}\n{fence}"


def _fenced(reply: str, key: str) -> str | None:
    opened = list(re.finditer(r"^(`{3,})answer[ \t]*\r?\n", reply, re.M))
    if len(opened) != 1:
        return None
    closed = re.compile(rf"\r?\n{opened[0].group(1)}[ \t]*\r?$", re.M)
    start = opened[0].end()
    end = closed.search(reply, start - 1)  # an empty body shares its line break with the opening
    return reply[start : max(start, end.start())] if end else None


def _hash(answer: str, key: str) -> str:
    return "#### " + answer.replace("\\", "\\\\").replace("\n", "\\n")


def _hashed(reply: str, key: str) -> str | None:
    lines = [line for line in reply.split("\n") if line.startswith("#### ")]
    if len(lines) != 1:
        return None
    return re.sub(r"\\([n\\])", lambda hit: "\n" if hit.group(1) == "n" else "\\", lines[0][5:])


def _between(reply: str, key: str) -> str | None:
    hits = re.findall(rf"^BEGIN {key}[ \t]*\r?\n(?:(.*?)\r?\n)??END {key}[ \t]*\r?$", reply, re.M | re.S)
    return hits[0] if len(hits) == 1 and len(re.findall(rf"^BEGIN {key}\b", reply, re.M)) == 1 else None


FORMS: Mapping[str, Form] = {
    "bare": Form("Reply with the answer only.", lambda answer, key: answer, lambda reply, key: reply.strip()),
    "json": Form(
        'Reply with one JSON object {"answer": "<string>"} and nothing else.',
        lambda answer, key: json.dumps({"answer": answer}),
        lambda reply, key: _only_value(reply, "answer"),
    ),
    "json_key": Form(
        'Reply with one JSON object whose only key is "KEY" and whose value is the answer as a string.',
        lambda answer, key: json.dumps({key: answer}),
        _only_value,
    ),
    "tag": Form(
        "Put the answer between <final> and </final>.",
        lambda answer, key: f"<final>{answer}</final>",
        _tagged,
    ),
    "boxed": Form("Put the answer in \\boxed{...}.", lambda answer, key: f"\\boxed{{{answer}}}", _boxed),
    "fence": Form("Put the answer alone in a fenced block labelled answer.", _fence, _fenced),
    "hash": Form(
        'End with a line "#### " followed by the answer, its line breaks written as \\n and its '
        "backslashes as \\\\.",
        _hash,
        _hashed,
    ),
    "sentinel": Form(
        "Put the answer between the lines BEGIN KEY and END KEY.",
        lambda answer, key: f"BEGIN {key}\n{answer}\nEND {key}",
        _between,
    ),
}
