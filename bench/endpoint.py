"""An OpenAI-compatible endpoint before any model of this package, which counts what it was asked.

    python bench/endpoint.py --model qwen2.5-coder-0.5b --port 8123

Other frameworks are measured against it with the solver that this package uses, settings included.
`GET /calls` returns how many completions were given.
"""

from __future__ import annotations

import argparse
import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from aiohttp import web

from loriner.errors import ModelError
from loriner.models.base import Message, Model, ModelReply, ModelRequest
from loriner.models.named import ModelSpec, open_model
from loriner.models.scripted import ScriptedModel


@dataclass(slots=True)
class Endpoint:
    """Answers chat completions with `model`."""

    model: Model
    n_calls: int = 0
    """Completions given."""

    @property
    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/v1/chat/completions", self.answer)
        app.router.add_get("/calls", self.count)
        return app

    async def answer(self, request: web.Request) -> web.Response:
        """One completion; a request that the model refuses gets status 400 and its words."""
        body = await request.json()
        try:
            reply = await self.model.complete(_asked(body))
        except ModelError as error:
            return web.json_response({"error": {"message": str(error), "type": "refused"}}, status=400)
        self.n_calls += 1
        return web.json_response(_completion(body, reply, self.n_calls))

    async def count(self, request: web.Request) -> web.Response:
        return web.json_response(self.n_calls)


@asynccontextmanager
async def serving(model: Model, port: int = 0) -> AsyncIterator[tuple[Endpoint, str]]:
    """The endpoint and its address, such as http://127.0.0.1:8123/v1, while the block runs."""
    endpoint = Endpoint(model)
    runner = web.AppRunner(endpoint.app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield endpoint, f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()
        await model.close()


@contextmanager
def reciting(replies: Sequence[str]) -> Iterator[str]:
    """The address of a model that gives the replies one after another, and an empty one after the last.

    It answers from a thread, so that the caller may wait for it.
    """
    following = chain(replies, repeat(""))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = serving(ScriptedModel("recorded", lambda request: next(following)))
    try:
        yield asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()[1]
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _asked(body: dict[str, Any]) -> ModelRequest:
    stop = body.get("stop") or ()
    return ModelRequest(
        messages=tuple(Message(each["role"], each["content"]) for each in body["messages"]),
        temperature=float(body.get("temperature") or 0.0),
        max_tokens=int(body.get("max_completion_tokens") or body.get("max_tokens") or 512),
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
        seed=int(body.get("seed") or 0),
    )


def _completion(body: dict[str, Any], reply: ModelReply, number: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.text}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model", ""),
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
        "usage": {
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "total_tokens": reply.prompt_tokens + reply.completion_tokens,
        },
    }


async def _serve(arguments: argparse.Namespace) -> None:
    specs = {} if "://" in arguments.model else {arguments.model: _weights(arguments)}
    model = open_model(arguments.model, specs=specs, models_dir=arguments.models)
    async with serving(model, arguments.port) as (_, address):
        print(f"{address} answers with {model.name}", flush=True)
        await asyncio.Event().wait()


def _weights(arguments: argparse.Namespace) -> ModelSpec:
    return ModelSpec(gguf=arguments.model, n_ctx_per_slot=arguments.context)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="qwen2.5-coder-0.5b", help="weights, or URL::MODEL")
    parser.add_argument("--models", type=Path, default=Path(".loriner/models"), help="where weights lie")
    parser.add_argument("--context", type=int, default=4096, help="tokens of prompt and reply together")
    parser.add_argument("--port", type=int, default=8123)
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
