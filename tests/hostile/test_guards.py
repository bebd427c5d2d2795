"""Each guard is on, is noticed when it is off, and closes what `doctor` says that it closes."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from hostile_suite import _descendants

from loriner.errors import RuntimeUnavailable
from loriner.records import Status
from loriner.runtime import cage
from loriner.runtime.base import Limits
from loriner.runtime.doctor import ATTEMPTS, probe
from loriner.runtime.host import LocalRuntime, Trials
from loriner.runtime.levels import Isolation, plan_for, require

LIMITS_OF_ONE_PROCESS = {"memory over the limit", "CPU time over the limit", "output over the limit"}


async def level_of(isolation: Isolation, trials: Trials | None = None) -> int:
    runtime = LocalRuntime(isolation, trials=trials)
    try:
        await runtime.start()
        return runtime.level
    finally:
        await runtime.close()


async def open_acts(isolation: Isolation, *omitted: str, names: Iterable[str] = ATTEMPTS) -> set[str]:
    runtime = LocalRuntime(isolation, trials=Trials(omitted=frozenset(omitted)))
    await runtime.start()
    report = await probe(runtime, {name: ATTEMPTS[name] for name in names})
    await runtime.close()
    assert {row.name for row in report.rows} == set(names)
    assert all(row.fix for row in report.rows if row.state == "OPEN")
    assert not [row for row in report.rows if row.state == "untested"]
    return {row.name for row in report.rows if row.state == "OPEN"}


def becomes_nobody() -> bool:
    """Whether a child of root changes its user, as where everyone may read the interpreter: that makes it
    undumpable by itself.
    """
    return os.geteuid() == 0 and cage._works_as_nobody()


pytestmark = pytest.mark.xdist_group("guards")


@pytest.fixture(scope="module", autouse=True)
def _kernel_level() -> None:
    try:
        asyncio.run(level_of("kernel"))
    except RuntimeUnavailable as lack:
        pytest.skip(str(lack))


@pytest.mark.parametrize("guard", sorted(plan_for("kernel").guards - {"selftest"}))
async def test_a_guard_that_is_off_stops_the_runtime(guard: str) -> None:
    if guard == "dumpable" and becomes_nobody():
        pytest.skip("the change of user closes what this guard closes")
    # Without no_new_privs the kernel itself refuses the other guards.
    told = {"no_new_privs": "was not set up"}.get(guard, guard)
    with pytest.raises(RuntimeUnavailable, match=f"empty program ends as infra_error: .*{told}"):
        await level_of("kernel", Trials(omitted=frozenset({guard})))


async def test_auto_never_keeps_a_level_whose_cage_has_gaps() -> None:
    runtime = LocalRuntime(trials=Trials(omitted=frozenset({"seccomp"})))
    await runtime.start()
    await runtime.close()
    assert runtime.level == 1
    assert [note for note in runtime.notes if "'kernel'" in note and "seccomp" in note]
    with pytest.raises(
        RuntimeUnavailable, match=r"adapting needs sandbox level 2 \(kernel\).*level 1.*seccomp"
    ):
        require(runtime, "adapting")
    assert "Continuing with less" in require(runtime, "adapting", allow_reduced=True)


@pytest.mark.parametrize(
    ("omitted", "opened"),
    [
        (("landlock",), {"read a file", "write a file"}),
        (("seccomp",), {"UDP", "netlink", "fork"}),
        (("arguments",), {"async signal to the parent"}),
        (("rlimits",), {"memory over the limit", "output over the limit"}),
        (("landlock", "seccomp", "dumpable"), {"procfs of the parent", "exec", "TCP", "unix socket"}),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, tuple) else "",
)
async def test_doctor_sees_what_a_guard_closes(omitted: tuple[str, ...], opened: set[str]) -> None:
    closed = {"procfs of the parent"} if becomes_nobody() else set()
    assert await open_acts("kernel", *omitted, "selftest", names=opened) == opened - closed
    assert await open_acts("kernel", names=opened) == set()


async def test_at_the_kernel_level_only_stat_is_open() -> None:
    assert await open_acts("kernel") == {"stat a file"}


async def test_in_namespaces_nothing_is_open() -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    try:
        assert await open_acts("namespaced") == set()
    except RuntimeUnavailable as lack:
        pytest.skip(str(lack))


async def test_at_the_process_level_only_limits_and_clean_up_hold() -> None:
    found = await open_acts("process")
    assert {"read a file", "write a file", "TCP", "fork"} <= found
    assert not found & (LIMITS_OF_ONE_PROCESS | {"a process that stays"})


async def test_without_landlock_namespaces_are_the_only_level_two() -> None:
    none = Trials(abi_limit=0)
    with pytest.raises(RuntimeUnavailable, match="no landlock: the kernel has no Landlock"):
        await level_of("kernel", none)
    runtime = LocalRuntime(trials=none)
    await runtime.start()
    await runtime.close()
    assert runtime.notes
    assert (runtime.isolation, runtime.level) in {("namespaced", 2), ("process", 1)}


HOST = """
import asyncio, sys
from loriner.runtime.base import Limits
from loriner.runtime.host import LocalRuntime
async def main():
    runtime = LocalRuntime(sys.argv[1])
    await runtime.start()
    limits = Limits(cpu_s=100, wall_s=100)
    runs = [runtime.run_python(code, limits) for code in ("while True: pass", "import time; time.sleep(100)")]
    print("running", flush=True)
    await asyncio.gather(*runs)
asyncio.run(main())
"""


@pytest.mark.parametrize("isolation", ["process", "kernel", "namespaced"])
def test_killing_the_host_leaves_nothing(isolation: str) -> None:
    if isolation == "namespaced" and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", HOST, isolation]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as host:
        assert host.stdout is not None
        if host.stdout.readline() != "running\n":
            pytest.skip(f"isolation {isolation!r} does not work here")
        time.sleep(0.7)
        below = _descendants(host.pid)
        assert len(below) >= 3
        host.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while left := [pid for pid in below if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.02)


async def test_a_worn_zygote_is_replaced_and_no_run_notices() -> None:
    runtime = LocalRuntime("kernel", trials=Trials(n_forks=5))
    await runtime.start()
    first = {zygote.process.pid for zygote in runtime.zygotes}
    verdicts = await asyncio.gather(*(runtime.run_python(f"print({n})", Limits()) for n in range(40)))
    last = {zygote.process.pid for zygote in runtime.zygotes}
    await runtime.close()
    assert [verdict.stdout for verdict in verdicts] == [f"{n}\n" for n in range(40)]
    assert not first & last


async def test_a_starved_run_is_excused_once() -> None:
    runtime = LocalRuntime("kernel", trials=Trials(overloaded=lambda: True))
    await runtime.start()
    limits = Limits(cpu_s=2, wall_s=0.5)
    ends = [await runtime.run_python("import time; time.sleep(60)", limits) for _ in range(2)]
    spins = await runtime.run_python("while True: pass", Limits(cpu_s=1, wall_s=30))
    await runtime.close()
    assert (ends[0].status, ends[0].detail) == (Status.INFRA_ERROR, "load")
    assert (ends[1].status, ends[1].detail) == (Status.TIMEOUT, "wall")
    assert (spins.status, spins.detail) == (Status.TIMEOUT, "cpu")
