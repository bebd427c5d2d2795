"""What a caged run costs, beside what it replaces. Run: python bench/sandbox.py [ROUNDS] [PROGRAMS]

Methods take turns within a round, figures are medians over the rounds, and cost is CPU time of everything
that takes part (host, zygotes, children), so that other work on the machine moves the ratios little.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from loriner.errors import RuntimeUnavailable
from loriner.runtime.base import Limits, Program
from loriner.runtime.host import LocalRuntime, Trials, n_cores
from loriner.runtime.pool import interpreter

HARNESS = """import itertools
import json
import math
import re

def solve(model, question):
    reply = model("Answer with a number only: " + question)
    found = re.findall(r"-?\\d+", reply)
    return found[-1] if found else reply
"""
COLD = "import sys\nexec(sys.argv[1])\nprint(solve(lambda prompt: '42', 'What is 6 x 7?'))"
FORK = """
import itertools, json, math, os, re, sys, resource
def run(source):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        space = {}
        exec(compile(source, "harness.py", "exec"), space)
        os.write(w, json.dumps({"answer": space["solve"](lambda prompt: "42", "What is 6 x 7?")}).encode())
        os._exit(0)
    os.close(w)
    with os.fdopen(r, "rb") as pipe:
        assert json.loads(pipe.read()) == {"answer": "42"}
    os.waitpid(pid, 0)
def spent():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
before = spent()
for _ in range(int(sys.argv[2])):
    run(sys.argv[1])
print(spent() - before)
"""
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
BARS = (
    ("cold python with the same imports / caged run", "cold", "kernel", ">=", 4.0),
    ("caged / not caged, same zygote", "kernel", "none", "<=", 1.25),
    ("caged / fork + compile + run + pipe", "kernel", "fork", "<=", 1.6),
    ("bubblewrap round the zygote / not", "namespaced", "kernel", "<=", 1.15),
)
WAITING, WAITING_BAR_MIB = 256, 4.0


class Services:
    """A model that answers at once, or when told to."""

    def __init__(self) -> None:
        self.answering = asyncio.Event()
        self.answering.set()
        self.n_waiting = 0

    async def model(self, request: Mapping[str, Any]) -> list[str]:
        self.n_waiting += 1
        await self.answering.wait()
        return ["42"]

    async def tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        raise AssertionError("the harness calls no tool")

    def ran_python(self, code: str, output: str, seconds: float) -> None:
        raise AssertionError("the harness runs no code")


def cold(n: int) -> float:
    """CPU seconds of `n` programs, an interpreter each, as many at a time as there are cores."""
    before = _children_s()
    command = [interpreter(), "-I", "-c", COLD, HARNESS]

    def one(_: int) -> bytes:
        return subprocess.run(command, capture_output=True, check=True).stdout

    with ThreadPoolExecutor(n_cores()) as pool:
        assert set(pool.map(one, range(n))) == {b"42\n"}
    return _children_s() - before


def fork(n: int) -> float:
    """CPU seconds of `n` programs, a bare fork each, from as many small interpreters as there are cores."""
    command = [interpreter(), "-I", "-c", FORK, HARNESS, str(n // n_cores())]
    parents = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(n_cores())]
    return sum(float(each.communicate()[0]) for each in parents)


async def caged(runtime: LocalRuntime, n: int) -> float:
    """CPU seconds of `n` runs: this process, the zygotes and their children."""
    before = time.process_time() + _tree_s(os.getpid())
    program = Program(source=HARNESS, question="What is 6 x 7?")
    verdicts = await asyncio.gather(*(runtime.run(program, Services(), Limits()) for _ in range(n)))
    assert {verdict.answer for verdict in verdicts} == {"42"}
    return time.process_time() + _tree_s(os.getpid()) - before


def _children_s() -> float:
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def _tree_s(pid: int) -> float:
    """CPU seconds of the processes below `pid` and of what they have waited for."""
    return sum(sum(_stat(each)[11:15]) * TICK_S for each in _below(pid))


def _stat(pid: int) -> list[int]:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return [int(field) if field.lstrip("-").isdigit() else 0 for field in fields]


def _below(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if _stat(int(path.name))[1] == pid:
                found += [int(path.name), *_below(int(path.name))]
    return found


async def waiting_mib() -> tuple[float, float]:
    """Median private memory of a run that waits for the model, and the seconds that all of them took."""
    readable = Trials(omitted=frozenset({"dumpable", "selftest"}))
    runtime, services = LocalRuntime("kernel", trials=readable), Services()
    await runtime.start()
    services.answering.clear()
    began = time.monotonic()
    program = Program(source=HARNESS, question="What is 6 x 7?")
    limits = Limits(call_s=900, total_s=900)
    runs = [asyncio.create_task(runtime.run(program, services, limits)) for _ in range(WAITING)]
    while services.n_waiting < WAITING:  # noqa: ASYNC110 - the services only count
        await asyncio.sleep(0.05)
    zygotes = {zygote.process.pid for zygote in runtime.zygotes}
    sizes = [_private_mib(pid) for pid in _below(os.getpid()) if pid not in zygotes]
    assert len(sizes) == WAITING
    services.answering.set()
    assert {verdict.answer for verdict in await asyncio.gather(*runs)} == {"42"}
    await runtime.close()
    return statistics.median(sizes), time.monotonic() - began


def _private_mib(pid: int) -> float:
    rows = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines())
    return sum(int(row[1]) for row in rows if row[0].startswith("Private_")) / 1024


async def measure(n_rounds: int, n: int) -> dict[str, list[float]]:
    """CPU milliseconds of a program, by method, one figure a round."""
    runtimes: dict[str, LocalRuntime] = {}
    for isolation in ("none", "kernel", "namespaced"):
        runtime = LocalRuntime(isolation)  # type: ignore[arg-type]
        try:
            await runtime.start()
        except RuntimeUnavailable as lack:
            print(f"not measured: {lack}")
        else:
            runtimes[isolation] = runtime
            await caged(runtime, 20)
    figures: dict[str, list[float]] = {name: [] for name in ("cold", "fork", *runtimes)}
    for _ in range(n_rounds):
        figures["cold"].append(1000 * cold(n // 4) / (n // 4))
        figures["fork"].append(1000 * fork(n) / n)
        for isolation, runtime in runtimes.items():
            figures[isolation].append(1000 * await caged(runtime, n) / n)
    for runtime in runtimes.values():
        await runtime.close()
    return figures


def main() -> int:
    n_rounds, n = (int(each) for each in (*sys.argv[1:], *("7", "150")[len(sys.argv) - 1 :]))
    figures = asyncio.run(measure(n_rounds, n))
    print(
        f"\nCPU ms a program, {n_rounds} rounds of {n} (load {os.getloadavg()[0]:.1f}): median [least, most]"
    )
    for name, each in figures.items():
        print(f"  {name:12} {statistics.median(each):6.2f}  [{min(each):.2f}, {max(each):.2f}]")
    print("\nratio, median over the rounds")
    missed = 0
    for title, above, below, sense, bar in BARS:
        if above not in figures or below not in figures:
            continue
        ratio = statistics.median(a / b for a, b in zip(figures[above], figures[below], strict=True))
        held = ratio >= bar if sense == ">=" else ratio <= bar
        missed += not held
        print(f"  {'pass' if held else 'FAIL'}  {title}: {ratio:.2f}  (bar {sense} {bar})")
    mib, seconds = asyncio.run(waiting_mib())
    missed += mib > WAITING_BAR_MIB
    verdict = "pass" if mib <= WAITING_BAR_MIB else "FAIL"
    title = f"private memory of each of {WAITING} waiting runs"
    print(f"  {verdict}  {title}: {mib:.2f} MiB  (bar <= {WAITING_BAR_MIB})")
    print(f"        all {WAITING} started, waiting and answered in {seconds:.1f} s")
    return min(missed, 1)


if __name__ == "__main__":
    raise SystemExit(main())
