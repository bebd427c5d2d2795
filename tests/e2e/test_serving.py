"""`serve`: harnesses behind the OpenAI protocol, as a real process with the real SDK."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from additions import additions
from command import Command
from loriner.records import Harness, Version
from loriner.store.commit_message import Evidence
from loriner.store.registry import Registry
from serving import PROGRAMS, Server, Streaming, alive, programs, serving, until
from stub_server import serving as stubbed

pytestmark = pytest.mark.xdist_group("serving")
KEY = "sk-never-to-be-seen"
LIMITS = ("--set", "limits.cpu_s=1", "--set", "limits.wall_s=2")


@pytest.fixture(scope="module")
def stub() -> Iterator[Streaming]:
    with stubbed(Streaming(mind=lambda prompt: f"<{prompt}>")) as stub:
        yield stub  # type: ignore[misc]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, stub: Streaming) -> Path:
    folder = tmp_path_factory.mktemp("served")
    base_url, _, model = stub.url.partition("::")
    (folder / "loriner.toml").write_text(
        f'[models.small]\nbase_url = "{base_url}"\nmodel = "{model}"\napi_key_env = "SOLVER_KEY"\n'
    )
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    words = programs(folder)
    with serving(folder, *words, "--solver", "small", *LIMITS, SOLVER_KEY=KEY) as server:
        yield server
    assert server.process.returncode == 0
    assert server.errors.read_text() == "", "nothing of what is asked and answered is logged"


@pytest.fixture
def client(server: Server) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.url, api_key="the client's own", max_retries=0) as client:
        yield client


def ask(question: str) -> list[Any]:
    return [{"role": "user", "content": question}]


def test_the_sdk_gets_the_answer_of_the_harness(client: OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(model="echo", messages=ask("2 + 2"))
    found = raw.parse()
    assert raw.headers["X-Loriner"] == "harness"
    assert raw.headers["X-Loriner-Harness"] == Harness(PROGRAMS["echo"]).id[:12]
    assert found.choices[0].message.content == "adapted: <2 + 2>"
    assert found.usage is not None and found.usage.total_tokens == 25
    assert found.model == "echo"


def test_it_is_streamed_with_usage_where_that_is_asked(client: OpenAI) -> None:
    stream = client.chat.completions.create(
        model="echo", messages=ask("hi"), stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert "".join(each.choices[0].delta.content or "" for each in chunks if each.choices) == "adapted: <hi>"
    assert chunks[-1].usage is not None and chunks[-1].usage.prompt_tokens == 20
    assert [each.choices[0].finish_reason for each in chunks if each.choices] == [None, "stop"]


def test_responses_give_the_same_whole_and_streamed(client: OpenAI) -> None:
    whole = client.responses.create(model="echo", input="hi", instructions="Be short.")
    assert whole.output_text == "adapted: <Be short.\n\nhi>"
    assert whole.usage is not None and whole.usage.total_tokens == 25
    with client.responses.stream(model="echo", input="hi") as stream:
        text = "".join(each.delta for each in stream if each.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert text == final.output_text == "adapted: <hi>"


def test_text_in_parts_and_a_system_message_are_one_question(client: OpenAI) -> None:
    parts: Any = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages: Any = [{"role": "system", "content": "S"}, {"role": "user", "content": parts}]
    found = client.chat.completions.create(model="hands", messages=messages)
    assert found.choices[0].message.content == "S\n\nab"


TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
IMAGE = [{"type": "text", "text": "?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}]


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [TOOL]},
        {"n": 2},
        {"logprobs": True},
        {"response_format": {"type": "json_object"}},
        {"messages": [*ask("a"), {"role": "assistant", "content": "b"}, *ask("c")]},
        {"messages": [{"role": "user", "content": IMAGE}]},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_is_no_single_question_reaches_the_solver_as_it_is(
    server: Server, stub: Streaming, more: dict[str, Any]
) -> None:
    body = {"model": "echo", "messages": ask("hi"), "temperature": 0.3, "user": "someone", **more}
    status, headers, _ = server.post("chat/completions", body)
    assert (status, headers["X-Loriner"]) == (200, "pass")
    assert stub.calls[-1] == {**body, "model": "stub"}


def test_the_solver_has_a_name_too_and_streams_by_itself(client: OpenAI, stub: Streaming) -> None:
    assert [each.id for each in client.models.list()] == [*PROGRAMS, "stub"]
    stream = client.chat.completions.create(model="stub", messages=ask("hi"), stream=True)
    texts = [each.choices[0].delta.content for each in stream]
    assert texts == ["from ", "the solver"]
    assert stub.keys[-1] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("name", "why"), [("crashes", "crashed"), ("silent", "no_answer"), ("loops", "timeout")]
)
def test_a_harness_that_fails_is_answered_by_the_solver(server: Server, name: str, why: str) -> None:
    status, headers, body = server.ask(name, "hi")
    assert (status, headers["X-Loriner"]) == (200, f"fallback {why}")
    assert body["choices"][0]["message"]["content"] == "<hi>"
    status, headers, body = server.post("responses", {"model": name, "input": "hi"})
    assert (status, headers["X-Loriner"]) == (200, f"fallback {why}")
    assert body["output"][0]["content"][0]["text"] == "<hi>"


def test_a_streamed_fallback_is_the_solver_s_own_stream(client: OpenAI) -> None:
    stream = client.chat.completions.create(model="crashes", messages=ask("hi"), stream=True)
    assert [each.choices[0].delta.content for each in stream] == ["from ", "the solver"]


def test_a_streamed_answer_that_takes_long_is_kept_alive(server: Server, stub: Streaming) -> None:
    stub.delay_s = 6.0
    try:
        status, headers, text = server.ask("echo", "hi", stream=True)
    finally:
        stub.delay_s = 0.0
    assert (status, headers["X-Loriner"]) == (200, "pending")
    assert text.startswith(": keep-alive\n\ndata: ") and "adapted: <hi>" in text


def test_the_harness_never_sees_a_key(server: Server) -> None:
    _, headers, body = server.ask("spy", "what do you see?")
    assert headers["X-Loriner"] == "harness"
    assert KEY not in json.dumps(body) and "SOLVER_KEY" not in json.dumps(body)


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"{", 400, "not JSON"),
        (b"\xff", 400, "not JSON"),
        (b"[]", 400, "`model`"),
        (b'{"model": 3}', 400, "`model`"),
        (b'{"model": "ech", "messages": []}', 404, "there are echo"),
    ],
)
def test_a_request_that_cannot_be_read_is_refused_in_words(
    server: Server, body: bytes, status: int, says: str
) -> None:
    found, _, refused = server.post("chat/completions", body)
    assert found == status and says in refused["error"]["message"]


def test_a_page_of_the_web_cannot_ask(server: Server) -> None:
    body = {"model": "echo", "messages": ask("hi")}
    assert server.post("chat/completions", body, **{"Content-Type": "text/plain"})[0] == 415
    assert server.post("chat/completions", body, Host="evil.example:80")[0] == 403


def test_metrics_and_health_say_what_happened(server: Server) -> None:
    server.ask("echo", "hi")
    server.ask("crashes", "hi")
    text = server.get("/metrics")
    assert 'loriner_requests_total{model="crashes",outcome="fallback crashed"}' in text
    assert 'loriner_request_seconds_bucket{model="echo",le="+Inf"}' in text
    assert "loriner_requests_in_flight 0\n" in text
    health = server.get("/health")
    assert health["status"] == "ok" and health["harnesses"]["echo"]["version"] == "echo.py"


def test_a_client_that_hangs_up_leaves_nothing_behind(server: Server, stub: Streaming) -> None:
    before, n_calls = server.tree(), len(stub.calls)
    stub.delay_s = 30.0
    try:
        host, port = server.url.split("/")[2].split(":")
        body = json.dumps({"model": "echo", "messages": ask("hi")})
        with socket.create_connection((host, int(port))) as connection:
            head = f"Host: {host}:{port}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
            connection.sendall(f"POST /v1/chat/completions HTTP/1.1\r\n{head}\r\n\r\n{body}".encode())
            assert until(lambda: len(stub.calls) > n_calls and len(server.tree()) > len(before))
        assert until(lambda: "loriner_requests_in_flight 0\n" in server.get("/metrics"))
        assert until(lambda: server.tree() <= before)
    finally:
        stub.delay_s = 0.0
    assert 'model="echo",outcome="lost"} 1' in server.get("/metrics")


def test_a_child_that_is_killed_is_run_again(server: Server, stub: Streaming) -> None:
    """The harness waits for the model when its process is killed from outside."""
    before, n_calls = server.tree(), len(stub.calls)
    stub.delay_s = 1.5
    try:
        asked = asyncio.run(_killed_meanwhile(server, stub, before, n_calls))
    finally:
        stub.delay_s = 0.0
    assert asked[0] == 200 and asked[1]["X-Loriner"] in ("harness", "fallback crashed")
    assert server.ask("echo", "again")[1]["X-Loriner"] == "harness"
    assert until(lambda: server.tree() <= before)


async def _killed_meanwhile(server: Server, stub: Streaming, before: set[int], n_calls: int) -> Any:
    asking = asyncio.create_task(asyncio.to_thread(server.ask, "echo", "hi"))
    assert await asyncio.to_thread(until, lambda: len(stub.calls) > n_calls)
    for pid in server.tree() - before:
        os.kill(pid, signal.SIGKILL)
    return await asking


# Servers of their own


def test_a_dead_solver_is_503_and_a_later_try_succeeds(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{free.getsockname()[1]}/v1::small"
    programs(tmp_path)
    with serving(tmp_path, "echo=echo.py", "hands=hands.py", "--solver", dead) as server:
        for status, headers, body in (server.ask("echo", "hi"), server.ask("small", "hi")):
            assert (status, headers["Retry-After"]) == (503, "2")
            assert body["error"]["code"] == "unavailable"
        assert server.ask("hands", "needs no solver")[0] == 200


def test_a_server_that_is_killed_leaves_no_process(tmp_path: Path, stub: Streaming) -> None:
    programs(tmp_path)
    with serving(tmp_path, "echo=echo.py", "--solver", stub.url) as server:
        server.ask("echo", "hi")
        below = server.tree() - {server.process.pid}
        assert below
        server.process.kill()
        assert until(lambda: not alive(below))


def test_a_new_best_is_swapped_in_and_tools_are_those_of_the_task(tmp_path: Path, stub: Streaming) -> None:
    task = additions(tmp_path)
    home = tmp_path / "home"
    registry = Registry.open(home)
    seed = Harness("def solve(model, question):\n    return 'seed'\n")
    asks = "from tools import examples\n\n\ndef solve(model, question):\n    return str(len(examples(k=2)))\n"
    _commit(registry, seed, None, 0.1, 0)
    with serving(tmp_path, f"words=best@{task}", "--solver", stub.url) as server:
        assert server.ask("words", "hi")[2]["choices"][0]["message"]["content"] == "seed"
        _commit(registry, Harness(asks), seed.id, 0.9, 1)
        new = Harness(asks).id[:12]
        assert until(lambda: server.get("/health")["harnesses"]["words"]["harness"] == new)
        _, headers, body = server.ask("words", "hi")
        assert headers["X-Loriner-Harness"] == new
        assert body["choices"][0]["message"]["content"] == "2"
        assert 'loriner_swaps_total{model="words"} 1' in server.get("/metrics")


def _commit(registry: Registry, harness: Harness, parent: str | None, score: float, round: int) -> None:
    version = Version(
        harness_id=harness.id,
        parent_id=parent,
        episode_id="20260101-000000-abcd",
        round=round,
        revision=None,
        mean_score=score,
        accepted=True,
    )
    registry.commit(version, harness, task="sums", evidence=Evidence())


def test_a_canary_takes_its_share_and_a_log_is_kept_where_it_is_asked(
    tmp_path: Path, stub: Streaming
) -> None:
    programs(tmp_path)
    words = ("hands=hands.py", "new=echo.py", "--canary", "new:0.3", "--log", "log.jsonl")
    with serving(tmp_path, *words, "--solver", stub.url) as server:
        new = Harness(PROGRAMS["echo"]).id[:12]
        found = [server.ask("hands", f"question {i % 40}")[1]["X-Loriner-Harness"] == new for i in range(80)]
    assert found[:40] == found[40:], "equal questions go the same way"
    assert 4 <= sum(found[:40]) <= 20
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert len(rows) == 80 and rows[0]["question"] == "question 0" and rows[0]["answer"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "the reports are `loriner ui`"),
        ("words --solver scripted:echo", "'words' is not NAME=HARNESS"),
        ("w=library:minimal w=library:minimal --solver scripted:echo", "given twice"),
        ("w=library:minimal", "--solver"),
        ("w=library:minimal --solver scripted:echo --canary new:0.1", "must be served beside"),
        ("w=library:minimal --solver scripted:echo --canary new:2", "between 0 and 1"),
        ("w=library:minimal --solver scripted:echo --system no", "question or pass"),
        ("w=best@nothing --solver scripted:echo", "nothing"),
        ("w=best --solver scripted:echo", "no store"),
    ],
)
def test_a_wrong_line_is_refused_in_words(loriner: Command, line: str, says: str) -> None:
    done = loriner("serve", *line.split())
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1


def test_a_solver_in_the_process_takes_texts_and_says_what_it_cannot(tmp_path: Path) -> None:
    programs(tmp_path)
    with serving(tmp_path, "hands=hands.py", "--solver", "scripted:echo") as server:
        talk = [*ask("a"), {"role": "assistant", "content": "b"}, *ask("c")]
        status, headers, _ = server.post("chat/completions", {"model": "hands", "messages": talk})
        assert (status, headers["X-Loriner"]) == (200, "pass")
        status, _, body = server.ask("hands", "a", tools=[TOOL])
        assert status == 400 and "`tools`" in body["error"]["message"]
