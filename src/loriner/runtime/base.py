"""The seam to the sandbox: one program, one question, one fresh process; a verdict comes back.

The runtime never sees a target. What the program may ask of the host goes through `Services`, which the
caller provides for each run; the runtime only carries the messages and enforces the limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from loriner.records import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run may use. Source: sandbox measurements, docs/runtime.md."""

    cpu_s: float = 2.0
    """CPU time of the program, with its threads."""
    wall_s: float = 10.0
    """Wall time of the program; the clock stops while the host serves a call."""
    total_s: float = 3_600.0
    """Wall time in all, with the calls."""
    call_s: float = 600.0
    """Time of one model or tool call, with its wait for a free place at the model."""
    memory_bytes: int = 512 * 2**20
    """Memory of the program and what it starts."""
    output_bytes: int = 64 * 2**10
    """Longest output."""
    answer_bytes: int = 64 * 2**10
    """Longest answer."""
    n_calls: int = 24
    """Model calls of one run (each sample of n > 1 counts); beyond it a call raises in the program."""
    n_tool_calls: int = 24
    """Tool calls of one run; beyond it a call raises in the program."""
    n_completion_tokens: int = 16_384
    """Completion tokens requested in all by one run."""

    def __post_init__(self) -> None:
        """Refuses limits that no program could keep, or that no kernel takes; ValueError names the first."""
        for name, least, most in (
            *((each, 0.01, 1e7) for each in ("cpu_s", "wall_s", "total_s", "call_s")),
            ("memory_bytes", 32 * 2**20, 2**50),
            *((each, 1, 2**40) for each in ("output_bytes", "answer_bytes", "n_completion_tokens")),
            *((each, 0, 2**31) for each in ("n_calls", "n_tool_calls")),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise ValueError(f"{name} = {value}: expected {least:,} to {most:,.0f}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is to be run: a harness on a question, with the tools it may import."""

    source: str
    question: str
    tools: frozenset[str] = frozenset()
    """Names importable from `tools`; every other name is an ImportError."""
    seed: int = 0
    """Seeds the child's `random`."""


class Services(Protocol):
    """What the host does for one run. Each method raises only what it documents."""

    async def model(self, request: Mapping[str, Any]) -> list[Any]:
        """Replies to one model call: `messages` (role, content), `temperature`, `max_tokens`, `stop`, `n` and
        `further`, what is asked beyond texts, if anything is. Then each is an object with `text` and, if they
        came, `tool_calls` and `logprobs`; else each is a text.

        Raises:
            CallRefused: the budget of this run is spent, or the arguments are wrong: raised in the program.
            ModelError: infrastructure; ends the run as `infra_error`.
            BudgetReached: a cap of the whole run; propagates to the caller of `Runtime.run`.
        """
        ...

    async def tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """The JSON result of a host-side tool. Raises as `model`."""
        ...

    def ran_python(self, code: str, output: str, seconds: float) -> None:
        """Told after each `run_python` call, which the runtime serves itself, so that it can be recorded."""
        ...


class CallRefused(Exception):
    """A call that the program may not make; the message is raised inside the program."""

    def __init__(self, message: str, *, kind: str = "budget") -> None:
        super().__init__(message)
        self.kind = kind
        """`budget`, or `arguments` for a misused call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a run ended, decided by the host alone from wait status, usage, its own kills and the stream.

    `status` is never WRONG: `ok` says that `answer` is text, the task's scorer says what it is worth.
    """

    status: Status
    detail: str = ""
    """Refines the status: exception type, `wall`/`cpu`/`call`, `network`/`file`/`process`/`syscall`."""
    answer: str = ""
    stdout: str = ""
    error: str = ""
    """Sanitised traceback or message."""
    seconds: float = 0.0
    cpu_s: float = 0.0
    peak_rss_bytes: int = 0
    stage: str = "solve"
    """`import` while the module body runs, `solve` afterwards."""


class Runtime(Protocol):
    """A place where programs run. Start it once, run thousands of programs, close it."""

    @property
    def level(self) -> int:
        """The sandbox level in force (docs/runtime.md), known after `start`."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Why the level is no higher, in words."""
        ...

    async def start(self) -> None:
        """Makes it ready.

        Raises:
            RuntimeUnavailable: programs cannot be run here, with the reason and the fix.
        """
        ...

    async def run(self, program: Program, services: Services, limits: Limits) -> Verdict:
        """Runs the program to its end; waits while the machine is full.

        Raises:
            BudgetReached: as raised by `services`.
        """
        ...

    async def run_python(self, code: str, limits: Limits) -> Verdict:
        """Runs plain code without a model in a sibling process: `stdout` is what it printed.

        `status` is OK when the code ran to its end, whatever it printed; `error` its traceback otherwise.
        """
        ...

    async def close(self) -> None:
        """Ends every process. Safe to call twice."""
        ...
