"""`reward serve`: a real process that scores completions, and the clients that trainers load."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from additions import additions
from command import Command
from loriner.harness.contract import from_library
from loriner.harness.rewrite import make_edits
from loriner.models.base import Message
from loriner.serving.clients import openrlhf, patient, trl, verl
from loriner.tasks.by_name import open_task
from loriner.train.exercise import Exercise, save
from makers import context
from serving import Server, serving
from stub_server import Stub
from stub_server import serving as stubbed

pytestmark = pytest.mark.xdist_group("serving")

SEED = from_library("minimal")
WRITES = (
    "from tools import run_python\n\n\n"
    "def solve(model, question):\n"
    "    reply = model(f'Write a ```python program. {question}')\n"
    "    return run_python(reply.split('```python')[1].split('```')[0]).strip()\n"
)
GOOD = f"Run a program.\n\n{make_edits(SEED.source, WRITES)}"


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    with stubbed(Stub()) as stub:
        yield stub


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task and two contexts of it, in `contexts.jsonl`."""
    folder = tmp_path_factory.mktemp("rewards")
    task = open_task(str(additions(folder)), home=folder)
    grade = tuple(each.id for each in task.questions("grade")[:4])
    shown = (Message("user", "Revise the program."),)
    one = Exercise(context=replace(context(harness=SEED), id="one"), messages=shown, grade=grade)
    two = replace(one, context=replace(one.context, id="two"))
    save([one, two], folder / "contexts.jsonl", {"sums": str(folder / "sums")})
    return folder


@pytest.fixture(scope="module")
def server(folder: Path, stub: Stub) -> Iterator[Server]:
    with serving(folder, "contexts.jsonl", "--solver", stub.url, command=("reward", "serve")) as server:
        yield server
    assert server.process.returncode == 0


def test_a_good_edit_earns_all_and_prose_nothing(server: Server) -> None:
    status, _, row = server.post("score", {"context": "one", "completion": GOOD})
    assert status == 200
    assert row == {
        "reward": pytest.approx(1.3),
        "score": 1.0,
        "parsed": True,
        "applied": True,
        "completion_rate": 1.0,
        "code": None,
    }
    status, _, row = server.post("score", {"context": "one", "completion": "I would not change it."})
    assert (status, row["reward"], row["code"]) == (200, 0.0, "no_edit_block")


def test_asked_again_it_says_the_same_and_asks_no_solver(server: Server, stub: Stub) -> None:
    first = server.post("score", {"context": "two", "completion": GOOD})[2]
    n_calls = len(stub.calls)
    rows = [{"context": "two", "completion": GOOD}, {"context": "one", "completion": GOOD}]
    assert server.post("score", {"rows": rows})[2]["rows"][0] == first
    assert len(stub.calls) == n_calls


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "JSON"),
        (b"[]", "JSON object"),
        (b'{"rows": {}}', "list of objects"),
        (b'{"context": "three", "completion": ""}', "no context 'three'"),
        (b'{"context": "one"}', "not a text"),
    ],
)
def test_what_cannot_be_scored_is_refused_and_earns_nothing(server: Server, body: bytes, says: str) -> None:
    status, _, refused = server.post("score", body)
    if body.startswith(b"[["):
        says = "nested" if "nested" in refused["error"]["message"] else says
    assert status == 400 and says in refused["error"]["message"]


def test_contexts_and_health_are_listed(server: Server) -> None:
    assert server.get("/contexts")[1] == {
        "context": "two",
        "messages": [{"role": "user", "content": "Revise the program."}],
    }
    assert server.get("/health")["contexts"] == 2


def test_every_trainer_s_client_gets_the_reward(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LORINER_REWARD_URL", server.url)
    talk = [[{"role": "assistant", "content": GOOD}], [{"role": "assistant", "content": "no"}]]
    assert asyncio.run(trl.reward(completions=talk, context=["one", "two"])) == [pytest.approx(1.3), 0.0]
    row = asyncio.run(verl.compute_score("loriner", GOOD, "one", extra_info={}))
    assert row["score"] == pytest.approx(1.3) and row["applied"] == 1.0
    made = openrlhf.reward_func([f"P{GOOD}", "Pno"], ["P", "P"], ["one", "two"])
    assert made["rewards"] == [pytest.approx(1.3), 0.0] and made["extra_logs"]["applied"] == [1.0, 0.0]
    body = {"query": [f"P{GOOD}"], "prompts": ["P"], "labels": ["one"]}
    assert server.post("openrlhf", body)[2]["rewards"] == [pytest.approx(1.3)]
    assert server.post("openrlhf", {**body, "prompts": ["Q"]})[0] == 400


def test_a_refusal_and_a_service_that_is_away_stop_a_trainer(server: Server) -> None:
    with pytest.raises(patient.NoReward, match="no context"):
        patient.scored("nowhere", GOOD, server.url)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(patient.NoReward, match="no reward for 0 s"):
        patient.scored("one", GOOD, away, patience_s=0)


def test_a_context_always_goes_to_the_same_replica() -> None:
    urls = "http://a:1/, http://b:1"
    found = [patient.replica(f"context {n}", urls) for n in range(100)]
    assert found == [patient.replica(f"context {n}", urls) for n in range(100)]
    assert set(found) == {"http://a:1", "http://b:1"} and 30 < found.count("http://a:1") < 70


def test_a_solver_that_is_away_is_503_and_never_a_zero(folder: Path) -> None:
    with (
        stubbed(Stub(status=lambda number, prompt: 401)) as stub,
        serving(folder, "contexts.jsonl", "--solver", stub.url, command=("reward", "serve")) as server,
    ):
        status, headers, body = server.post("score", {"context": "one", "completion": GOOD})
        assert (status, headers["Retry-After"]) == (503, "2") and "reward" not in body
        stub.status = lambda number, prompt: 200
        row: Any = patient.scored("one", GOOD, server.url, patience_s=30)
        assert row["reward"] == pytest.approx(1.3)


def test_other_machines_need_a_token(folder: Path, stub: Stub, loriner: Command) -> None:
    line = ("reward", "serve", "contexts.jsonl", "--solver", stub.url, "--host", "0.0.0.0")
    done = loriner(*(str(folder / each) if each.endswith("jsonl") else each for each in line))
    assert done.returncode == 2 and "set LORINER_TOKEN" in done.stderr
    rest = ("contexts.jsonl", "--solver", stub.url)
    with serving(folder, *rest, command=("reward", "serve"), LORINER_TOKEN="secret") as server:
        body = {"context": "one", "completion": "no"}
        assert server.post("score", body)[0] == 401
        assert server.post("score", body, Authorization="Bearer secret")[0] == 200
