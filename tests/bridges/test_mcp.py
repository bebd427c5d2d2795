"""Tools in and a harness out, with the real package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client
from mcp.server import MCPServer
from mcp.types import ToolAnnotations

import loriner as lo
import toy
from loriner.bridges.mcp import WithTools, harness_server, mcp_tools
from loriner.errors import LorinerError, TaskError

pytestmark = pytest.mark.filterwarnings("ignore")
COUNTS = "from tools import count\n\n\ndef solve(model, question):\n    return count(text=question) - 1\n"
FAILS = "from tools import fail\n\n\ndef solve(model, question):\n    return fail(text=question)\n"


def server() -> Any:
    made, reads = MCPServer("words"), ToolAnnotations(read_only_hint=True)

    @made.tool(annotations=reads)
    def count(text: str) -> int:
        """Counts words."""
        return len(text.split())

    @made.tool(annotations=reads)
    def fail(text: str) -> int:
        """Fails."""
        raise RuntimeError("no words")

    return made


def test_a_harness_imports_the_tools_of_a_server(tmp_path: Path) -> None:
    with mcp_tools(server()) as tools, lo.open(tmp_path / "home") as lab:
        task = WithTools(toy.task(tmp_path), tools)
        assert (tools["count"].__doc__ or "") == "count(text: string): Counts words."
        assert lab.evaluate(task, lo.Harness.from_text(COUNTS), toy.say, limit=8).mean_score == 1.0
        failed = lab.evaluate(task, lo.Harness.from_text(FAILS), toy.say, limit=1).trials[0]
        assert (failed.status, failed.score) == ("crashed", 0.0) and "ValueError: fail: " in failed.error


def test_tools_that_may_change_something_and_unknown_ones_are_refused() -> None:
    mixed = server()

    @mixed.tool()
    def drop(table: str) -> str:
        return table

    with pytest.raises(TaskError, match="not marked read-only: drop"), mcp_tools(mixed):
        pass
    with mcp_tools(mixed, only=["count"]) as tools:
        assert list(tools) == ["count"]
    with (
        pytest.raises(TaskError, match="no tool counts; it has count, fail, drop"),
        mcp_tools(mixed, ["counts"]),
    ):
        pass
    with (
        pytest.raises(LorinerError, match="connecting to the MCP server"),
        mcp_tools("http://127.0.0.1:9/mcp"),
    ):
        pass


async def test_a_harness_is_a_tool(tmp_path: Path) -> None:
    right = lo.Harness.from_text("def solve(model, question):\n    return len(question.split()) - 1\n")
    crashes = lo.Harness.from_text("def solve(model, question):\n    return 1 / 0\n")
    with lo.open(tmp_path / "home") as lab:
        made = harness_server(lab, right, toy.say, name="words", description="Counts words exactly.")
        async with Client(made) as client:
            assert [each.name for each in (await client.list_tools()).tools] == ["solve_words"]
            said = await client.call_tool("solve_words", {"question": "Words: one two"})
            assert (said.content[0].text, said.is_error) == ("2", False)
        broken = harness_server(lab, crashes, toy.say, name="words", description="")
        async with Client(broken) as client:
            said = await client.call_tool("solve_words", {"question": "Words: one two"})
            assert said.is_error and "ZeroDivisionError" in said.content[0].text
