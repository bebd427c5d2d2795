"""A runtime without a sandbox, for trusted programs of tests that need thousands of trials.

It is a second implementation of the seam: programs run as threads of this process, one call at a time.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from loriner.records import Status
from loriner.runtime.base import Limits, Program, Services, Verdict


class InProcessRuntime:
    level = 0
    notes: tuple[str, ...] = ()

    async def start(self) -> None:
        """There is nothing to start."""

    async def run(self, program: Program, services: Services, limits: Limits) -> Verdict:
        started, loop = time.monotonic(), asyncio.get_running_loop()
        failed: list[BaseException] = []

        def model(prompt: str, *, temperature: float = 0.0, n: int = 1, **more: Any) -> Any:
            request = {"messages": [{"role": "user", "content": prompt}], "temperature": temperature, "n": n}
            try:
                asked = asyncio.run_coroutine_threadsafe(services.model({**request, **more}), loop)
                replies = asked.result()
            except BaseException as error:
                failed.append(error)
                raise
            return replies if n > 1 else replies[0]

        def work() -> Verdict:
            names: dict[str, Any] = {}
            try:
                exec(compile(program.source, "harness.py", "exec"), names)
                return Verdict(status=Status.OK, answer=str(names["solve"](model, program.question)))
            except Exception as error:  # noqa: BLE001 - whatever the program does is its verdict
                return Verdict(status=Status.CRASHED, detail=type(error).__name__, error=repr(error))

        verdict = await asyncio.to_thread(work)
        if failed:
            raise failed[0]
        seconds = time.monotonic() - started
        return Verdict(
            status=verdict.status,
            detail=verdict.detail,
            answer=verdict.answer,
            error=verdict.error,
            seconds=seconds,
        )

    async def run_python(self, code: str, limits: Limits) -> Verdict:
        raise NotImplementedError("the programs of these tests run no code")

    async def close(self) -> None:
        """There is nothing to close."""
