"""What serving a harness adds to a request, beside the same endpoint asked bare.

    python bench/serving.py [--requests 600] [--rounds 3]

A scripted endpoint, the server and the clients share this machine, each in a process of its own. The harness
is `library:minimal`: one model call and no work of its own, so that the rest is ours: HTTP, the sandbox
(a fresh process a request), and the call. Rounds alternate bare and served; figures are medians over the
rounds. Bars on two idle cores: at most 8 ms added at the median with one client, at least 300 requests a
second with 16.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
from aiohttp import web

ADDED_MS, RATE = 8.0, 300.0
REPLY = {
    "id": "x",
    "object": "chat.completion",
    "created": 0,
    "model": "stub",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "4"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10},
}


async def endpoint() -> None:
    """A model server that answers at once."""

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        return web.json_response(REPLY)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
    await asyncio.Event().wait()


@contextmanager
def process(*arguments: str) -> Iterator[str]:
    """A Python process while the block runs, and the address in its first line."""
    made = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert made.stdout is not None
        yield made.stdout.readline().strip()
    finally:
        made.terminate()
        made.wait(20)


async def load(url: str, model: str, n: int, n_clients: int) -> tuple[float, list[float]]:
    """Requests a second, and the milliseconds of each, in order."""
    left, times = iter(range(n)), list[float]()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:

        async def one(number: int) -> None:
            began = time.perf_counter()
            asked = {"model": model, "messages": [{"role": "user", "content": f"2 + 2, {number}"}]}
            async with http.post(f"{url}/chat/completions", json=asked) as reply:
                assert reply.status == 200, await reply.text()
                assert (await reply.json())["choices"][0]["message"]["content"] == "4"
                assert reply.headers.get("X-Loriner", "harness") == "harness"
            times.append(1e3 * (time.perf_counter() - began))

        async def client() -> None:
            for number in left:
                await one(number)

        await asyncio.gather(*(one(-i) for i in range(n_clients)))  # connections and zygotes are there
        times.clear()
        began = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(n_clients)))
        return n / (time.perf_counter() - began), sorted(times)


def _round(bare: str, served: str, n: int) -> dict[str, float]:
    found = {}
    for n_clients in (1, 16):
        for name, url, model in (("bare", bare, "stub"), ("served", served, "words")):
            rate, times = asyncio.run(load(url, model, n, n_clients))
            found[f"{name} {n_clients} p50"] = times[len(times) // 2]
            found[f"{name} {n_clients} p99"] = times[int(0.99 * len(times))]
            found[f"{name} {n_clients} rate"] = rate
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--requests", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--endpoint", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.endpoint:
        asyncio.run(endpoint())
        return
    print(f"load before: {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores")
    with process(__file__, "--endpoint") as bare:
        command = ("-m", "loriner", "serve", "words=library:minimal", "--solver", f"{bare}::stub")
        with process(*command, "--port", "0") as served:
            rounds = [_round(bare, served, given.requests) for _ in range(given.rounds)]
    found = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    for name, value in found.items():
        print(f"{name:16} {value:8.1f} {'requests/s' if name.endswith('rate') else 'ms'}")
    added = statistics.median(each["served 1 p50"] - each["bare 1 p50"] for each in rounds)
    share = statistics.median(each["served 16 rate"] / each["bare 16 rate"] for each in rounds)
    print(f"added at p50 with one client: {added:.1f} ms (bar {ADDED_MS:g})")
    print(
        f"rate with 16 clients: {found['served 16 rate']:.0f}/s (bar {RATE:g}), {share:.2f} of the bare rate"
    )
    print(f"load after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
