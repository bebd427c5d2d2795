"""What became of a run, decided from what the host saw: a pure function of a `RunEnding`.

In this order: our own fault, the host's own kill, a broken stream, the wait status, the child's last frame.
"""

from __future__ import annotations

import errno
import re
import signal
from dataclasses import dataclass

from loriner.records import Status
from loriner.runtime.base import Limits, Verdict
from loriner.runtime.pool import Exit
from loriner.runtime.text import clean, storable
from loriner.runtime.wire import Frame

_NEAR_MEMORY_LIMIT = 0.7
_MOST = 0.5
"""Share of its CPU time after which a SIGKILL is that limit: where a hypervisor steals time, the kernel's
limit counts more than its report."""
_ERROR_BYTES = 8 * 2**10
_TYPE = re.compile(r"[^A-Za-z0-9_]")
_CLASSES = {
    "gaierror": "network",
    errno.ENETUNREACH: "network",
    errno.EPERM: "process",
    errno.EROFS: "file",
    errno.EACCES: "file",
    errno.ENOSYS: "syscall",
}
"""Which class of act was refused, by the error number that the cage gives it (`seccomp`)."""


@dataclass(slots=True, kw_only=True)
class RunEnding:
    """All that the host saw of one run."""

    limits: Limits
    script: bool = False
    """Whether it is plain code, which has no answer."""
    caged: bool
    """Whether a child that dies of SIGKILL cannot have sent it to itself."""
    ready: bool = False
    """Whether the child stood in its cage; nothing of the program runs before."""
    stage: str = "import"
    terminal: Frame | None = None
    killed: str = ""
    """Why the host killed it: `wall`, `total`, `budget`; empty if it did not."""
    ended: bool = False
    """Whether the host killed it at the end of the conversation, for whatever reason."""
    violation: str = ""
    """What was wrong with its stream."""
    fault: str = ""
    """What went wrong on our side."""
    exit: Exit | None = None
    """None when the zygote died first."""
    stdout: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Outcome:
    status: Status
    detail: str = ""
    error: str = ""
    answer: str = ""


def decide(ending: RunEnding) -> Verdict:
    """The verdict on a run."""
    outcome = _ours(ending) or _killed(ending) or _broken(ending) or _signalled(ending) or _said(ending)
    kept = storable if ending.script else clean  # a program reads on what a script prints
    return Verdict(
        status=outcome.status,
        detail=outcome.detail,
        answer=outcome.answer,
        stdout=kept(ending.stdout, ending.limits.output_bytes),
        error=clean(outcome.error, _ERROR_BYTES),
        seconds=ending.seconds,
        cpu_s=ending.exit.cpu_s if ending.exit else 0.0,
        peak_rss_bytes=ending.exit.rss_bytes if ending.exit else 0,
        stage=ending.stage,
    )


def _ours(ending: RunEnding) -> _Outcome | None:
    if ending.fault:
        return _Outcome(Status.INFRA_ERROR, "host", ending.fault)
    if ending.exit is None:
        return _Outcome(Status.INFRA_ERROR, "zygote", "the process that forks the runs died during this run")
    if not ending.ready and not ending.killed:
        said = ending.stdout.strip().splitlines() or ["it said nothing"]
        return _Outcome(Status.INFRA_ERROR, "start", f"the child was not set up: {said[-1]}")
    return None


def _killed(ending: RunEnding) -> _Outcome | None:
    limits = ending.limits
    match ending.killed:
        case "budget":
            text = f"killed after more than twice the {limits.n_calls} model calls it may make"
            return _Outcome(Status.BUDGET_EXCEEDED, "calls", text)
        case "wall":
            return _Outcome(Status.TIMEOUT, "wall", f"it ran for {limits.wall_s:g} s without an answer")
        case "total":
            text = f"it took {limits.total_s:g} s in all, the last of them waiting for its calls"
            return _Outcome(Status.TIMEOUT, "call", text)
    return None


def _broken(ending: RunEnding) -> _Outcome | None:
    return _Outcome(Status.PROTOCOL_ERROR, "", ending.violation) if ending.violation else None


def _signalled(ending: RunEnding) -> _Outcome | None:
    assert ending.exit is not None
    number = ending.exit.status & 0x7F
    if not number or (number == signal.SIGKILL and ending.ended):
        return None
    near_limit = ending.exit.rss_bytes > _NEAR_MEMORY_LIMIT * ending.limits.memory_bytes
    if number == signal.SIGXCPU or (number == signal.SIGKILL and _out_of_cpu(ending)):
        return _Outcome(Status.TIMEOUT, "cpu", f"it used its {cpu_limit_s(ending.limits)} s of CPU time")
    if number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS) and near_limit:
        return _Outcome(Status.MEMORY_LIMIT, "", f"it died of signal {number} near its memory limit")
    if number == signal.SIGSYS:
        return _Outcome(Status.DENIED, "syscall", "it made a system call that ends the process")
    if number == signal.SIGXFSZ:
        return _Outcome(Status.OUTPUT_LIMIT, "", "it wrote more output than it may")
    if number == signal.SIGKILL and ending.caged:
        return _Outcome(
            Status.INFRA_ERROR, "killed", "something outside killed it: this machine lacks memory"
        )
    return _Outcome(Status.CRASHED, f"signal{number}", f"it died of signal {number}")


def cpu_limit_s(limits: Limits) -> int:
    """The CPU limit that the kernel enforces: whole seconds, rounded up."""
    return max(1, -int(-limits.cpu_s // 1))


def _out_of_cpu(ending: RunEnding) -> bool:
    assert ending.exit is not None
    return ending.exit.cpu_s >= _MOST * cpu_limit_s(ending.limits)


def _said(ending: RunEnding) -> _Outcome:
    frame = ending.terminal
    if frame is None:
        return _Outcome(Status.NO_ANSWER, "exited", "it ended without an answer")
    if frame["kind"] == "error":
        return _raised(frame)
    return _Outcome(Status.OK) if ending.script else _returned(frame, ending.limits)


def _returned(frame: Frame, limits: Limits) -> _Outcome:
    kind = _TYPE.sub("", frame["type"])[:40]
    if frame["answer"] is None and kind == "NoneType":
        return _Outcome(Status.NO_ANSWER, "None", "solve returned None")
    if frame["answer"] is None:
        text = f"solve returned {kind}, which is not short text, an int or a finite float"
        return _Outcome(Status.BAD_ANSWER, kind, text)
    size = len(frame["answer"].encode("utf-8", "replace"))
    if size > limits.answer_bytes:
        text = f"the answer has {size} bytes; at most {limits.answer_bytes} are read"
        return _Outcome(Status.BAD_ANSWER, "too_long", text)
    answer = storable(frame["answer"], limits.answer_bytes)
    if not answer.strip():
        return _Outcome(Status.NO_ANSWER, "empty", "solve returned an empty text")
    return _Outcome(Status.OK, answer=answer)


def _raised(frame: Frame) -> _Outcome:
    kind = _TYPE.sub("", frame["type"])[:40] or "Exception"
    error = frame["traceback"] or f"{kind}: {frame['message']}"
    match kind:
        case "MemoryError":
            return _Outcome(Status.MEMORY_LIMIT, "", error)
        case "BudgetExceeded":
            return _Outcome(Status.BUDGET_EXCEEDED, "calls", error)
        case "TooLarge":
            return _Outcome(Status.PROTOCOL_ERROR, "too_large", error)
    if kind == "FileNotFoundError" and "No usable temporary directory" in frame["message"]:
        return _Outcome(Status.DENIED, "file", error)
    for name, code in frame["causes"]:
        if code == errno.EFBIG:
            return _Outcome(Status.OUTPUT_LIMIT, "", error)
        if denied := _CLASSES.get("gaierror" if name == "gaierror" else code, ""):
            return _Outcome(Status.DENIED, denied, error)
    return _Outcome(Status.CRASHED, kind, error)
