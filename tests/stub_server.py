"""A local OpenAI-compatible endpoint for tests: a real HTTP server in a thread, with a scripted mind.

Asked for a Python program, it writes one that adds the numbers of the question; asked directly, it answers
with prose and a wrong number. So a harness that runs programs scores 1 where the minimal one scores 0.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Mind = Callable[[str], str | None]
"""The reply to a prompt; None is a reply without content, as of a model that only thought."""


def adder(prompt: str) -> str:
    """Right only when it is asked for a program."""
    numbers = re.findall(r"\d+", prompt)[:2]
    if "```python" in prompt:
        return f"```python\nprint({' + '.join(numbers)})\n```"
    return "I think it is <answer>-1</answer>"


@dataclass(slots=True)
class Stub:
    """What the server does and what it was asked."""

    mind: Mind = adder
    status: Callable[[int, str], int] = lambda number, prompt: 200
    """The HTTP status of the n-th call, from 0."""
    error: str = ""
    """What another status than 200 says; default: that it is one of the stub's."""
    headers: dict[str, str] = field(default_factory=dict)
    """Of replies with another status than 200."""
    finish_reason: str = "stop"
    counts: bool = True
    """Whether it reports usage."""
    delay_s: float = 0.0
    url: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    n_answered: int = 0
    """Calls that got a completion."""

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        number = len(self.calls)
        self.calls.append(body)
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        prompt = body["messages"][-1]["content"]
        status = self.status(number, prompt)
        if status != 200:
            error = {"error": {"message": self.error or f"stub says {status}"}}
            return web.json_response(error, status=status, headers=self.headers)
        text = self.mind(prompt)
        self.n_answered += 1
        return web.json_response(
            {
                "choices": [
                    {"message": {"role": "assistant", "content": text}, "finish_reason": self.finish_reason}
                ],
                "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
                if self.counts
                else None,
            }
        )


@contextmanager
def serving(stub: Stub) -> Iterator[Stub]:
    """The stub behind a free port of this machine while the block runs."""
    ready = threading.Event()
    loop = asyncio.new_event_loop()

    async def start() -> web.AppRunner:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", stub.answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        stub.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1::stub"
        return runner

    def work() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(start())
        ready.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield stub
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
