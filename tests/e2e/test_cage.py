"""`lo.Cage`: the sandbox alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import loriner as lo
from loriner.records import Status

ASKING = "def solve(model, question):\n    return model(question)\n"


@pytest.fixture(scope="module")
def cage() -> Iterator[lo.Cage]:
    with lo.Cage(limits=lo.Limits(cpu_s=1.0, wall_s=5.0)) as opened:
        yield opened


def test_a_program_gets_the_model_and_its_tools(cage: lo.Cage) -> None:
    source = (
        "from tools import look\n\ndef solve(model, question):\n    return model(question) + look(word='b')\n"
    )

    async def look(word: str) -> str:
        return word * 2

    ran = cage.run(source, "a", str.upper, tools={"look": look})
    assert (ran.status, ran.answer) == (Status.OK, "Abb")
    assert [(each.kind, each.reply) for each in ran.calls] == [("model", "A"), ("look", "bb")]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("1 / 0", Status.CRASHED),
        ("return None", Status.NO_ANSWER),
        ("return {}", Status.BAD_ANSWER),
        ("while True: pass", Status.TIMEOUT),
        ("import socket; socket.socket()", Status.DENIED),
    ],
)
def test_how_it_ended_is_said(cage: lo.Cage, body: str, status: Status) -> None:
    ran = cage.run(f"def solve(model, question):\n    {body}\n", "q")
    assert ran.status is status and ran.calls == ()


def test_a_program_that_asks_for_a_model_that_is_not_there_is_told(cage: lo.Cage) -> None:
    ran = cage.run(ASKING, "q")
    assert ran.status is Status.CRASHED and "no model was given" in ran.error


def test_a_model_that_fails_is_not_the_program_s_fault(cage: lo.Cage) -> None:
    def broken(prompt: str) -> str:
        raise OSError("unplugged")

    ran = cage.run(ASKING, "q", broken)
    assert ran.status is Status.INFRA_ERROR and "unplugged" in ran.error
    assert cage.run(ASKING, "q", str.upper).answer == "Q"


def test_plain_code_and_a_text_that_is_no_program(cage: lo.Cage) -> None:
    assert cage.run_python("print(1 + 1)").stdout == "2\n"
    with pytest.raises(lo.LorinerError, match="solve"):
        cage.run("x = 1", "q")


def test_a_cage_that_is_closed_says_how_it_is_opened() -> None:
    with pytest.raises(lo.LorinerError, match="with lo"):
        lo.Cage().run(ASKING, "q")
