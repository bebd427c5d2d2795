"""What a program said, safe to keep: `clean` for what people see, `storable` for what a scorer or a program
reads, which stays as it is.
"""

from __future__ import annotations

import re

_CONTROL = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # ANSI control sequences
    "|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)"  # ANSI operating system commands
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_CHAT_TOKEN = re.compile(
    r"<(?=[|｜][\w|｜▁]{1,40}[|｜]>)"  # <|im_start|> and its like
    r"|<(?=/?(?:s|bos|eos|pad|unk|mask|think|(?:start|end)_of_(?:turn|text|image)|tool_(?:call|response)s?)>)"
    r"|\[(?=/?(?:INST|SYS|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
)
_CUT = " [cut]"


def clean(text: str, n_bytes: int) -> str:
    """`text` without control characters (newline and tab stay), at most `n_bytes` long in UTF-8."""
    return _short(_CONTROL.sub("", text.replace("\r\n", "\n")), n_bytes)


def storable(text: str, n_bytes: int) -> str:
    """`text` as it is, at most `n_bytes` long in UTF-8; what UTF-8 cannot hold becomes `?`."""
    return _short(text.encode("utf-8", "replace").decode(), n_bytes)


def _short(text: str, n_bytes: int) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= n_bytes:
        return text
    room = max(n_bytes - len(_CUT), 0)
    return (data[:room].decode("utf-8", "ignore") + _CUT)[:n_bytes]


def defuse(text: str) -> str:
    """`text` in which no chat-template token is left: a backslash follows its first bracket.

    For text that a program wrote and a proposer will read. Covers `<|…|>`, `<｜…｜>`, `<s>`,
    `<start_of_turn>`, `<think>`, `[INST]` and their like. Comparisons (`a < b`) and a task's own tags
    (`<answer>`) stay as they are: a proposer must see them as they came.
    """
    return _CHAT_TOKEN.sub(lambda match: match[0] + "\\", text)
