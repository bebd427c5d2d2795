"""A real endpoint on the loopback for the chat client, with scripted replies of any kind."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from aiohttp import web

from loriner.models.base import Message, ModelRequest
from loriner.models.chat import ChatModel

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
REQUEST = ModelRequest(messages=(Message("user", "Say hi"),))


def completion(text: Any = "hi", **changes: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3}}
    return {"choices": [choice], "usage": usage} | changes


@asynccontextmanager
async def served(handler: Handler, **options: Any) -> AsyncIterator[ChatModel]:
    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/v1/chat/completions", handler)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0]
    model = ChatModel(f"http://{host}:{port}/v1/", "m", **options)
    try:
        yield model
    finally:
        await model.close()
        await runner.cleanup()


@contextmanager
def running(handler: Handler) -> Iterator[str]:
    """The address of an endpoint in a thread of its own, for a program that waits for its calls."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    urls: list[str] = []

    async def serve() -> None:
        over.append(asyncio.Event())
        async with served(handler) as model:
            urls.append(model.name.partition("::")[0])
            ready.set()
            await over[0].wait()

    over: list[asyncio.Event] = []
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(over[0].set)
        thread.join(10)
        loop.close()


def in_turn(*replies: Handler | dict[str, Any]) -> tuple[Handler, list[float]]:
    """A handler that gives each reply once, the last one for ever, and the times at which it was asked."""
    asked: list[float] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        reply = replies[min(len(asked), len(replies) - 1)]
        asked.append(time.monotonic())
        return web.json_response(reply) if isinstance(reply, dict) else await reply(request)

    return handler, asked


def status(code: int, body: str = "", **headers: str) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(status=code, text=body, headers=headers)

    return handler
