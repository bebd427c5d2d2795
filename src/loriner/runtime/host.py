"""`LocalRuntime`: programs in processes of this machine, forked from warm zygotes, caged as it allows."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from loriner.errors import RuntimeUnavailable
from loriner.records import Status
from loriner.runtime.admission import Memory, Slots
from loriner.runtime.base import Limits, Program, Services, Verdict
from loriner.runtime.calls import Desk, Job
from loriner.runtime.levels import BOXED, LEVELS, NEEDED, Isolation, missing_for_box, plan_for
from loriner.runtime.pool import Pool, Zygote, ZygotePlan
from loriner.runtime.session import Session
from loriner.runtime.verdict import decide

_N_IN_FLIGHT = 512
_N_EXCUSED = 10_000
_IDLE_SHARE = 0.5
"""A run that used less of its CPU limit than this when its wall time ended may have been starved."""


def overloaded() -> bool:
    """Whether much more wants to run on this machine than it has cores."""
    return os.getloadavg()[0] > 2 * n_cores() + 1


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """What tests change to see that a guard is missed. Never set elsewhere."""

    omitted: frozenset[str] = frozenset()
    abi_limit: int | None = None
    n_forks: int = 2000
    overloaded: Callable[[], bool] = overloaded

    def plan(self, isolation: str) -> ZygotePlan:
        changes = {"omitted": self.omitted, "abi_limit": self.abi_limit, "n_forks": self.n_forks}
        return replace(plan_for(isolation), **changes)  # type: ignore[arg-type]


class LocalRuntime:
    """Runs each program in a fresh process of its own. For one event loop at a time."""

    def __init__(
        self,
        isolation: Isolation = "auto",
        *,
        n_at_work: int | None = None,
        n_in_flight: int = _N_IN_FLIGHT,
        trials: Trials | None = None,
    ) -> None:
        """`auto` takes the strongest isolation that works; a named one is that or `RuntimeUnavailable`.

        `n_at_work` children compute at a time (cores + 1); `n_in_flight` counts waiting ones too.
        """
        n_at_work = n_at_work or n_cores() + 1
        self._asked = isolation
        self._slots = Slots(n_at_work)
        self._memory = Memory(n_at_work)
        self._flight = asyncio.Semaphore(n_in_flight)
        self._trials = trials or Trials()
        self._pool: Pool | None = None
        self._excused: OrderedDict[Job, None] = OrderedDict()
        self._caged = False
        self.isolation = ""
        """What is in force after `start`."""
        self.abi = 0
        """The version of Landlock in use; 0 without."""
        self.notes: tuple[str, ...] = ()
        """Why each stronger isolation is not in force."""
        self._level = 0

    @property
    def level(self) -> int:
        return self._level

    @property
    def zygotes(self) -> tuple[Zygote, ...]:
        """The processes that fork the runs, for observers."""
        return () if self._pool is None else self._pool.zygotes

    async def start(self) -> None:
        if self._pool is not None:
            return
        wanted = ["namespaced", "kernel", "process"] if self._asked == "auto" else [self._asked]
        for isolation in wanted:
            try:
                await self._start(isolation, self._trials.plan(isolation), LEVELS[isolation])
                return
            except RuntimeUnavailable as lack:
                await self.close()
                self.notes += (f"isolation {isolation!r} does not work here: {lack}",)
        raise RuntimeUnavailable("; ".join(self.notes))

    async def _start(self, isolation: str, plan: ZygotePlan, level: int) -> None:
        """Starts zygotes and runs an empty program, which tests the cage."""
        self._pool = Pool(plan, min(n_cores(), 8))
        missing = (zygote := await self._pool.start()).missing
        if missing.keys() == {"landlock"} and plan.wrapper:
            self.notes += (f"Landlock is not used: {missing['landlock']}",)
            await self._pool.close()
            return await self._start(isolation, replace(plan, guards=plan.guards - {"landlock"}), NEEDED)
        if missing:
            raise RuntimeUnavailable("; ".join(f"no {guard}: {why}" for guard, why in missing.items()))
        self._caged = "seccomp" in plan.guards
        verdict = await self.run_python("", Limits())
        if verdict.status is not Status.OK:
            raise RuntimeUnavailable(f"an empty program ends as {verdict.status}: {verdict.error}")
        self.isolation, self.abi = isolation, zygote.abi
        self._level = BOXED if level >= NEEDED and not missing_for_box() else level
        return None

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
            desk = Desk(job, limits, self._python_text)
            session = Session(job, limits, desk, self._slots, caged=self._caged)
            return self._excuse(job, limits, decide(await session.run(zygote)))

    def _excuse(self, job: Job, limits: Limits, verdict: Verdict) -> Verdict:
        """The verdict, but for a program that an overloaded machine may have starved: once, that is ours."""
        waited = verdict.status is Status.TIMEOUT and verdict.detail == "wall"
        if not waited or verdict.cpu_s >= _IDLE_SHARE * limits.cpu_s or not self._trials.overloaded():
            return verdict
        known = replace(job, services=None)
        if known in self._excused:
            return verdict
        self._excused[known] = None
        if len(self._excused) > _N_EXCUSED:
            self._excused.popitem(last=False)
        text = f"no answer in {limits.wall_s:g} s, {verdict.cpu_s:.2f} s at work: this machine is overloaded"
        return replace(verdict, status=Status.INFRA_ERROR, detail="load", error=text)

    async def _python_text(self, code: str, limits: Limits) -> str:
        return as_text(await self.run_python(code, limits))


def as_text(verdict: Verdict) -> str:
    """What `run_python` tells the program: what was printed and, if it failed, why in a last line."""
    if verdict.status is Status.OK:
        return verdict.stdout
    lines = verdict.error.strip().splitlines() or [verdict.status.value]
    head = verdict.stdout if not verdict.stdout or verdict.stdout.endswith("\n") else verdict.stdout + "\n"
    return f"{head}Error: {lines[-1]}"
