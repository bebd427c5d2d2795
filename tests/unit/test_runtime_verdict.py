"""Verdicts are decided from what the host saw, in order of how much it is worth."""

from __future__ import annotations

import errno
import signal
from dataclasses import replace
from typing import Any

import pytest

from loriner.records import Status
from loriner.runtime.base import Limits
from loriner.runtime.pool import Exit
from loriner.runtime.text import clean, defuse
from loriner.runtime.verdict import RunEnding, decide

DONE = {"kind": "done", "answer": "42", "type": "str"}
FINE = Exit(status=0, cpu_s=0.01, rss_bytes=2**24)
LIMITS = Limits()


def ending(**changes: Any) -> RunEnding:
    seen: dict[str, Any] = {"limits": LIMITS, "caged": True, "ready": True, "terminal": DONE, "exit": FINE}
    return RunEnding(**{**seen, **changes})


def error(kind: str, *causes: list[Any]) -> dict[str, Any]:
    return {"kind": "error", "type": kind, "message": "words", "traceback": "", "causes": [*causes]}


def died(number: int, **changes: Any) -> Exit:
    return replace(FINE, status=number, **changes)


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        ({}, (Status.OK, "")),
        ({"fault": "no model"}, (Status.INFRA_ERROR, "host")),
        ({"exit": None}, (Status.INFRA_ERROR, "zygote")),
        ({"ready": False, "terminal": None}, (Status.INFRA_ERROR, "start")),
        ({"killed": "wall"}, (Status.TIMEOUT, "wall")),
        ({"killed": "total"}, (Status.TIMEOUT, "call")),
        ({"killed": "budget"}, (Status.BUDGET_EXCEEDED, "calls")),
        ({"killed": "wall", "violation": "odd"}, (Status.TIMEOUT, "wall")),
        ({"violation": "odd"}, (Status.PROTOCOL_ERROR, "")),
        ({"violation": "odd", "exit": died(signal.SIGSEGV)}, (Status.PROTOCOL_ERROR, "")),
        ({"exit": died(signal.SIGSEGV)}, (Status.CRASHED, "signal11")),
        ({"exit": died(signal.SIGSEGV, rss_bytes=LIMITS.memory_bytes)}, (Status.MEMORY_LIMIT, "")),
        ({"exit": died(signal.SIGSYS)}, (Status.DENIED, "syscall")),
        ({"exit": died(signal.SIGXFSZ)}, (Status.OUTPUT_LIMIT, "")),
        ({"exit": died(signal.SIGXCPU)}, (Status.TIMEOUT, "cpu")),
        ({"exit": died(signal.SIGKILL, cpu_s=3.0)}, (Status.TIMEOUT, "cpu")),
        ({"exit": died(signal.SIGKILL)}, (Status.INFRA_ERROR, "killed")),
        ({"exit": died(signal.SIGKILL), "caged": False}, (Status.CRASHED, "signal9")),
        ({"exit": died(signal.SIGKILL), "ended": True}, (Status.OK, "")),
        ({"exit": died(signal.SIGKILL), "ended": True, "terminal": None}, (Status.NO_ANSWER, "exited")),
        ({"terminal": None}, (Status.NO_ANSWER, "exited")),
        ({"terminal": None, "exit": died(70 << 8)}, (Status.NO_ANSWER, "exited")),
        ({"terminal": error("KeyError")}, (Status.CRASHED, "KeyError")),
        ({"terminal": error("infra_error\x00!")}, (Status.CRASHED, "infra_error")),
        ({"terminal": error("MemoryError")}, (Status.MEMORY_LIMIT, "")),
        ({"terminal": error("OSError", ["OSError", errno.EFBIG])}, (Status.OUTPUT_LIMIT, "")),
        ({"terminal": error("OSError", ["OSError", errno.EROFS])}, (Status.DENIED, "file")),
        ({"terminal": error("PermissionError", ["PermissionError", errno.EACCES])}, (Status.DENIED, "file")),
        (
            {"terminal": error("PermissionError", ["PermissionError", errno.EPERM])},
            (Status.DENIED, "process"),
        ),
        (
            {"terminal": error("URLError", ["URLError", None], ["OSError", errno.ENETUNREACH])},
            (Status.DENIED, "network"),
        ),
        ({"terminal": error("URLError", ["URLError", None], ["gaierror", None])}, (Status.DENIED, "network")),
    ],
)
def test_the_verdict_follows_the_order_of_evidence(seen: dict[str, Any], verdict: tuple[Status, str]) -> None:
    found = decide(ending(**seen))
    assert (found.status, found.detail) == verdict
    assert found.answer == ("42" if found.status is Status.OK else "")
    assert bool(found.error) == (found.status is not Status.OK)


def test_what_a_program_says_is_capped_and_plain() -> None:
    said = error("E", ["E", None]) | {"traceback": "\x1b[31mred\x1b[0m\x00\u202e" + "x" * 10**6}
    found = decide(ending(terminal=said, stdout="a\x07b\n" * 10**5))
    assert found.error.startswith("redxxx")
    assert len(found.error) <= 8192
    assert found.stdout.startswith("ab\nab\n")
    assert len(found.stdout) <= LIMITS.output_bytes


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain\n\ttext", "plain\n\ttext"),
        ("a\r\nb\rc", "a\nbc"),
        ("\x1b]0;title\x07\x1b[2Jx", "x"),
        ("\ud800\ufeffx", "x"),
        ("é" * 60, "é" * 47 + " [cut]"),
    ],
)
def test_clean_text(text: str, cleaned: str) -> None:
    assert clean(text, 100) == cleaned


@pytest.mark.parametrize(
    ("text", "defused"),
    [
        ("<|im_start|>system", "<\\|im_start|>system"),
        ("</s><s>[INST] hi [/INST]", "<\\/s><\\s>[\\INST] hi [\\/INST]"),
        ("<start_of_turn>user</think>", "<\\start_of_turn>user<\\/think>"),
        ("<｜User｜>", "<\\｜User｜>"),
        ("<answer>12</answer>", "<answer>12</answer>"),
        ("if a < b and c > d: x[0] |= y", "if a < b and c > d: x[0] |= y"),
    ],
)
def test_no_chat_token_survives(text: str, defused: str) -> None:
    assert defuse(text) == defused
