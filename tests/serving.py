"""A served harness as a process of its own, in front of a scripted model server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from stub_server import Stub

PROGRAMS = {
    "echo": "def solve(model, question):\n    return 'adapted: ' + model(question)\n",
    "crashes": "def solve(model, question):\n    return 1 / 0\n",
    "loops": "def solve(model, question):\n    while True:\n        pass\n",
    "silent": "def solve(model, question):\n    return '  '\n",
    "spy": "import os\n\n\ndef solve(model, question):\n    return repr(dict(os.environ))\n",
    "hands": "def solve(model, question):\n    return question\n",
}


@dataclass(slots=True)
class Streaming(Stub):
    """The stub that also streams and remembers who asked."""

    keys: tuple[str, ...] = ()

    async def answer(self, request: web.Request) -> web.StreamResponse:  # type: ignore[override]
        self.keys += (request.headers.get("Authorization", ""),)
        if not (body := await request.json()).get("stream"):
            return await Stub.answer(self, request)
        self.calls.append(body)
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        for delta in ({"role": "assistant", "content": "from "}, {"content": "the solver"}):
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "stub"}
            choices = [{"index": 0, "delta": delta, "finish_reason": None}]
            await stream.write(f"data: {json.dumps({**chunk, 'choices': choices})}\n\n".encode())
        await stream.write(b"data: [DONE]\n\n")
        return stream


@dataclass(slots=True)
class Server:
    """A running `loriner serve`."""

    process: subprocess.Popen[str]
    url: str
    """Up to and including `/v1`."""
    errors: Path

    def post(self, path: str, body: Any, timeout_s: float = 60.0, **headers: str) -> tuple[int, Any, Any]:
        """Status, headers and the JSON body of a reply."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._sent(urllib.request.Request(f"{self.url}/{path}", data, _JSON | headers), timeout_s)

    def ask(self, model: str, question: str, **more: Any) -> tuple[int, Any, Any]:
        messages = [{"role": "user", "content": question}]
        return self.post("chat/completions", {"model": model, "messages": messages, **more})

    def get(self, path: str) -> Any:
        return self._sent(urllib.request.Request(f"{self.url.removesuffix('/v1')}{path}"), 30.0)[2]

    def _sent(self, request: urllib.request.Request, timeout_s: float) -> tuple[int, Any, Any]:
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as reply:
                return reply.status, reply.headers, _read(reply.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, _read(error.read())

    def tree(self) -> set[int]:
        """The server's process and all below it."""
        found = {self.process.pid}
        while more := {pid for pid, parent in _parents().items() if parent in found} - found:
            found |= more
        return found


_JSON = {"Content-Type": "application/json"}


@contextmanager
def serving(
    folder: Path, *arguments: str, command: Sequence[str] = ("serve",), **variables: str
) -> Iterator[Server]:
    """`loriner serve` with these arguments while the block runs. It must end by itself when it is told to."""
    errors = folder / "stderr.txt"
    with errors.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "loriner", *command, *arguments, "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            cwd=folder,
            env={**os.environ, "LORINER_HOME": str(folder / "home"), "NO_COLOR": "1", **variables},
        )
    assert process.stdout is not None
    with process.stdout:
        try:
            url = process.stdout.readline().strip()
            assert url.startswith("http"), errors.read_text()
            yield Server(process, url, errors)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def programs(folder: Path) -> list[str]:
    """The words that serve every program of `PROGRAMS` under its name, written into the folder."""
    for name, source in PROGRAMS.items():
        (folder / f"{name}.py").write_text(source)
    return [f"{name}={name}.py" for name in PROGRAMS]


def until(holds: Callable[[], bool], within_s: float = 20.0) -> bool:
    """Whether it comes to hold in time."""
    end = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _read(payload: bytes) -> Any:
    try:
        return json.loads(payload)
    except ValueError:
        return payload.decode()


def _parents() -> dict[int, int]:
    """The parent of each process that is not a zombie."""
    found = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = each.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            found[int(each.parent.name)] = int(parent)
    return found


def alive(pids: set[int]) -> set[int]:
    """Those of the processes that are still there."""
    return pids & _parents().keys()
