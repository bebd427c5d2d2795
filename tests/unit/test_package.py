"""An exported harness runs with plain Python, without this package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from loriner.errors import ConfigError
from loriner.records import Harness
from loriner.store.package import export_harness

WORDS = Harness(
    "from tools import run_python\n\n\n"
    "def solve(model, question):\n"
    "    reply = model(question, system='Count.')\n"
    "    return run_python('print(' + repr(reply) + '.split()[-1])').strip()\n"
)
TALKER = Harness(
    "try:\n    from tools import search\nexcept ImportError:\n    search = None\n\n\n"
    "def solve(model, question):\n"
    "    first = model.chat([{'role': 'user', 'content': question}], max_tokens=9, stop='.')\n"
    "    more = model.batch(['a', 'b'], temperature=0.5)\n"
    "    return [first, more, model(question, n=2), search is None]\n"
)


def run(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs code in the folder with a Python that sees the standard library and the folder alone."""
    alone = f"import sys; sys.path.insert(0, {str(folder)!r})\n{code}"
    command = [sys.executable, "-I", "-S", "-c", alone]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


class Server(BaseHTTPRequestHandler):
    """Speaks the OpenAI protocol; replies with the last message, and keeps what it was asked."""

    asked: list[tuple[str, dict[str, Any]]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body))
        reply = {"choices": [{"message": {"content": "you said " + body["messages"][-1]["content"]}}]}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(reply).encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    Server.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_it_runs_with_any_callable_and_without_this_package(tmp_path: Path) -> None:
    written = export_harness(WORDS, tmp_path / "out")
    assert {path.name for path in written} == {"harness.py", "tools.py", "run_me.py", "README.md"}
    assert (tmp_path / "out" / "harness.py").read_text() == WORDS.source
    done = run(
        tmp_path / "out",
        "from harness import solve\n"
        "print(solve(lambda prompt, **_: 'the answer is ' + prompt, '42'))\n"
        "print('loriner' in sys.modules)\n"
        "try:\n    import loriner\nexcept ImportError:\n    print('nowhere')\n",
    )
    assert done.stdout == "42\nFalse\nnowhere\n", done.stderr


def test_run_me_asks_an_openai_compatible_server(tmp_path: Path, server: ThreadingHTTPServer) -> None:
    export_harness(WORDS, tmp_path)
    environment = {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1", "MODEL": "small"}
    command = [sys.executable, "run_me.py", "How many? 17"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("17\n", "")
    messages = [{"role": "system", "content": "Count."}, {"role": "user", "content": "How many? 17"}]
    request = {"model": "small", "messages": messages, "temperature": 0.0, "max_tokens": 512}
    assert Server.asked == [("/v1/chat/completions", request)]


def test_the_whole_model_interface_is_there(tmp_path: Path, server: ThreadingHTTPServer) -> None:
    export_harness(TALKER, tmp_path)
    code = "import json, run_me, harness\nprint(json.dumps(harness.solve(run_me.Model(), 'q')))"
    done = run(tmp_path, code, OPENAI_BASE_URL=f"http://127.0.0.1:{server.server_port}/v1")
    assert json.loads(done.stdout) == ["you said q", ["you said a", "you said b"], ["you said q"] * 2, True]
    assert Server.asked[0][1]["stop"] == ["."] and Server.asked[0][1]["max_tokens"] == 9
    assert "asks for 'search'" in done.stderr, "a missing tool is said aloud"


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("print(1 + 1)", "2\n"),
        ("print('so far')\n1 / 0", "so far\nError: ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(3)", "Error: exit code 3"),
        ("def", "Error: SyntaxError: invalid syntax"),
        ("import os; print(os.environ.get('OPENAI_API_KEY'))", "None\n"),
        ("import time; time.sleep(60)", "Error: timeout"),
    ],
)
def test_run_python_tells_what_the_code_did(tmp_path: Path, code: str, wanted: str) -> None:
    export_harness(WORDS, tmp_path)
    limit = "import tools; tools.TIMEOUT_S = 1.5 if 'sleep' in code else 60"
    script = f"import json\ncode = {code!r}\n{limit}\nprint(json.dumps(tools.run_python(code)))"
    done = run(tmp_path, script, OPENAI_API_KEY="secret", PATH=os.environ["PATH"])
    assert json.loads(done.stdout) == wanted


def test_another_harness_is_not_overwritten(tmp_path: Path) -> None:
    export_harness(WORDS, tmp_path)
    export_harness(WORDS, tmp_path)
    with pytest.raises(ConfigError, match="another harness"):
        export_harness(TALKER, tmp_path)
    assert (tmp_path / "harness.py").read_text() == WORDS.source
