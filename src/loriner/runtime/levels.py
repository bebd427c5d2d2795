"""How far a machine can cage a program: the levels 0 to 4, what each needs, and which one is enough."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Protocol

from loriner import landlock_rules
from loriner.errors import RuntimeUnavailable
from loriner.runtime.cage import KERNEL_GUARDS, LINUX_GUARDS
from loriner.runtime.landlock import TIME_ZONES
from loriner.runtime.pool import ZygotePlan, interpreter

Isolation = Literal["auto", "none", "process", "kernel", "namespaced"]

LEVELS: dict[str, int] = {"none": 0, "process": 1, "kernel": 2, "namespaced": 3}
BOXED = 4
NAMES = {0: "none", 1: "process", 2: "kernel", 3: "namespaced", 4: "boxed"}
NEEDED = 2
"""The level that adapting and training ask for: a model that is paid for scores then writes the programs."""


def plan_for(isolation: str) -> ZygotePlan:
    """How zygotes are started for an isolation.

    Raises:
        RuntimeUnavailable: it needs what is not installed.
    """
    linux = sys.platform == "linux"
    guards = {
        "none": frozenset({"pdeathsig"} if linux else ()),
        "process": frozenset({"rlimits", "selftest"}) | (LINUX_GUARDS if linux else frozenset()),
    }
    caged = guards["process"] | KERNEL_GUARDS
    wrapper = _bubblewrap() if isolation == "namespaced" else ()
    return ZygotePlan(guards=guards.get(isolation, caged), wrapper=wrapper)


def _bubblewrap() -> tuple[str, ...]:
    """The command under which a zygote has its own namespaces and sees the interpreter, and no other file."""
    program = shutil.which("bwrap")
    if program is None:
        raise RuntimeUnavailable("bubblewrap is not installed: install the package `bubblewrap`")
    own = ("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--chdir", "/")
    devices = ("--dev-bind", os.devnull, os.devnull, "--dir", "/tmp", "--dir", "/dev/shm")
    # What the zygote starts as cannot write its own score from inside, so a shell does it outside.
    likely_victim = ("/bin/sh", "-c", 'echo 1000 >/proc/self/oom_score_adj; exec "$@"', "sh")
    return (*likely_victim, program, *own, *_interpreter_files(), *devices, "--")


def _interpreter_files() -> Iterator[str]:
    runtime = str(Path(__file__).parent)
    prefixes = {"/usr", os.path.realpath(sys.base_prefix)}
    for folder in sorted({"/lib", "/lib64", *(f"{each}/lib" for each in prefixes), "/usr/lib64"}):
        yield from ("--ro-bind-try", folder, folder)
    for path in ("/etc/ld.so.cache", interpreter(), runtime, landlock_rules.__file__, *TIME_ZONES):
        yield from ("--ro-bind-try", path, path)
    for each in sorted(prefixes):
        for packages in Path(each, "lib").glob("python3*/*-packages"):
            yield from ("--tmpfs", str(packages))


class Leveled(Protocol):
    """What `require` asks of a runtime: `LocalRuntime` is one."""

    @property
    def level(self) -> int: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Why each stronger isolation is not in force."""
        ...


def require(runtime: Leveled, purpose: str, *, allow_reduced: bool = False, needed: int = NEEDED) -> str:
    """Nothing when the level is enough, else a warning to log, which `allow_reduced` turns the error into.

    Raises:
        RuntimeUnavailable: the level in force is below `needed`.
    """
    if runtime.level >= needed:
        return ""
    reached = f"level {runtime.level} ({NAMES[runtime.level]})"
    text = f"{purpose} needs sandbox level {needed} ({NAMES[needed]}); this machine reaches {reached}"
    reasons = "; ".join((text, *runtime.notes))
    if allow_reduced:
        return f"{reasons}. Continuing with less, as asked"
    raise RuntimeUnavailable(
        f"{reasons}. `loriner doctor` shows what is open; --allow-reduced runs all the same"
    )


def missing_for_box() -> list[str]:
    """What this process lacks to be inside a box (level 4), in words; empty inside one."""
    status = dict(line.split(":\t", 1) for line in _lines("/proc/self/status") if ":\t" in line)
    mounts = [line.split() for line in _lines("/proc/mounts")]
    root_options = next((each[3] for each in reversed(mounts) if each[1] == "/"), "")
    group = Path("/sys/fs/cgroup")
    limits = {name: "".join(_lines(group / name)) for name in ("memory.max", "pids.max")}
    checks = {
        "not in a container": any(map(os.path.exists, ("/.dockerenv", "/run/.containerenv"))),
        "runs as root": os.geteuid() != 0,
        "has capabilities": int(status.get("CapEff", "f"), 16) == 0,
        "may gain privileges": status.get("NoNewPrivs") == "1",
        "its root file system is writable": "ro" in root_options.split(","),
        "has a network besides loopback": {each.split(":")[0].strip() for each in _lines("/proc/net/dev")[2:]}
        <= {"lo"},
        **{f"no {name} is set": limit not in ("", "max") for name, limit in limits.items()},
    }
    return [lack for lack, holds in checks.items() if not holds]


def _lines(path: str | Path) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
