"""The program of a worker: it loads one function and calls it for the host, each call in a fork of its own.

Run as a script (`python -P worker.py SPEC`), standard library only. Requests and replies are JSON lines on
what were stdin and stdout; the function itself sees neither, since both are moved away before it is loaded.
A fork makes a call killable and forgetful: it may loop, exhaust memory, exit or spoil the module's state, and
the next call starts clean. It is not a cage: a function that runs hostile text can read this machine's files
(but those that the host hides from it) and can invent its own result.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

_NO_NEW_PRIVS, _RESTRICT_SELF = 38, 446
"""As in `loriner.landlock_rules` and its sources; this program imports nothing of the package."""
REPLY_BYTES = 2**20
"""A longer reply is an error of the function."""


def main(spec: Mapping[str, Any]) -> None:
    """Serves calls until the host closes its end.

    `spec` holds file, function, argument, cpu_s, wall_s, memory_bytes and ruleset.
    """
    requests, replies = _take_over_pipes()
    try:
        hide(spec["ruleset"])
        function = load(spec["file"], spec["function"], spec["argument"])
    except BaseException as error:  # noqa: BLE001 - whatever stops the load is the host's to report
        return _send(replies, {"error": "load", "message": describe(error)})
    _send(replies, {"ready": True})
    for line in requests:
        _send(replies, _call_in_fork(function, json.loads(line), spec, (requests, replies)))
    return None


def hide(ruleset: int | None) -> None:
    """Enters the Landlock rules that the host made, for good: the files that they leave out cannot be read.

    Raises:
        OSError: the kernel refuses; then nothing is loaded.
    """
    if ruleset is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.syscall(_RESTRICT_SELF, ruleset, 0):
        raise OSError(ctypes.get_errno(), "the items and the scorer cannot be hidden from the tool")
    os.close(ruleset)


def load(file: str, name: str, argument: str | None) -> Callable[..., Any]:
    """The function `name` of a Python file; with an argument, what that function makes of it."""
    path = os.path.abspath(file)  # noqa: PTH100 - pathlib would cost a tenth of the start
    sys.path.insert(0, os.path.dirname(path))  # noqa: PTH120
    module_spec = importlib.util.spec_from_file_location("loaded_by_worker", path)
    if module_spec is None or module_spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[module_spec.name] = module
    module_spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        raise ImportError(f"{path} defines no function {name!r}")
    return function if argument is None else function(argument)  # type: ignore[no-any-return]


def describe(error: BaseException) -> str:
    """Type, message and the innermost place of an exception, on one line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" (line {frames[-1].lineno} of {os.path.basename(frames[-1].filename)})" if frames else ""  # noqa: PTH119
    return f"{type(error).__name__}: {str(error)[:500]}{place}"


def plain(returned: Any) -> Any:
    """What a function returned, as JSON data: a score record becomes an object, other numbers floats."""
    if hasattr(returned, "value") and hasattr(returned, "detail"):
        extra = dict(getattr(returned, "extra", {}))
        return {"value": float(returned.value), "detail": str(returned.detail), "extra": extra}
    if isinstance(returned, str | int | float | dict | list | tuple | None):
        return returned
    return float(returned)


def _take_over_pipes() -> tuple[BinaryIO, BinaryIO]:
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return requests, replies


def _send(replies: BinaryIO, reply: Mapping[str, Any]) -> None:
    replies.write(json.dumps(reply).encode() + b"\n")
    replies.flush()


def _call_in_fork(
    function: Callable[..., Any], arguments: Any, spec: Mapping[str, Any], host: tuple[BinaryIO, BinaryIO]
) -> dict[str, Any]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        for stream in host:
            os.close(stream.fileno())
        _call_and_exit(function, arguments, spec, writer)
    os.close(writer)
    data = _read(reader, time.monotonic() + spec["wall_s"])
    os.close(reader)
    os.kill(pid, signal.SIGKILL)
    _, _, usage = os.wait4(pid, 0)
    return _reply(data, usage.ru_utime + usage.ru_stime, spec)


def _call_and_exit(
    function: Callable[..., Any], arguments: Any, spec: Mapping[str, Any], writer: int
) -> None:
    data = b'{"error": "raised", "message": "out of memory"}'
    with contextlib.suppress(MemoryError):
        data = json.dumps(_outcome(function, arguments, spec)).encode()
    rest = memoryview(data + b"\n")
    with contextlib.suppress(OSError):
        while rest:
            rest = rest[os.write(writer, rest) :]
    os._exit(0)


def _outcome(function: Callable[..., Any], arguments: Any, spec: Mapping[str, Any]) -> dict[str, Any]:
    try:
        _limit(spec)
        returned = function(**arguments)
    except BaseException as error:  # noqa: BLE001 - the fork ends here, whatever happened
        return {"error": "raised", "message": describe(error)}
    try:
        result = plain(returned)
        json.dumps(result)
    except (TypeError, ValueError, RecursionError):
        return {"error": "breach", "message": f"returned {returned!r:.200}"}
    return {"returned": result}


def _limit(spec: Mapping[str, Any]) -> None:
    cpu_s = spec["cpu_s"]
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError, OSError):  # macOS refuses an address-space limit
        resource.setrlimit(resource.RLIMIT_AS, (spec["memory_bytes"], spec["memory_bytes"]))


def _read(reader: int, deadline: float) -> bytes | None:
    """What the fork sent, up to its line end; None when the time is over."""
    data = b""
    while not data.endswith(b"\n") and len(data) <= REPLY_BYTES:
        ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        piece = os.read(reader, 65536)
        if not piece:
            break
        data += piece
    return data


def _reply(data: bytes | None, cpu_s: float, spec: Mapping[str, Any]) -> dict[str, Any]:
    if data is None:
        return {"error": "timeout", "message": f"ran longer than {spec['wall_s']} s"}
    if len(data) > REPLY_BYTES:
        return {"error": "raised", "message": f"returned more than {REPLY_BYTES} bytes"}
    try:
        reply = json.loads(data)
    except ValueError:
        reply = None
    if isinstance(reply, dict) and ("returned" in reply or {"error", "message"} <= reply.keys()):
        return reply
    if cpu_s >= 0.9 * spec["cpu_s"]:
        return {"error": "timeout", "message": f"used more than {spec['cpu_s']} s of CPU"}
    return {"error": "raised", "message": "the process of the call died"}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
