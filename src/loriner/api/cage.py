"""The sandbox alone: a program is run on a question, and how it ended comes back."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Self

from loriner.api.given import Chatting, Completing
from loriner.concurrency import Door, opened
from loriner.errors import ConfigError
from loriner.evaluation.evaluator import TrialServices
from loriner.harness.contract import from_text
from loriner.models.base import Model, ModelReply, ModelRequest
from loriner.models.own import as_model
from loriner.records import Call, Harness
from loriner.runtime.base import CallRefused, Limits, Program, Runtime, Verdict
from loriner.runtime.host import LocalRuntime
from loriner.runtime.levels import Isolation
from loriner.tasks.base import Tool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Ran(Verdict):
    """How a program ended: its status, its answer, what it printed, its time, and what it asked for."""

    calls: tuple[Call, ...] = ()
    """Model and tool calls, in order."""

    def __repr__(self) -> str:
        return f"<Ran {self.status}: {self.answer!r:.60}, {len(self.calls)} calls, {self.seconds:.2f} s>"


class Cage:
    """A running sandbox: `with lo.Cage() as cage: cage.run(source, question, model)`.

    It keeps no score, no budget and no store. `level` says how strong it is here (docs/runtime.md).
    """

    def __init__(self, isolation: Isolation = "auto", limits: Limits | None = None) -> None:
        self._isolation = isolation
        self._limits = limits or Limits()
        self._held = ExitStack()
        self._door: Door[LocalRuntime] | None = None

    def __enter__(self) -> Self:
        self._door = self._held.enter_context(opened(partial(_runtime, self._isolation)))
        return self

    def __exit__(self, *error: Any) -> None:
        self._door = None
        self._held.__exit__(*error)

    @property
    def level(self) -> int:
        return self._opened().inside.level

    def run(
        self,
        program: str | Harness,
        question: str,
        model: Completing | Chatting | Callable[..., Any] | None = None,
        *,
        tools: Mapping[str, Callable[..., Any]] | None = None,
        seed: int = 0,
    ) -> Ran:
        """What became of the program on the question. `tools` are functions of keyword arguments.

        Raises:
            HarnessError: the program has no `solve(model, question)`.
            ModelError: the model failed, not the program.
        """
        harness = from_text(program) if isinstance(program, str) else program
        asked = _Absent() if model is None else as_model(model)
        work = partial(run_program, harness=harness, question=question, model=asked, seed=seed)
        return self._opened().call(lambda runtime: work(runtime, tools=tools or {}, limits=self._limits))

    def run_python(self, code: str) -> Verdict:
        """What became of plain code, without a model."""
        return self._opened().call(lambda runtime: runtime.run_python(code, self._limits))

    def _opened(self) -> Door[LocalRuntime]:
        if self._door is None:
            raise ConfigError("the cage is not open: with lo.Cage() as cage: cage.run(…)")
        return self._door


async def run_program(
    runtime: Runtime,
    *,
    harness: Harness,
    question: str,
    model: Model,
    tools: Mapping[str, Callable[..., Any]],
    limits: Limits,
    seed: int = 0,
) -> Ran:
    """What became of the program on the question. Raises as `Runtime.run`."""
    granted = {name: _tool(function) for name, function in tools.items()}
    services = TrialServices(solver=model, tools=granted, seed=seed, call_s=limits.call_s)
    names = frozenset({*granted, "run_python"})
    program = Program(source=harness.source, question=question, tools=names, seed=seed)
    verdict = await runtime.run(program, services, limits)
    found = {each.name: getattr(verdict, each.name) for each in fields(verdict)}
    return Ran(**found, calls=tuple(services.calls))


class _Absent:
    """Stands for the model where none was given."""

    name = "none"

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise CallRefused("no model was given to Cage.run", kind="arguments")

    async def close(self) -> None:
        """Holds nothing."""


@asynccontextmanager
async def _runtime(isolation: Isolation) -> AsyncIterator[LocalRuntime]:
    runtime = LocalRuntime(isolation)
    try:
        await runtime.start()
        yield runtime
    finally:
        await runtime.close()


def _tool(function: Callable[..., Any]) -> Tool:
    async def tool(**arguments: Any) -> Any:
        found = function(**arguments)
        return await found if inspect.isawaitable(found) else found

    return tool
