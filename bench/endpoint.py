"""An OpenAI-compatible endpoint before any model of this package, which counts what it was asked.

    python bench/endpoint.py --model qwen2.5-coder-0.5b --port 8123

Other frameworks are measured against it with the solver that this package uses, settings included.
`GET /calls` returns how many completions were given.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from loriner.errors import ModelError
from loriner.models.base import Message, Model, ModelReply, ModelRequest
from loriner.models.named import ModelSpec, open_model


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
    spec = ModelSpec(gguf=arguments.model, n_ctx_per_slot=arguments.context)
    model = open_model("solver", specs={"solver": spec}, models_dir=arguments.models, offline=True)
    async with serving(model, arguments.port) as (_, address):
        print(f"{address} answers with {model.name}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--models", type=Path, default=Path(".loriner/models"), help="where weights lie")
    parser.add_argument("--context", type=int, default=4096, help="tokens of prompt and reply together")
    parser.add_argument("--port", type=int, default=8123)
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
