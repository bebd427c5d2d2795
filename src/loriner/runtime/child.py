"""Runs one program in the process that was forked and caged for it, and says on its socket what became of it.

Standard library only. Nothing here is a guard: the program may patch, replace or forge all of it. What it
could gain by that is a frame that the host would have accepted anyway; the cage is in `cage`, the verdict
is the host's.
"""

from __future__ import annotations

import builtins
import contextlib
import fcntl
import gc
import io
import linecache
import math
import mmap
import os
import random
import socket
import sys
import threading
import traceback
import types
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from loriner.runtime import wire
from loriner.runtime.wire import Frame

_HARNESS_FILE = "harness.py"
_SCRIPT_FILE = "script.py"
_SIGNATURES = {"run_python": ("code",), "search": ("query", "k"), "examples": ("query", "k")}
"""Names of the arguments of the tools that may be called with positional ones."""
_ANSWER_CHARACTERS = 2**18
_TRACEBACK_FRAMES = 8
_NO_MEMORY_RESERVE = 2**20
"""Address space kept back so that a program that ran out of it can still be described."""


class BudgetExceeded(RuntimeError):
    """A call that is over the budget of this run."""

    __module__ = "builtins"


class TooLarge(ValueError):
    """A call that is longer than the host reads."""

    __module__ = "builtins"


class _Line:
    """The program's line to the host: one request, or one batch of them, at a time."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._next = 1

    def ask(self, requests: Sequence[Frame]) -> list[Any]:
        """The values that the host answers to `requests`, which it serves concurrently."""
        with self._lock:
            first, self._next = self._next, self._next + len(requests)
            for number, request in enumerate(requests, first):
                self._send({**request, "id": number})
            replies: dict[int, Frame] = {}
            while len(replies) < len(requests):
                reply = wire.receive(self._fd)
                replies[reply["id"]] = reply
        return [_value(replies[number]) for number in range(first, first + len(requests))]

    def _send(self, frame: Frame) -> None:
        try:
            wire.send(self._fd, frame)
        except wire.WireError as error:
            raise TooLarge(str(error)) from None


def _value(reply: Frame) -> Any:
    if "refused" not in reply:
        return reply["value"]
    kind = BudgetExceeded if reply["reason"] == "budget" else ValueError
    raise kind(reply["refused"])


class Reply(str):
    """The text of a reply, and what came beside it."""

    __module__ = "builtins"

    logprobs: list[Any]
    """The tokens, each a dict of `token`, `logprob` and `top_logprobs`; empty where none were asked for."""
    tool_calls: list[dict[str, str]]
    """What the model wants called: dicts of `id`, `name` and `arguments`, which is JSON text."""


def _reply(value: Any) -> str:
    """A reply as the host gives it: a text, or an object of what came."""
    if isinstance(value, str):
        return value
    reply = Reply(value["text"])
    reply.logprobs, reply.tool_calls = value.get("logprobs", []), value.get("tool_calls", [])
    return reply


class Model:
    """The solver as a harness sees it: `model(prompt)`, `model.chat(messages)`, `model.batch(prompts)`."""

    def __init__(self, line: _Line) -> None:
        self._line = line

    def __call__(self, prompt: str, *, system: str | None = None, **parameters: Any) -> Any:
        """The reply to `prompt`: text, or a list of texts for n > 1."""
        return self.chat(_messages(prompt, system), **parameters)

    def chat(self, messages: Sequence[dict[str, Any]], **parameters: Any) -> Any:
        """The reply to a conversation of {"role", "content"}; a content is text or a list of parts."""
        return self._ask([_request(messages, **parameters)])[0]

    def batch(self, prompts: Sequence[str], *, system: str | None = None, **parameters: Any) -> list[Any]:
        """The replies to several prompts, asked at the same time."""
        if isinstance(prompts, str):
            raise TypeError("model.batch(prompts) takes a list of texts, not one text")
        return self._ask([_request(_messages(each, system), **parameters) for each in prompts])

    def _ask(self, requests: list[Frame]) -> list[Any]:
        answers = [list(map(_reply, each)) for each in self._line.ask(requests)]
        return [
            texts[0] if request["n"] == 1 else texts for request, texts in zip(requests, answers, strict=True)
        ]


def _messages(prompt: str, system: str | None) -> list[dict[str, str]]:
    if not isinstance(prompt, str):
        raise TypeError(
            f"the prompt must be text, not {type(prompt).__name__}; "
            "use model.batch(prompts) for several, model.chat(messages) for a conversation"
        )
    first = [] if system is None else [{"role": "system", "content": system}]
    return [*first, {"role": "user", "content": prompt}]


_FURTHER = ("response_format", "grammar", "logprobs", "tools", "tool_choice")
"""What a call may ask beyond texts; a model that has it not refuses the call."""


def _request(messages: Sequence[dict[str, Any]], **parameters: Any) -> Frame:
    known: Frame = {"temperature": 0.0, "max_tokens": 512, "stop": None, "n": 1}
    for name in parameters.keys() - known.keys() - set(_FURTHER):
        names = ", ".join([*known, *_FURTHER])
        raise TypeError(f"the model has no argument {name!r}; it takes system, {names}")
    further = _further({name: parameters.pop(name) for name in _FURTHER if name in parameters})
    known |= parameters
    _check_messages(messages)
    _check_parameters(known)
    stop = known["stop"]
    known["stop"] = [] if stop is None else [stop] if isinstance(stop, str) else list(stop)
    return {"kind": "call", "messages": list(map(_sent, messages)), **known, "further": further}


def _further(given: Frame) -> Frame:
    """What is asked beyond texts, as endpoints have it; what is None is not asked."""
    asked = {name: value for name, value in given.items() if value is not None}
    if "logprobs" in asked:
        n = asked["logprobs"]
        if type(n) is not int or not 0 <= n <= 20:
            raise ValueError(f"logprobs must be an integer from 0 to 20, not {n!r:.40}")
        asked |= {"logprobs": True, "top_logprobs": n}
    for name, value in asked.items():
        if not wire.further({name: value}):
            raise ValueError(f"{name} has the wrong form: {value!r:.80}")
    return asked


def _sent(message: dict[str, Any]) -> dict[str, Any]:
    """The message as the host takes it: an assistant that only calls tools has said nothing."""
    calls = [_sent_call(each) for each in message.get("tool_calls") or ()]
    return {**message, "content": message["content"] or "", **({"tool_calls": calls} if calls else {})}


def _sent_call(call: dict[str, Any]) -> dict[str, Any]:
    """A call of a tool as endpoints have it, from the form that replies have it in."""
    if "function" in call:
        return call
    function = {"name": call["name"], "arguments": call["arguments"]}
    return {"id": call["id"], "type": "function", "function": function}


def _check_messages(messages: Any) -> None:
    if not isinstance(messages, list | tuple) or not messages:
        raise TypeError("model.chat(messages) takes a list of {'role': ..., 'content': ...}")
    for message in messages:
        _check_message(message)
    n_bytes = sum(wire.text_bytes(_sent(message)) + 4 for message in messages)
    if n_bytes > wire.PROMPT_BYTES or len(messages) > 256:
        raise TooLarge(f"the prompt has {n_bytes} bytes; at most {wire.PROMPT_BYTES} are sent")


_MESSAGE_KEYS = {"role", "content", "tool_calls", "tool_call_id"}


def _check_message(message: Any) -> None:
    if not isinstance(message, dict) or not {"role", "content"} <= message.keys() <= _MESSAGE_KEYS:
        raise TypeError(f"a message is {{'role': ..., 'content': ...}}, not {message!r:.100}")
    content = message["content"]
    if content is None and message.get("tool_calls"):
        content = ""
    if not isinstance(content, str | list):
        raise TypeError(f"a message's content must be text or a list of parts, not {type(content).__name__}")
    for part in content if isinstance(content, list) else ():
        if not wire.part(part):
            raise ValueError(
                "a part is {'type': 'text', 'text': ...}, or an image_url, input_audio or file that holds "
                f"its data itself (an image's url begins with data:), not {part!r:.100}"
            )
    if message["role"] not in wire.ROLES or (message["role"] == "tool" and not message.get("tool_call_id")):
        raise ValueError(
            "a message's role is system, user, assistant, or tool with a tool_call_id, not "
            f"{message['role']!r:.40}"
        )


def _check_parameters(given: Frame) -> None:
    temperature, stop = given["temperature"], given["stop"]
    if type(temperature) not in (int, float) or not 0 <= temperature <= 2:
        raise ValueError(f"temperature must be a number from 0 to 2, not {temperature!r:.40}")
    for name in ("max_tokens", "n"):
        if type(given[name]) is not int or not 0 < given[name] < 2**31:
            raise ValueError(f"{name} must be an integer of at least 1, not {given[name]!r:.40}")
    texts = [] if stop is None else [stop] if isinstance(stop, str) else stop
    if not isinstance(texts, list | tuple) or not all(isinstance(each, str) for each in texts):
        raise ValueError(f"stop must be a text or a list of texts, not {stop!r:.40}")
    if len(texts) > 16:
        raise ValueError(f"stop may hold 16 texts, not {len(texts)}")


def _tools(names: Sequence[str], line: _Line) -> types.ModuleType:
    """The module `tools`, which holds the granted tools and refuses every other name in words."""
    module = types.ModuleType("tools", "The tools that this task grants.")
    for name in names:
        setattr(module, name, _tool(name, line))

    def refuse(name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        granted = ", ".join(names) or "none"
        raise ImportError(f"the task does not grant the tool {name!r}; granted: {granted}")

    module.__getattr__ = refuse  # type: ignore[method-assign]
    return module


def _tool(name: str, line: _Line) -> Callable[..., Any]:
    positional = _SIGNATURES.get(name, ())

    def call(*values: Any, **arguments: Any) -> Any:
        if len(values) > len(positional):
            raise TypeError(f"{name}({', '.join(positional)}) takes its other arguments by keyword")
        for key, value in zip(positional, values, strict=False):
            if key in arguments:
                raise TypeError(f"{name}() got two values for {key!r}")
            arguments[key] = value
        return line.ask([{"kind": "tool", "name": name, "arguments": arguments}])[0]

    call.__name__ = call.__qualname__ = name
    return call


class _Output(io.RawIOBase):
    """Standard output and error of a program: what is over the limit is dropped quietly."""

    left = 0
    """Bytes that may still be written."""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        if part := memoryview(data)[: self.left]:
            with contextlib.suppress(OSError):
                self.left -= os.write(1, part)
        return size


_OUTPUT = _Output()
_N_WARM_UP = 40
_FIRST = """
import json, math, re
from tools import search
def solve(model, question):
    return re.sub("[?]", "", model(f"{question}!", max_tokens=8)) or json.dumps([math.pi])
"""


def run(fd: int) -> NoReturn:
    """Reads a program from `fd`, runs it, sends one terminal frame and ends the process."""
    gc.enable()
    perform(fd)
    os._exit(0)


def perform(fd: int) -> None:
    """Reads a program from `fd`, runs it and sends one terminal frame."""
    program = wire.receive(fd)
    _OUTPUT.left = program["output_bytes"]
    random.seed(program["seed"])
    reserve = mmap.mmap(-1, _NO_MEMORY_RESERVE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        ending = _script(program) if program["question"] is None else _solve(program, fd)
    except BaseException as error:  # noqa: BLE001 - the one place that turns an exception into a frame
        reserve.close()
        ending = _describe(error)
    # A program may have left a tracer, a limit or a patch behind that makes this fail: then it has no answer.
    with contextlib.suppress(BaseException):
        wire.send(fd, ending)


def prepare() -> None:
    """Makes the zygote's interpreter look freshly started to what is forked from it, and warms it up."""
    for name in [each for each in sys.modules if each.partition(".")[0] == "loriner"]:
        del sys.modules[name]
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.argv, sys.orig_argv = [_HARNESS_FILE], [_HARNESS_FILE]
    text = io.TextIOWrapper(_OUTPUT, "utf-8", "replace", write_through=True)  # type: ignore[type-var]
    sys.stdout = sys.stderr = text
    sys.__stdout__ = sys.__stderr__ = text  # type: ignore[assignment, misc]
    builtins.exit = builtins.quit = sys.exit  # type: ignore[assignment]
    _warm_up()


def _warm_up() -> None:
    """Runs a small harness a few times, so that children inherit what the interpreter learns from it.

    Inline caches, method caches and resolved symbols would else be written anew, and dirty shared pages, in
    each child.
    """
    ours, theirs = socket.socketpair()
    flags = fcntl.fcntl(1, fcntl.F_GETFL)
    program = {"source": _FIRST, "question": "?", "tools": ["search"], "seed": 0, "output_bytes": 0}
    for _ in range(_N_WARM_UP):
        for frame in (program, {"id": 1, "value": ["!"]}):
            ours.sendall(wire.encode(frame))
        perform(theirs.fileno())
        ours.recv(2**16)
    for name in ("harness", "tools"):
        del sys.modules[name]
    linecache.cache.clear()
    fcntl.fcntl(1, fcntl.F_SETFL, flags)
    ours.close()
    theirs.close()


def _load(source: str, filename: str, name: str) -> dict[str, Any]:
    """The namespace after the source's body ran as the module `name`."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    linecache.cache[filename] = (lambda: source,)
    try:
        code = compile(source, filename, "exec", dont_inherit=True)
    except SyntaxError:
        raise
    except (ValueError, MemoryError, RecursionError) as error:
        raise SyntaxError(f"the source cannot be compiled: {error or type(error).__name__}") from None
    exec(code, module.__dict__)
    return module.__dict__


def _solve(program: Frame, fd: int) -> Frame:
    line = _Line(fd)
    sys.modules["tools"] = _tools(program["tools"], line)
    solve = _load(program["source"], _HARNESS_FILE, "harness").get("solve")
    if not callable(solve):
        raise NameError("the harness defines no function solve(model, question)")
    fcntl.fcntl(1, fcntl.F_SETFL, wire.SOLVING)
    answer = solve(Model(line), program["question"])
    return {"kind": "done", "answer": _as_text(answer), "type": _name(type(answer))}


def _script(program: Frame) -> Frame:
    try:
        _load(program["source"], _SCRIPT_FILE, "__main__")
    except SystemExit as error:
        if error.code:
            raise
    return {"kind": "done", "answer": "", "type": "str"}


def _as_text(answer: Any) -> str | None:
    """The answer as text: text as it is, an int in decimal, a finite float as `repr`; else None."""
    if isinstance(answer, str):
        return str.__str__(answer) if str.__len__(answer) <= _ANSWER_CHARACTERS else None
    if type(answer) is int:
        return str(answer) if answer.bit_length() < 4096 else None
    return repr(answer) if type(answer) is float and math.isfinite(answer) else None


def _name(kind: type) -> str:
    return str(type.__dict__["__name__"].__get__(kind))[:100]


def _describe(error: BaseException) -> Frame:
    """The frame of an exception; without its words where even those raise."""
    frame: Frame = {"kind": "error", "type": _name(type(error)), "message": "", "traceback": "", "causes": []}
    with contextlib.suppress(BaseException):
        frame["causes"] = _causes(error)
        frame["message"] = str(error)[:4096]
        frame["traceback"] = _traceback(error)
    return frame


def _traceback(error: BaseException) -> str:
    """The last frames that are not the runner's own, and the exception; no chain."""
    steps = traceback.extract_tb(error.__traceback__, limit=-_TRACEBACK_FRAMES)
    prefix = os.__file__.removesuffix("os.py")
    own = [step for step in steps if step.filename != __file__]
    for step in own:
        step.filename = step.filename.removeprefix(prefix)
    heading = ["Traceback (most recent call last):\n"] if own else []
    lines = heading + traceback.format_list(own) + traceback.format_exception_only(error)
    return "".join(line if len(line) < 2000 else line[:2000] + "...\n" for line in lines)[: 16 * 2**10]


def _causes(error: BaseException) -> list[list[Any]]:
    """[type, errno or None] of the exception and of what led to it, nearest first."""
    causes: list[list[Any]] = []
    each: Any = error
    while isinstance(each, BaseException) and len(causes) < 8:
        code = getattr(each, "errno", None) if isinstance(each, OSError) else None
        if isinstance(each, socket.gaierror) or type(code) is not int:
            code = None
        causes.append([_name(type(each)), code])
        hidden = None if each.__suppress_context__ else each.__context__
        reason = getattr(each, "reason", None)
        each = reason if isinstance(reason, BaseException) else each.__cause__ or hidden
    return causes
