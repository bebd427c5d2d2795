"""Scorers: a user's own function in this process, or a file's function in a killable worker.

The contract is the same: `score(item, answer) -> float | Score`, with the item as it stands in the file and
a value in [0, 1]. What an answer does to a scorer (it raises, loops, exhausts memory) scores that answer 0
and is counted in `Score.detail`; what a scorer does to its contract (a value outside [0, 1], no number) is a
TaskError.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import inspect
import json
import math
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from loriner.errors import TaskError
from loriner.records import Score
from loriner.tasks import digests, hidden_files
from loriner.tasks.children import worker

ScoreFunction = Callable[[Mapping[str, Any], str], Any]
"""`score(item, answer)`, which returns a number in [0, 1], a `Score`, or a dict of `value` and `feedback`."""

SCORER_ERROR = "scorer_error"
SCORER_TIMEOUT = "scorer_timeout"
FAILURES = (SCORER_ERROR, SCORER_TIMEOUT)
_EXPECTED = "expected a number in [0, 1] or a Score"


class ScorerFailed(TaskError):
    """A scorer raises or runs out of time on a right answer: then none of its verdicts can be trusted."""

    def __init__(self, task: str, item_id: str, score: Score) -> None:
        super().__init__(f"the scorer of {task} fails on the right answer of item {item_id!r}: {said(score)}")
        self.score = score
        """What it says of the right answer."""


def said(score: Score) -> str:
    """The detail of a score, with what a scorer that failed said."""
    return ": ".join(filter(None, [score.detail, str(score.extra.get("message", ""))]))


class Scorer(Protocol):
    """Gives the verdict on one answer to one item."""

    @property
    def digest(self) -> str:
        """Tells a scorer from what it was before; empty where its source is not known."""
        ...

    async def score(self, item: Mapping[str, Any], answer: str) -> Score: ...

    async def close(self) -> None: ...


class InProcess:
    """The caller's own function, trusted as the rest of the caller's program is."""

    def __init__(self, function: ScoreFunction) -> None:
        self._function = function
        self._name = getattr(function, "__name__", "the scorer")

    @property
    def digest(self) -> str:
        try:
            return digests.of_text(inspect.getsource(self._function))
        except (OSError, TypeError):
            return ""

    async def score(self, item: Mapping[str, Any], answer: str) -> Score:
        try:
            returned = self._function(copy.deepcopy(item), answer)  # it may change what it is given
        except Exception as error:  # noqa: BLE001 - a scorer may raise anything on a bad answer
            return _failed(SCORER_ERROR, worker.describe(error))
        return as_score(returned, self._name, item)

    async def close(self) -> None:
        """Nothing to end."""


class InWorker:
    """A function of a file, called in a worker process."""

    def __init__(self, spec: WorkerSpec) -> None:
        self._worker = Worker(spec)
        self._name = f"{spec.file.name}:{spec.function}"
        self.spec = spec

    @property
    def digest(self) -> str:
        spec = self.spec
        return digests.of_text(digests.of_program(spec.file), spec.function, spec.argument or "")

    async def score(self, item: Mapping[str, Any], answer: str) -> Score:
        reply = await self._worker.call(item=item, answer=answer)
        match reply.get("error"):
            case None:
                return as_score(reply["returned"], self._name, item)
            case "timeout":
                return _failed(SCORER_TIMEOUT, reply["message"])
            case "breach":
                raise TaskError(f"{self._name} on item {item.get('id')!r} {reply['message']}; {_EXPECTED}")
            case _:
                return _failed(SCORER_ERROR, reply["message"])

    async def close(self) -> None:
        await self._worker.close()


def as_score(returned: Any, scorer: str, item: Mapping[str, Any]) -> Score:
    """The returned number or record as a `Score`.

    Raises:
        TaskError: it is no number, not finite, or outside [0, 1].
    """
    where = f"{scorer} on item {item.get('id')!r}"
    try:
        fields = worker.plain(returned)
        fields = fields if isinstance(fields, Mapping) else {"value": fields}
        value = fields["value"]
        words = fields.get("detail") or fields.get("feedback", "")
        score = Score(float(value), str(words), dict(fields.get("extra", {})))
    except (TypeError, ValueError, KeyError):
        value = None
    if value is None or isinstance(value, str):
        raise TaskError(f"{where} returned {returned!r:.200}; {_EXPECTED}")
    if not math.isfinite(score.value) or not 0.0 <= score.value <= 1.0:
        raise TaskError(
            f"{where} returned {score.value!r}; expected a value in [0, 1]: clip it in the scorer"
        )
    return score


def _failed(detail: str, message: str) -> Score:
    return Score(0.0, detail, {"message": message})


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSpec:
    """Which function a worker serves, and what one call may use."""

    file: Path
    function: str
    argument: str | None = None
    """Given: the function is called with it once, and what it returns is the function served."""
    cpu_s: int = 2
    wall_s: float = 30.0
    memory_bytes: int = 2 * 2**30
    hidden: tuple[Path, ...] = ()
    """Files that the worker must not read, where the machine can refuse that."""

    def as_json(self, ruleset: int | None) -> str:
        """What the worker is told; `ruleset` is the descriptor of the rules that hide files from it."""
        return json.dumps(
            {
                "ruleset": ruleset,
                "file": str(self.file.resolve()),
                "function": self.function,
                "argument": self.argument,
                "cpu_s": self.cpu_s,
                "wall_s": self.wall_s,
                "memory_bytes": self.memory_bytes,
            }
        )


class Worker:
    """A process that serves one function, in its file's folder.

    It is started at the first call and again when it died.
    """

    def __init__(self, spec: WorkerSpec) -> None:
        self.spec = spec
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def call(self, **arguments: Any) -> dict[str, Any]:
        """The reply: `returned`, or `error` (raised, timeout) with `message`. Calls wait for one another.

        Raises:
            TaskError: the function cannot be loaded.
        """
        line = json.dumps(arguments).encode() + b"\n"
        async with self._turn:
            try:
                return await self._ask(line) or await self._ask(line) or _DIED
            except BaseException:
                await self._end()  # a cancelled call leaves its reply in the pipe
                raise

    async def close(self) -> None:
        """Ends the process. Safe to call twice; a later call starts it anew."""
        await self._end()
        self._turn = asyncio.Lock()  # the next caller may live on another event loop

    async def _ask(self, line: bytes) -> dict[str, Any] | None:
        """The reply; None when the worker died over it."""
        process = self._process or await self._start()
        assert process.stdin is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.write(line)
            await process.stdin.drain()
        return await self._receive(process)

    async def _start(self) -> asyncio.subprocess.Process:
        rules = hidden_files.ruleset(self.spec.hidden)
        try:
            self._process = process = await self._run(rules)
        finally:
            if rules is not None:
                os.close(rules)
        reply = await self._receive(process)
        if reply is None or "error" in reply:
            message = reply["message"] if reply else "its process died"
            raise TaskError(f"cannot load {self.spec.function!r} from {self.spec.file}: {message}")
        return process

    async def _run(self, rules: int | None) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", worker.__file__, self.spec.as_json(rules)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=clean_environment(),
            cwd=self.spec.file.parent,
            start_new_session=True,
            limit=2 * worker.REPLY_BYTES,
            pass_fds=() if rules is None else (rules,),
        )

    async def _receive(self, process: asyncio.subprocess.Process) -> dict[str, Any] | None:
        assert process.stdout is not None
        line = await process.stdout.readline()
        if line.endswith(b"\n"):
            return self._explained(json.loads(line))
        await self._end()
        return None

    def _explained(self, reply: dict[str, Any]) -> dict[str, Any]:
        """The reply, which says so where a hidden file was asked for."""
        message = str(reply.get("message", ""))
        if "PermissionError" in message and any(each.name in message for each in self.spec.hidden):
            names = " and ".join(each.name for each in self.spec.hidden if each.suffix != ".pyc")
            message += f": a tool cannot read {names}; give it what it needs in a file of its own"
            return {**reply, "message": message}
        return reply

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its forks are in its group
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


_DIED = {"error": "raised", "message": "the worker died twice over this answer"}


def clean_environment() -> dict[str, str]:
    """What a worker may know of the environment: no key passes, and hashes do not vary."""
    kept = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "PYTHONPATH", "SYSTEMROOT")
    fixed = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return {name: os.environ[name] for name in kept if name in os.environ} | fixed | one_thread
