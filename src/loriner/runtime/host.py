"""`LocalRuntime`: programs in processes of this machine, forked from warm zygotes."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack

from loriner.errors import RuntimeUnavailable
from loriner.records import Status
from loriner.runtime.admission import Memory, Slots
from loriner.runtime.base import Limits, Program, Services, Verdict
from loriner.runtime.calls import Desk, Job
from loriner.runtime.pool import Plan, Pool, Zygote
from loriner.runtime.session import Session
from loriner.runtime.verdict import decide

_N_IN_FLIGHT = 512


class LocalRuntime:
    """Runs each program in a fresh process of its own. One event loop at a time."""

    def __init__(self, *, n_at_work: int | None = None, n_in_flight: int = _N_IN_FLIGHT) -> None:
        """`n_at_work` children compute at a time (cores + 1); `n_in_flight` counts waiting ones too."""
        n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        n_at_work = n_at_work or n_cores + 1
        self._slots = Slots(n_at_work)
        self._memory = Memory(n_at_work)
        self._flight = asyncio.Semaphore(n_in_flight)
        self._n_zygotes = min(n_cores, 8)
        self._level = 0
        self._pool: Pool | None = None

    @property
    def level(self) -> int:
        return self._level

    @property
    def zygotes(self) -> tuple[Zygote, ...]:
        """The processes that fork the runs, for observers."""
        return () if self._pool is None else self._pool.zygotes

    async def start(self) -> None:
        plan = Plan(guards=frozenset({"rlimits"}))
        self._pool = Pool(plan, self._n_zygotes)
        await self._pool.start()
        self._level = 1

    async def run(self, program: Program, services: Services, limits: Limits) -> Verdict:
        async with self._flight:
            return await self._run(Job.of(program, services), limits)

    async def run_python(self, code: str, limits: Limits) -> Verdict:
        return await self._run(Job(code), limits)

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close()
            self._pool = None

    async def _run(self, job: Job, limits: Limits) -> Verdict:
        if self._pool is None:
            raise RuntimeUnavailable("the runtime is not started: call start() first")
        async with AsyncExitStack() as held:
            if job.question is not None:
                await held.enter_async_context(self._memory.hold(limits.memory_bytes))
            await self._slots.acquire()
            try:
                zygote = await self._pool.pick()
            except BaseException:
                self._slots.release()
                raise
            session = Session(job, limits, Desk(job, limits, self._python_text), self._slots, caged=False)
            return decide(await session.run(zygote))

    async def _python_text(self, code: str, limits: Limits) -> str:
        return as_text(await self.run_python(code, limits))


def as_text(verdict: Verdict) -> str:
    """What `run_python` tells the program: what was printed and, if it failed, why in a last line."""
    if verdict.status is Status.OK:
        return verdict.stdout
    lines = verdict.error.strip().splitlines() or [verdict.status.value]
    head = verdict.stdout if not verdict.stdout or verdict.stdout.endswith("\n") else verdict.stdout + "\n"
    return f"{head}Error: {lines[-1]}"
