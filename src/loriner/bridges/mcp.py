"""MCP: the read-only tools of a server for our harnesses, and a harness as a tool of a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any

from loriner.api.given import Program, Solver
from loriner.api.lab import Lab
from loriner.bridges import framework
from loriner.concurrency import Door, opened
from loriner.errors import InfrastructureError, TaskError
from loriner.harness.contract import GRANTED
from loriner.records import Question, Score, Status
from loriner.tasks.base import Split, Task, Tool

Client = framework("mcp", "mcp", "2.3.0", "Client.call_tool", "Client.list_tools").Client
MCPServer = framework("mcp.server", "mcp", "2.3.0", "MCPServer.tool").MCPServer
ToolError = framework("mcp.server.mcpserver.exceptions", "mcp", "2.3.0", "ToolError").ToolError


@contextmanager
def mcp_tools(server: Any, only: Sequence[str] | None = None) -> Iterator[Mapping[str, Tool]]:
    """The tools of a server (an address, `StdioServerParameters` or a server object) while the block lasts.

    Raises:
        TaskError: a tool is not marked read-only, has a name that no program can import, or is not there.
    """
    with opened(partial(_connected, server)) as door:
        listed = door.call(lambda client: client.list_tools()).tools
        chosen = [each for each in listed if only is None or each.name in only]
        _require_usable(chosen, [each.name for each in listed], only or ())
        yield {each.name: _tool(door, each) for each in chosen}


def _require_usable(tools: Sequence[Any], names: Sequence[str], only: Sequence[str]) -> None:
    """Raises TaskError: an adaptation calls tools thousands of times, so none may change anything."""
    if missing := sorted(set(only) - set(names)):
        raise TaskError(f"the server has no tool {', '.join(missing)}; it has {', '.join(names)}")
    writing = [each.name for each in tools if not (each.annotations and each.annotations.read_only_hint)]
    if writing:
        raise TaskError(
            f"not marked read-only: {', '.join(writing)}. An adaptation calls tools thousands of times; "
            "choose others with `only`"
        )
    if odd := [each.name for each in tools if not each.name.isidentifier() or each.name in GRANTED]:
        raise TaskError(
            f"a program cannot import tools of these names: {', '.join(odd)}; choose others with `only`"
        )


@asynccontextmanager
async def _connected(server: Any) -> AsyncIterator[Any]:
    """A client. A task of its own holds it, since its cancel scope must end where it began."""
    ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()
    keeper = asyncio.create_task(_keep(server, ready, over))
    await asyncio.wait([keeper, ready], return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        error = keeper.exception()
        raise InfrastructureError(f"connecting to the MCP server {server!r:.100}: {error}") from error
    try:
        yield ready.result()
    finally:
        over.set()
        with suppress(Exception):
            await keeper


async def _keep(server: Any, ready: asyncio.Future[Any], over: asyncio.Event) -> None:
    async with Client(server) as client:
        ready.set_result(client)
        await over.wait()


def _tool(door: Door[Any], listed: Any) -> Tool:
    """A tool; what the server calls an error is raised in the program that called it."""

    async def call(**arguments: Any) -> Any:
        asked = partial(door.call, lambda client: client.call_tool(listed.name, arguments))
        said = await asyncio.to_thread(asked)
        text = "\n".join(part.text for part in said.content if part.type == "text")
        if said.is_error:
            raise ValueError(text)
        found = said.structured_content
        return text if found is None else found.get("result", found)

    words = (listed.description or "").strip().partition("\n")[0]
    call.__doc__ = f"{listed.name}({', '.join(map(_argument, _properties(listed)))}): {words}"
    return call


def _properties(listed: Any) -> list[tuple[str, str]]:
    shape = listed.input_schema.get("properties", {})
    return [(name, each.get("type", "any")) for name, each in shape.items()]


def _argument(named: tuple[str, str]) -> str:
    return f"{named[0]}: {named[1]}"


class WithTools:
    """A task that grants more tools: `WithTools(task, tools)`."""

    def __init__(self, task: Task, tools: Mapping[str, Tool]) -> None:
        self.name, self.description, self.seed_harness = task.name, task.description, task.seed_harness
        self.tools = {**task.tools, **tools}
        self._task = task

    def questions(self, split: Split) -> Sequence[Question]:
        return self._task.questions(split)

    async def score(self, question: Question, answer: str) -> Score:
        return await self._task.score(question, answer)

    async def close(self) -> None:
        await self._task.close()


def harness_server(lab: Lab, program: Program, solver: Solver, *, name: str, description: str) -> Any:
    """An MCP server whose only tool, `solve_NAME(question)`, runs a harness in the sandbox."""
    server = MCPServer(name)

    async def solve(question: str) -> str:
        ran = await asyncio.to_thread(lab.run, program, question, solver)
        if ran.status is not Status.OK:
            raise ToolError(f"the program ended as {ran.status}: {ran.detail} {ran.error}".strip())
        return ran.answer

    server.tool(name=f"solve_{name}", description=description)(solve)
    return server
