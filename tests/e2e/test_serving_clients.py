"""Frameworks as clients of `serve`, with their own packages: none of them knows that it is not OpenAI."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from serving import Server, Streaming, programs, serving
from stub_server import serving as stubbed

pytestmark = pytest.mark.xdist_group("serving")

CLIENTS = {
    "dspy": """
import dspy
lm = dspy.LM("openai/echo", api_base=url, api_key="none", cache=False)
found = lm("2 + 2")[0]
found = found if isinstance(found, str) else found["text"]
""",
    "langchain_openai": """
from langchain_openai import ChatOpenAI
model = ChatOpenAI(model="echo", base_url=url, api_key="none")
found = model.invoke("2 + 2").content
streamed = "".join(each.content for each in model.stream("2 + 2"))
assert streamed == found, streamed
""",
    "agents": """
from agents import Agent, Runner, set_default_openai_client, set_tracing_disabled
from openai import AsyncOpenAI
set_tracing_disabled(True)
set_default_openai_client(AsyncOpenAI(base_url=url, api_key="none"), use_for_tracing=False)
found = Runner.run_sync(Agent(name="a", model="echo"), "2 + 2").final_output
""",
}
"""Each a script that leaves the answer to `2 + 2` in `found`, by the package that it needs."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("clients")
    programs(folder)
    with (
        stubbed(Streaming(mind=lambda prompt: f"<{prompt}>")) as stub,
        serving(folder, "echo=echo.py", "--solver", stub.url) as server,
    ):
        yield server


@pytest.mark.parametrize("package", CLIENTS)
def test_a_framework_gets_the_answer_of_the_harness(server: Server, tmp_path: Path, package: str) -> None:
    if find_spec(package) is None:
        pytest.skip(f"could not import '{package}'")
    script = f"import json\nurl = {server.url!r}\n{CLIENTS[package]}\nprint(json.dumps(found))\n"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=240, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == "adapted: <2 + 2>"
    assert 'loriner_requests_total{model="echo",outcome="harness"}' in server.get("/metrics")
