"""Runs the hostile programs beside ordinary ones and tells what became of both, and of the machine.

A program's first lines say what it does and which verdicts are right:

    # kind: 19 gold-file
    # expect: denied:file
    # namespaced: denied:file | crashed:FileNotFoundError   (instead of `expect`, in namespaces)
    # answer: 42    # stage: import    # limits: wall_s=1

`crashed` alone stands for any crash. Also a command, so that the suite can run as another user:

    python hostile_suite.py kernel
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

from loriner.runtime.base import Limits, Program, Verdict
from loriner.runtime.host import LocalRuntime, Trials
from loriner.runtime.levels import Isolation

PROGRAMS = Path(__file__).parent / "programs"
GOLD = "GOLD-IS-" + "42"
LIMITS = Limits(cpu_s=1, wall_s=200, total_s=240, memory_bytes=192 * 2**20, n_calls=8, n_tool_calls=8)
ORDINARY = (
    "import json\n\n\ndef solve(model, question):\n    return json.loads(json.dumps(model(question)))\n"
)


@dataclass(frozen=True)
class Case:
    name: str
    kind: int
    source: str
    header: Mapping[str, str]

    @property
    def limits(self) -> Limits:
        changes = [each.split("=") for each in self.header.get("limits", "").split(", ") if each]
        return replace(LIMITS, **{name: type(getattr(LIMITS, name))(value) for name, value in changes})

    def complaint(self, verdict: Verdict, isolation: str) -> str:
        """What is wrong with a verdict, or nothing."""
        expected = self.header["expect"]
        if isolation == "namespaced":
            expected = self.header.get("namespaced", expected)
        got = f"{verdict.status}:{verdict.detail}"
        if not any(got == each or got.startswith(each + ":") for each in expected.split(" | ")):
            return f"ends as {got}, expected {expected}: {verdict.error[-300:]}"
        if verdict.answer != self.header.get("answer", verdict.answer):
            return f"answers {verdict.answer[:200]!r}, expected {self.header['answer']!r}"
        if GOLD in repr(verdict):
            return "has got hold of the target"
        if verdict.stage != self.header.get("stage", verdict.stage):
            return f"ended in stage {verdict.stage}"
        if len(verdict.stdout.encode()) > self.limits.output_bytes:
            return f"kept {len(verdict.stdout)} characters of output"
        slowest = self.limits.wall_s + 40
        return f"took {verdict.seconds:.1f} s" if verdict.seconds > slowest else ""


def cases() -> list[Case]:
    """Every program of the folder."""
    return [_read(path) for path in sorted(PROGRAMS.glob("*.py"))]


def one_of_each_slow_kind(chosen: Sequence[Case]) -> list[Case]:
    """Without repetitions of what takes its time: for the variants of the suite."""
    seen: set[int] = set()
    kept = []
    for case in chosen:
        if not is_slow(case) or case.kind not in seen:
            kept.append(case)
        seen.add(case.kind)
    return kept


def is_slow(case: Case) -> bool:
    """Whether it takes seconds by its nature."""
    takes_time = r"\btimeout|\bmemory_limit|time\.sleep\(1\)|20_000|1_000_000"
    return 1 <= case.kind <= 8 or re.search(takes_time, case.header["expect"] + case.source) is not None


def _read(path: Path) -> Case:
    source = path.read_bytes().decode()
    header = dict(re.findall(r"^# (\w+): (.*)$", source.partition("\n\n")[0], re.MULTILINE))
    return Case(path.stem, int(header["kind"].split()[0]), source, header)


class Services:
    """A model that answers in capitals, and a search."""

    async def model(self, request: Mapping[str, Any]) -> list[str]:
        await asyncio.sleep(0.002)
        return [str(request["messages"][-1]["content"]).upper()] * request["n"]

    async def tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return []

    def ran_python(self, code: str, output: str, seconds: float) -> None:
        raise AssertionError("no program of the suite is granted run_python")


@dataclass(frozen=True)
class Outcome:
    isolation: str
    level: int
    abi: int
    complaints: Mapping[str, str]
    """What is wrong, by program."""
    n_ordinary: int
    ordinary_wrong: Sequence[str]
    left: Mapping[str, Any]
    """What stayed behind; each value is empty when nothing did."""


@contextlib.contextmanager
def surroundings() -> Iterator[dict[str, Any]]:
    """What the programs are after: a target in a file, a module, and sockets. All of it is watched."""
    with contextlib.ExitStack() as open_:
        folder = Path(open_.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o777)
        packages = folder / "packages"
        packages.mkdir()
        for path, text in (
            (folder / "gold.txt", GOLD),
            (packages / "secret_scorer.py", f"GOLD = {GOLD!r}\n"),
        ):
            path.write_text(text)
            path.chmod(0o666)
        tcp, udp = (
            open_.enter_context(socket.socket(type=each)) for each in (socket.SOCK_STREAM, socket.SOCK_DGRAM)
        )
        unix = open_.enter_context(socket.socket(socket.AF_UNIX))
        for sock in (tcp, udp):
            sock.bind(("127.0.0.1", 0))
        unix.bind(str(folder / "socket"))
        (folder / "socket").chmod(0o777)
        tcp.listen()
        unix.listen()
        yield {
            "gold": str(folder / "gold.txt"),
            "folder": str(folder),
            "packages": str(packages),
            "tcp_port": tcp.getsockname()[1],
            "udp_port": udp.getsockname()[1],
            "unix_path": str(folder / "socket"),
            "host_pid": os.getpid(),
        }


async def run_suite(
    isolation: Isolation,
    chosen: Sequence[Case],
    trials: Trials | None = None,
    *,
    repeat: int = 1,
    n_ordinary: int | None = None,
) -> Outcome:
    """Runs each case `repeat` times, with as many ordinary runs alongside, then looks at what is left."""
    chosen = list(chosen) * repeat
    n_ordinary = n_ordinary or len(chosen)
    runtime = LocalRuntime(isolation, trials=replace(trials or Trials(), overloaded=lambda: False))
    before = _traces()
    with surroundings() as given:
        await runtime.start()
        files = _files(given)
        question = json.dumps(given)
        try:
            hostile, ordinary = await asyncio.gather(
                asyncio.gather(*(_hostile(runtime, case, question) for case in chosen)),
                asyncio.gather(*(_ordinary(runtime, n) for n in range(n_ordinary))),
            )
            changed = sorted(set(_files(given).items()) ^ set(files.items()))
            running = sum(zygote.n_running for zygote in runtime.zygotes)
        finally:
            await runtime.close()
    wrong = {
        case.name: case.complaint(each, runtime.isolation) for case, each in zip(chosen, hostile, strict=True)
    }
    left = {"files": changed, "running": running or "", **_difference(before, _traces())}
    complaints = {name: text for name, text in wrong.items() if text}
    return Outcome(
        runtime.isolation,
        runtime.level,
        runtime.abi,
        complaints,
        len(ordinary),
        [each for each in ordinary if each],
        left,
    )


async def _hostile(runtime: LocalRuntime, case: Case, question: str) -> Verdict:
    program = Program(source=case.source, question=question, tools=frozenset({"search"}))
    return await runtime.run(program, Services(), case.limits)


async def _ordinary(runtime: LocalRuntime, n: int) -> str:
    limits = replace(LIMITS, cpu_s=10)
    verdict = await runtime.run(Program(source=ORDINARY, question=f"question {n}"), Services(), limits)
    return "" if verdict.answer == f"QUESTION {n}" else repr(verdict)


def _files(given: Mapping[str, Any]) -> dict[str, str]:
    """What is in the watched folder, and whether a program wrote where programs would."""
    folder = Path(given["folder"])
    watched = {str(path): path.read_text() for path in folder.rglob("*") if path.is_file()}
    names = (
        *map(str, folder.rglob("*")),
        "/written",
        "/tmp/written",
        "/var/tmp/written",
        "/tmp/link",
        "/tmp/folder",
    )
    return watched | {name: "there" for name in names if os.path.lexists(name) and name not in watched}


def _traces() -> dict[str, Any]:
    """Descriptors of this process, and its descendants."""
    descriptors = sorted(each.name for each in Path("/proc/self/fd").iterdir())
    return {"descriptors": len(descriptors), "processes": sorted(_descendants(os.getpid()))}


def _descendants(pid: int) -> set[int]:
    found: set[int] = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(") ")[2].split()
            if int(fields[1]) == pid:
                found |= {int(path.parent.name)} | _descendants(int(path.parent.name))
    return found


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: "" if before[name] == after[name] else f"{before[name]} -> {after[name]}" for name in before
    }


def main() -> None:
    """Runs the suite and prints its outcome as JSON."""
    isolation = sys.argv[1]
    assert isolation in get_args(Isolation)
    abi_limit = int(sys.argv[2]) if len(sys.argv) > 2 else None
    began = time.monotonic()
    trials = Trials(abi_limit=abi_limit)
    outcome = asyncio.run(run_suite(isolation, one_of_each_slow_kind(cases()), trials))  # type: ignore[arg-type]
    print(json.dumps({**asdict(outcome), "seconds": time.monotonic() - began}))


if __name__ == "__main__":
    main()
