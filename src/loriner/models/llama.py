"""A GGUF model in this process: llama.cpp through the package `xllamacpp` (extra `[local]`).

Several slots are computed together, and at temperature 0 each keeps its last prompt, so that programs which
begin every prompt alike pay for it once. The last bits of the sums then depend on who shares the batch and
on what came before: a text may differ. `n_parallel=1` keeps nothing and is exact, at the price of speed; a
reply cache repeats what was said.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import secrets
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from loriner.errors import ConfigError, MissingExtra, ModelRefused, ModelUnavailable, PromptRefused
from loriner.models.base import ModelReply, ModelRequest, facts_of, further_asked, sent
from loriner.models.pull import sha256_of

_HEADER_BYTES = 24
"""Magic, version, number of tensors, number of metadata pairs. Source: the GGUF specification."""

_WHY = (
    "A file may be cut short or of an architecture that it does not know, or the adapter one of other "
    "weights; fetch it again"
)

_MOST_THREADS = 8
"""More gain little: a small model waits for memory."""


class LlamaModel:
    """A model file served by `n_parallel` slots, which share `n_threads` threads.

    It is loaded at the first request. Closing frees its memory; a later request loads it again.
    """

    def __init__(
        self,
        path: Path,
        *,
        name: str | None = None,
        adapter: Path | None = None,
        n_threads: int | None = None,
        n_parallel: int = 8,
        n_ctx_per_slot: int = 2048,
    ) -> None:
        """
        Args:
            name: `gguf:FILE@DIGEST`, from the file, where absent. An adapter's file and digest follow it.
            adapter: a GGUF LoRA adapter of these weights.
            n_threads: more than one is faster on idle cores, and slower than one on shared ones; absent
                means as many as there are idle cores when the model is loaded.
            n_ctx_per_slot: tokens of prompt and reply together.

        Raises:
            MissingExtra: `xllamacpp` is not installed.
            ConfigError: no such file, or not a GGUF; of either.
        """
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtra("local", f"running {path.name} in this process")
        check_gguf(path)
        self._path = path
        self._adapter = adapter
        self._name = name or f"gguf:{path.name}@{sha256_of(path)[:12]}"
        if adapter is not None:
            check_gguf(adapter)
            self._name += f"+{adapter.name}@{sha256_of(adapter)[:12]}"
        self._n_threads = n_threads
        self._n_parallel = n_parallel
        self._n_ctx_per_slot = n_ctx_per_slot
        self._pool: ThreadPoolExecutor | None = None
        self._server: Any = None
        self._loading = threading.Lock()
        self._closing = threading.Event()

    @property
    def name(self) -> str:
        return self._name

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply. Giving up the wait ends the generation at its next token.

        Raises:
            PromptRefused: the prompt is longer than a slot's context, or not valid Unicode.
            ModelUnavailable: the file does not load.
        """
        keeps = self._n_parallel > 1 and request.temperature == 0.0  # a seed must mean something
        body = {**_body(request), "cache_prompt": keeps}
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._n_parallel, thread_name_prefix="llama")
            self._closing = threading.Event()
        given_up = threading.Event()
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._pool, self._answer, body, given_up, self._closing, further_asked(request)
            )
        finally:
            given_up.set()

    async def close(self) -> None:
        """Ends what is being generated, and frees the model."""
        pool, self._pool = self._pool, None
        if pool is not None:
            self._closing.set()
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)
            await asyncio.to_thread(self._free)

    def _free(self) -> None:
        self._server = None

    def _answer(
        self,
        body: dict[str, Any],
        given_up: threading.Event,
        closing: threading.Event,
        asked: Sequence[str],
    ) -> ModelReply:
        server = self._loaded()
        reply = _Reply()
        started = time.perf_counter()

        def take(chunk: dict[str, Any]) -> bool:
            reply.add(chunk)
            return given_up.is_set() or closing.is_set()

        try:
            server.handle_chat_completions(body, take)
        except (RuntimeError, ValueError) as error:
            if asked:
                raise PromptRefused(
                    f"{self._name} was asked for {', '.join(asked)}, and refused: {error}"
                ) from error
            raise ModelUnavailable(f"{self._name} failed inside llama.cpp: {error}") from error
        return reply.finished(self._name, time.perf_counter() - started, asked)

    def _loaded(self) -> Any:
        """The native server, loaded by whichever thread comes first."""
        with self._loading:
            if self._server is None:
                self._server = self._load()
            return self._server

    def _load(self) -> Any:
        n_threads = self._n_threads or idle_cores()
        if n_threads > 1:  # spinning threads collapse when the cores are shared
            os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.n_parallel = self._n_parallel
        params.n_ctx = self._n_ctx_per_slot * self._n_parallel
        params.cpuparams.n_threads = n_threads
        params.cpuparams_batch.n_threads = n_threads
        params.verbosity = -1
        params.port = 0  # it always listens, on the loopback: lock it with a key that nobody knows
        params.api_keys = [secrets.token_hex(32)]
        params.ui = False
        if self._adapter is not None:
            params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(self._adapter), 1.0)]
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            raise ModelUnavailable(f"llama.cpp cannot load {self._files()}: {error} {_WHY}") from error

    def _files(self) -> str:
        paths = [path for path in (self._path, self._adapter) if path is not None]
        return " with ".join(f"{path} ({path.stat().st_size:,} bytes)" for path in paths)


class _Reply:
    """A streamed completion, put together."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._finish_reason = ""
        self._usage: dict[str, Any] = {}
        self._error: dict[str, Any] = {}
        self._calls: dict[int, dict[str, str]] = {}
        self._logprobs: list[Any] = []

    def add(self, chunk: dict[str, Any]) -> None:
        self._error = chunk.get("error") or self._error
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices", ()):
            self._pieces.append(choice["delta"].get("content") or "")
            self._finish_reason = choice["finish_reason"] or self._finish_reason
            self._logprobs += (choice.get("logprobs") or {}).get("content") or ()
            for piece in choice["delta"].get("tool_calls") or ():
                self._add_call(piece)

    def _add_call(self, piece: dict[str, Any]) -> None:
        """A call of a tool comes in pieces: its id and name once, its arguments bit by bit."""
        call = self._calls.setdefault(piece["index"], {"id": "", "name": "", "arguments": ""})
        call["id"] = piece.get("id") or call["id"]
        function = piece.get("function") or {}
        call["name"] = function.get("name") or call["name"]
        call["arguments"] += function.get("arguments") or ""

    def finished(self, name: str, seconds: float, asked: Sequence[str]) -> ModelReply:
        """The reply; `asked` are the things beyond a text that it was to bring."""
        if self._error.get("type") == "exceed_context_size_error":
            raise PromptRefused(
                f"the prompt has {self._error['n_prompt_tokens']} tokens, and {name} has a context of "
                f"{self._error['n_ctx']} for prompt and reply; shorten the prompt"
            )
        if self._error:
            message = f"{name} did not answer: {self._error.get('message', self._error)}"
            if asked and self._error.get("code", 500) in (400, 500, 501):
                raise PromptRefused(f"{message} (asked for {', '.join(asked)})")
            raise (ModelRefused if self._error.get("code", 500) < 500 else ModelUnavailable)(message)
        return ModelReply(
            text="".join(self._pieces),
            finish_reason=self._finish_reason,
            prompt_tokens=self._usage.get("prompt_tokens", 0),
            completion_tokens=self._usage.get("completion_tokens", 0),
            usd=0.0,
            seconds=seconds,
            usage=self._usage,
            further=self._further(),
        )

    def _further(self) -> dict[str, Any]:
        further: dict[str, Any] = {}
        if self._calls:
            further["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        if self._logprobs:
            further["logprobs"] = self._logprobs
        return further


def idle_cores() -> int:
    """Cores of this process with nothing to do in the last minute; at least 1, at most 8."""
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(n_cores - round(os.getloadavg()[0]), _MOST_THREADS))


def check_gguf(path: Path) -> None:
    """Raises `ConfigError` unless `path` is a file that begins as a GGUF does."""
    if not path.is_file():
        raise ConfigError(f"there is no model file {path}")
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if not header.startswith(b"GGUF"):
        raise ConfigError(f"{path} is not a GGUF file: it begins with {header[:4]!r}, not with b'GGUF'")
    if len(header) < _HEADER_BYTES:
        raise ConfigError(f"{path} is cut short: {len(header)} bytes; fetch it again")


def _body(request: ModelRequest) -> dict[str, Any]:
    try:
        json.dumps([request.stop, facts_of(request)], ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise PromptRefused(f"the prompt is not valid Unicode: {error}") from error
    return {
        "messages": [sent(each) for each in request.messages],
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "stop": list(request.stop),
        "seed": request.seed,
        **request.further,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
