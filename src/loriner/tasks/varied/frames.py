"""Ten layouts in which a question can stand, each with its exact inverse.

A frame never looks at the answer. `wrap(question, key)` gives the framed text, `unwrap` the question again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree


@dataclass(frozen=True, slots=True)
class Frame:
    """One layout."""

    wrap: Callable[[str, str], str]
    unwrap: Callable[[str], str]


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def carries(frame: str, question: str) -> bool:
    """Whether the frame can hold the question: XML has no control characters."""
    return frame != "xml" or not _NOT_XML.search(question)


def _json(question: str, key: str) -> str:
    return json.dumps({"id": key, "task": question}, ensure_ascii=False)


def _nested(question: str, key: str) -> str:
    messages = [{"role": "user", "content": question}]
    return json.dumps({"request": {"meta": {"id": key, "lang": "en"}, "messages": messages}}, indent=1)


def _from_nested(text: str) -> str:
    content: str = json.loads(text)["request"]["messages"][0]["content"]
    return content


def _xml(question: str, key: str) -> str:
    data = question.replace("]]>", "]]]]><![CDATA[>").replace("\r", "]]>&#13;<![CDATA[")
    return f'<task id="{key}"><![CDATA[{data}]]></task>'


def _quoted(question: str, key: str) -> str:
    return f"On ticket {key} the user wrote:\n" + "\n".join(f"> {line}" for line in question.split("\n"))


def _numbered(question: str, key: str) -> str:
    lines = [f"{number:03d}| {line}" for number, line in enumerate(question.split("\n"), 1)]
    return "\n".join([f"Task {key}, one line per entry:", *lines])


def _from_numbered(text: str) -> str:
    return "\n".join(line.split("| ", 1)[1] for line in text.split("\n")[1:])


def _fenced(question: str, key: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", question)), default=0))
    return f"# Task {key}\n\n{fence}text\n{question}\n{fence}\n"


def _heredoc(question: str, key: str) -> str:
    return f"cat <<'END_{key}'\n{question}\nEND_{key}\n"


def _yaml(question: str, key: str) -> str:
    chomping = "+" if question.endswith("\n") else "-"
    body = "\n".join(f"  {line}" for line in question.split("\n"))
    return f"id: '{key}'\nprompt: |2{chomping}\n{body}"


def _escaped(question: str, key: str) -> str:
    return f"task_{key} = {json.dumps(question)}"


def _without_columns(first_line: int, columns: int) -> Callable[[str], str]:
    return lambda text: "\n".join(line[columns:] for line in text.split("\n")[first_line:])


def _between(first_line: int) -> Callable[[str], str]:
    """The lines from `first_line` to the one before the last, which is followed by a line break."""
    return lambda text: text.split("\n", first_line)[first_line].rsplit("\n", 2)[0]


FRAMES: Mapping[str, Frame] = {
    "plain": Frame(lambda question, key: question, lambda text: text),
    "json": Frame(_json, lambda text: json.loads(text)["task"]),
    "json_nested": Frame(_nested, _from_nested),
    "xml": Frame(_xml, lambda text: ElementTree.fromstring(text).text or ""),
    "quoted": Frame(_quoted, _without_columns(1, 2)),
    "numbered": Frame(_numbered, _from_numbered),
    "fenced": Frame(_fenced, _between(3)),
    "heredoc": Frame(_heredoc, _between(1)),
    "yaml": Frame(_yaml, _without_columns(2, 2)),
    "escaped": Frame(_escaped, lambda text: json.loads(text.split(" = ", 1)[1])),
}
