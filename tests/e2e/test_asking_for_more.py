"""A program in its cage asks for more than texts: what it gets, and what is recorded of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import loriner as lo
from endpoint import completion, running
from loriner.store.database import Store

PROGRAM = """
import json

LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def solve(model, question):
    turns = [{"role": "user", "content": [{"type": "text", "text": question}, IMAGE]}]
    first = model.chat(turns, tools=[LOOK], logprobs=2)
    (call,) = first.tool_calls
    turns.append({"role": "assistant", "content": first, "tool_calls": first.tool_calls})
    turns.append({"role": "tool", "content": "a cat", "tool_call_id": call["id"]})
    second = model.chat(turns, response_format={"type": "json_object"})
    return json.dumps([call["name"], call["arguments"], first.logprobs[0]["token"], json.loads(second)])
"""
ANSWER = ["look", "{}", "hi", {"animal": "cat"}]


async def mind(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    if "grammar" in body:
        error = {"message": "Unknown parameter: grammar", "param": "grammar"}
        return web.json_response({"error": error}, status=400)
    if "tools" not in body:
        return web.json_response(completion(json.dumps({"animal": body["messages"][-1]["content"][2:]})))
    reply = completion("")
    function = {"name": "look", "arguments": "{}"}
    reply["choices"][0] |= {
        "message": {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]},
        "finish_reason": "tool_calls",
        "logprobs": {"content": [{"token": "hi", "logprob": -0.5, "top_logprobs": []}]},
    }
    return web.json_response(reply)


@pytest.fixture
def solver() -> Iterator[lo.Model]:
    with running(mind) as url:
        yield lo.Model(url, "m")


def task() -> Any:
    rows = [{"question": f"What is animal {n}?", "answer": json.dumps(ANSWER)} for n in range(10)]
    return lo.Task.from_data(rows, lambda item, answer: float(answer == item["answer"]), name="animals")


def test_it_comes_through_the_cage_and_is_recorded_and_remembered(solver: lo.Model, tmp_path: Path) -> None:
    harness = lo.Harness.from_text(PROGRAM)
    found = lo.evaluate(task(), harness, solver, limit=2, home=tmp_path)
    assert [each.answer for each in found.trials] == [json.dumps(ANSWER)] * 2
    with closing(Store.open(tmp_path)) as store:
        (run,) = store.runs()
        first, second = store.trials(run.id, with_calls=True)[0].calls
    assert first.request["further"]["top_logprobs"] == 2
    assert first.request["messages"][0]["content"][1]["type"] == "image_url"
    assert first.further["tool_calls"][0]["name"] == "look" and first.finish_reason == "tool_calls"
    assert second.request["further"] == {"response_format": {"type": "json_object"}}
    assert [each["role"] for each in second.request["messages"]] == ["user", "assistant", "tool"]
    again = lo.evaluate(task(), harness, solver, limit=2, home=tmp_path)
    assert [call.cached for each in again.trials for call in each.calls] == [True] * 4
    assert again.mean_score == 1.0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("model('Q', grammar='root ::= \"a\"')", "grammar"),
        ("model('Q', logprobs=99)", "logprobs must be an integer from 0 to 20, not 99"),
        ("model('Q', schema={})", "takes system, temperature, max_tokens, stop, n, response_format, grammar"),
        ("model('Q', tools=[{'type': 'web_search'}])", "tools has the wrong form"),
        (
            "model.chat([{'role': 'user', 'content': [{'type': 'image_url', 'image_url': {'url': 'http://a'}}]}])",
            "an image's url begins with data:",
        ),
        ("model.chat([{'role': 'robot', 'content': 'x'}])", "or tool with a tool_call_id, not 'robot'"),
    ],
)
def test_what_is_not_to_be_had_is_the_program_s_error(
    solver: lo.Model, tmp_path: Path, call: str, said: str
) -> None:
    program = (
        f"def solve(model, question):\n    try:\n        return {call}\n    except Exception as error:\n"
    )
    with lo.load(
        lo.Harness.from_text(program + "        return str(error)\n"), solver, home=tmp_path
    ) as ready:
        assert said in ready("Q")


def test_an_exported_program_asks_for_the_same(solver: lo.Model, tmp_path: Path) -> None:
    (tmp_path / "harness.py").write_text(PROGRAM)
    exported = files("loriner.store") / "exported" / "run_me.py"
    (tmp_path / "run_me.py").write_text(exported.read_text(encoding="utf-8"))
    ran = subprocess.run(
        [sys.executable, tmp_path / "run_me.py", "What is it?"],
        env={**os.environ, "OPENAI_BASE_URL": solver.url},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(ran.stdout) == ANSWER
