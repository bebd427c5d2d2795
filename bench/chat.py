"""Calls a second and CPU a call of the chat client, beside the openai SDK, against a stub on the loopback.

    python bench/chat.py [--calls 2000] [--rounds 5] [--in-flight 64]

The stub is a process of its own that answers every request with the same 1.6 kB completion, so CPU is the
client's alone. Rounds of the two clients alternate; figures are medians over rounds, ratios are medians of
the rounds' ratios. Bars: at most 0.5 ms CPU a call, and at least 1,000 calls a second.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import multiprocessing
import statistics
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection

from loriner.models.base import Message, ModelRequest
from loriner.models.chat import ChatModel

PROMPT = "How many primes are there between 10 and 50? " * 8
BARS = {"cpu_ms": 0.5, "calls_s": 1000.0}

Ask = Callable[[int], Awaitable[str]]


def stub(ready: Connection) -> None:
    """Serves the completion until it is ended; sends its port first."""
    body = json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "stub",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x" * 1300}}
            ],
            "usage": {"prompt_tokens": 90, "completion_tokens": 325, "total_tokens": 415},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    reply = head.encode() + body

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                header = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = header.split(b"content-length:")[1].split(b"\r\n")[0]
                await reader.readexactly(int(length))
                writer.write(reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


async def measure(ask: Ask, n_calls: int, n_in_flight: int) -> dict[str, float]:
    """CPU ms a call and calls a second of `n_calls`, so many at once."""
    numbers = iter(range(n_calls))

    async def worker() -> None:
        for n in numbers:
            assert len(await ask(n)) == 1300

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(n_in_flight)))
    cpu_s, wall_s = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu_ms": 1000 * cpu_s / n_calls, "calls_s": n_calls / wall_s}


async def compare(
    base_url: str, n_calls: int, n_rounds: int, n_in_flight: int
) -> dict[str, list[dict[str, float]]]:
    """The rounds of each client, by its name."""
    model = ChatModel(base_url, "stub")

    async def ours(seed: int) -> str:
        return (await model.complete(ModelRequest(messages=(Message("user", PROMPT),), seed=seed))).text

    clients: dict[str, Ask] = {"loriner": ours}
    if importlib.util.find_spec("openai"):
        from openai import AsyncOpenAI

        sdk = AsyncOpenAI(base_url=base_url, api_key="none")

        async def theirs(seed: int) -> str:
            reply = await sdk.chat.completions.create(
                model="stub",
                messages=[{"role": "user", "content": PROMPT}],
                temperature=0,
                max_tokens=512,
                seed=seed,
            )
            return reply.choices[0].message.content or ""

        clients["openai"] = theirs
    for ask in clients.values():
        await measure(ask, n_in_flight, n_in_flight)
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in clients}
    for _ in range(n_rounds):
        for name, ask in clients.items():
            rounds[name].append(await measure(ask, n_calls, n_in_flight))
    await model.close()
    return rounds


def report(rounds: dict[str, list[dict[str, float]]]) -> None:
    for name, each in rounds.items():
        cpu_ms, calls_s = (statistics.median(one[key] for one in each) for key in ("cpu_ms", "calls_s"))
        print(f"{name:8}  {cpu_ms:6.3f} ms CPU a call  {calls_s:7.0f} calls/s")
    if "openai" in rounds:
        pairs = list(zip(rounds["openai"], rounds["loriner"], strict=True))
        cpu = statistics.median(sdk["cpu_ms"] / own["cpu_ms"] for sdk, own in pairs)
        rate = statistics.median(own["calls_s"] / sdk["calls_s"] for sdk, own in pairs)
        print(f"openai / loriner: {cpu:.1f}x the CPU; loriner / openai: {rate:.1f}x the calls")
    own = rounds["loriner"]
    met = statistics.median(one["cpu_ms"] for one in own) <= BARS["cpu_ms"]
    fast = statistics.median(one["calls_s"] for one in own) >= BARS["calls_s"]
    print(f"bar of {BARS['cpu_ms']} ms CPU {'met' if met else 'MISSED'}; ", end="")
    print(f"bar of {BARS['calls_s']:.0f} calls/s {'met' if fast else 'MISSED'}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--in-flight", type=int, default=64)
    options = parser.parse_args()
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=stub, args=(there,), daemon=True)
    server.start()
    try:
        base_url = f"http://127.0.0.1:{here.recv()}/v1"
        report(asyncio.run(compare(base_url, options.calls, options.rounds, options.in_flight)))
    finally:
        server.terminate()


if __name__ == "__main__":
    main()
