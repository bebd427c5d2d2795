"""Answers what one run asks for, within the budget of that run."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from loriner.runtime import wire
from loriner.runtime.base import CallRefused, Limits, Program, Services
from loriner.runtime.wire import Frame

RunPython = Callable[[str, Limits], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Job:
    """What is run: a harness with its services, or a script with none."""

    source: str
    question: str | None = None
    """None for a script."""
    tools: frozenset[str] = frozenset()
    seed: int = 0
    services: Services | None = None

    @classmethod
    def of(cls, program: Program, services: Services) -> Job:
        return cls(program.source, program.question, program.tools, program.seed, services)

    def frame(self, limits: Limits) -> Frame:
        """What the child is told, and all that it is told."""
        return {
            "source": self.source,
            "question": self.question,
            "tools": sorted(self.tools),
            "seed": self.seed,
            "output_bytes": limits.output_bytes,
        }


class Desk:
    """Counts the calls of one run and answers them."""

    def __init__(self, job: Job, limits: Limits, run_python: RunPython) -> None:
        self._job = job
        self._limits = limits
        self._run_python = run_python
        self._n_calls = self._n_tool_calls = self._n_tokens = 0

    def count(self, frame: Frame) -> bool:
        """Counts a call; False when the run has made more than twice the calls that it may make."""
        if frame["kind"] == "tool":
            self._n_tool_calls += 1
        else:
            self._n_calls += frame["n"]
        limits = self._limits
        return self._n_calls <= 2 * limits.n_calls and self._n_tool_calls <= 2 * limits.n_tool_calls

    async def reply(self, frame: Frame) -> bytes:
        """The reply to a counted call, ready to be sent.

        Raises:
            ModelError, BudgetReached, and what else the services raise that is not the program's affair.
        """
        try:
            value = await (self._tool(frame) if frame["kind"] == "tool" else self._model(frame))
        except CallRefused as refusal:
            return wire.encode({"id": frame["id"], "refused": str(refusal), "reason": refusal.kind})
        return wire.encode({"id": frame["id"], "value": value})

    async def _model(self, frame: Frame) -> list[Any]:
        services, limits = self._services(), self._limits
        if self._n_calls > limits.n_calls:
            raise CallRefused(f"this run may ask for {limits.n_calls} model replies, and has")
        n_tokens = frame["n"] * frame["max_tokens"]
        if self._n_tokens + n_tokens > limits.n_completion_tokens:
            raise CallRefused(
                f"this run may ask for {limits.n_completion_tokens} completion tokens (n x max_tokens); "
                f"it has asked for {self._n_tokens}, and now for {n_tokens}"
            )
        self._n_tokens += n_tokens
        asked = {key: value for key, value in frame.items() if key not in ("kind", "id")}
        if not asked["further"]:
            del asked["further"]
        return await services.model(asked)

    async def _tool(self, frame: Frame) -> Any:
        services, name, arguments = self._services(), frame["name"], frame["arguments"]
        if name not in self._job.tools:
            raise CallRefused(f"the tool {name!r:.40} is not granted", kind="arguments")
        if self._n_tool_calls > self._limits.n_tool_calls:
            raise CallRefused(f"this run may make {self._limits.n_tool_calls} tool calls, and has")
        if name == "run_python":
            return await self._python(services, arguments)
        return await services.tool(name, arguments)

    async def _python(self, services: Services, arguments: Mapping[str, Any]) -> str:
        code = arguments.get("code")
        if arguments.keys() != {"code"} or not isinstance(code, str):
            raise CallRefused("run_python(code) takes one text", kind="arguments")
        began = time.monotonic()
        output = await self._run_python(code, self._limits)
        services.ran_python(code, output, time.monotonic() - began)
        return output

    def _services(self) -> Services:
        if self._job.services is None:
            raise CallRefused("this code has no model and no tools", kind="arguments")
        return self._job.services
