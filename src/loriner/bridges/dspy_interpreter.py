"""DSPy: the sandbox as the interpreter of Flex, RLM, CodeAct and ProgramOfThought."""

from __future__ import annotations

import asyncio
import inspect
import json
import queue
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from loriner.api.cage import Cage
from loriner.bridges import framework
from loriner.bridges.shared_cage import shared_cage
from loriner.errors import LorinerError
from loriner.runtime.base import Limits

dspy = framework(
    *("dspy.primitives.code_interpreter", "dspy", "3.4.1"),
    *("CodeExecutionError", "CodeInterpreterError", "FinalOutput"),
)

_SESSION = Path(__file__).with_name("dspy_session.py").read_text(encoding="utf-8")
SESSION_LIMITS = Limits(cpu_s=60, wall_s=120, call_s=86_400, total_s=86_400, n_tool_calls=1_000_000)
"""What one session may use in all; its clock stands still while it waits for code."""


class CagedInterpreter:
    """A `CodeInterpreter` of DSPy: `dspy.configure(interpreter_factory=CagedInterpreter)`.

    A session is one run in the sandbox. Tools are called in the thread that called `execute`.
    """

    def __init__(self, tools: Mapping[str, Callable[..., Any]] | None = None) -> None:
        self.tools: dict[str, Callable[..., Any]] = dict(tools or {})
        self.output_fields: list[dict[str, Any]] | None = None
        self._said: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._jobs: _Jobs | None = None
        self._ended = ""

    def start(self) -> None:
        """Starts the session; nothing where it runs already."""
        if self._ended:
            raise dspy.CodeInterpreterError(self._ended)
        if self._jobs is None:
            self._jobs = _Jobs(self._said)
            cage = shared_cage(SESSION_LIMITS)
            threading.Thread(target=self._run, args=(cage, self._jobs), daemon=True).start()
            self._result()

    def execute(self, code: str, variables: dict[str, Any] | None = None) -> Any:
        """The value of the last expression, else what was printed, else None; or what SUBMIT was given."""
        fields = [each["name"] for each in self.output_fields or ()]
        job = {"code": code, "variables": variables or {}, "tools": list(self.tools), "fields": fields}
        try:
            job = json.loads(json.dumps(job, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise dspy.CodeInterpreterError(f"variables must be JSON values: {error}") from error
        self.start()
        assert self._jobs is not None
        self._jobs.put(job)
        match self._result():
            case {"final": value}:
                return dspy.FinalOutput(value)
            case {"syntax": text}:
                raise SyntaxError(text)
            case {"error": text}:
                raise dspy.CodeExecutionError(text)
            case {"value": value, "printed": printed}:
                return value if value is not None else printed or None

    def shutdown(self) -> None:
        """Ends the session. Safe to call twice."""
        if self._jobs is not None and not self._ended:
            self._jobs.put(None)
        self._ended = self._ended or "this session has been shut down"

    def _result(self) -> Any:
        """What the session says next; the tools that it asks for meanwhile are served here."""
        assert self._jobs is not None
        while True:
            kind, said = self._said.get()
            if kind == "result":
                return said
            if kind == "ended":
                self._ended = f"the session ended: {said}"
                raise dspy.CodeInterpreterError(self._ended)
            self._jobs.put(self._called(said))

    def _called(self, call: Mapping[str, Any]) -> Any:
        """What a tool returns or raises, for the session."""
        try:
            value = self.tools[call["name"]](*call["args"], **call["kwargs"])
            value = asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value
            json.dumps(value, allow_nan=False)
        except Exception as error:  # noqa: BLE001 - raised again, in the code that called the tool
            return ValueError(f"{type(error).__name__}: {error}")
        return value

    def _run(self, cage: Cage, jobs: _Jobs) -> None:
        try:
            ran = cage.run(_SESSION, "session", tools={"step": jobs.step, "host": jobs.host})
            said = ": ".join(filter(None, (str(ran.status), ran.detail, ran.error)))
        except LorinerError as error:
            said = str(error)
        self._said.put(("ended", said))


class _Jobs:
    """Passes jobs and tool results to the session, whose tools run on another loop."""

    def __init__(self, said: queue.Queue[tuple[str, Any]]) -> None:
        self._said = said
        self._waiting: asyncio.Queue[Any] = asyncio.Queue()
        self._loop: asyncio.AbstractEventLoop | None = None

    def put(self, value: Any) -> None:
        assert self._loop is not None  # the session has asked for something
        self._loop.call_soon_threadsafe(self._waiting.put_nowait, value)

    async def step(self, said: Any) -> Any:
        self._loop = asyncio.get_running_loop()
        self._said.put(("result", said))
        return await self._waiting.get()

    async def host(self, **call: Any) -> Any:
        self._said.put(("call", call))
        value = await self._waiting.get()
        if isinstance(value, Exception):
            raise value
        return value


async def _awaited(value: Any) -> Any:
    return await value
