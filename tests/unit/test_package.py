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
from loriner.store.harness_folder import export_harness

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
    package = export_harness(WORDS, tmp_path / "out")
    assert {path.name for path in package.paths} == {"harness.py", "tools.py", "run_me.py", "README.md"}
    assert (package.kept, package.missing) == ((), ())
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


@pytest.mark.parametrize("name", ["tools.py", "run_me.py", "README.md"])
def test_what_was_changed_beside_the_harness_is_kept_and_named(tmp_path: Path, name: str) -> None:
    export_harness(WORDS, tmp_path)
    with (tmp_path / name).open("a", encoding="utf-8") as file:
        file.write("# MINE\n")
    before = (tmp_path / name).read_bytes()
    (tmp_path / "harness.py").unlink()
    package = export_harness(TALKER, tmp_path)
    assert package.kept == (tmp_path / name,)
    assert (tmp_path / name).read_bytes() == before
    assert (tmp_path / "harness.py").read_text() == TALKER.source


USER = "def solve(model, question):\n    return lookup(question)\n"


@pytest.mark.parametrize(
    ("head", "missing"),
    [
        ("from tools import lookup, run_python\n", ("lookup",)),
        ("from tools import (run_python as lookup,\n    done)\n", ("done",)),
        ("try:\n    from tools import search\nexcept ImportError:\n    search = None\n", ("search",)),
        ("import tools as box\nlookup = box.lookup\nprint(box.TIMEOUT_S)\n", ("lookup",)),
        ("from tools import *\nfrom toolset import lookup\nimport sys\nsys.exit\n", ()),
    ],
)
def test_tools_that_the_harness_wants_and_the_folder_lacks_are_named(
    tmp_path: Path, head: str, missing: tuple[str, ...]
) -> None:
    assert export_harness(Harness(head + USER), tmp_path).missing == missing


@pytest.mark.parametrize(
    "written",
    [
        "def lookup(question):\n    return question\n",
        "try:\n    from elsewhere import find as lookup\nexcept ImportError:\n    lookup = None\n",
        "from elsewhere import *\n",
        "def what(\n",
    ],
)
def test_a_tool_that_the_user_wrote_is_not_missing(tmp_path: Path, written: str) -> None:
    harness = Harness("from tools import lookup\n" + USER)
    package = export_harness(harness, tmp_path)
    assert package.missing == ("lookup",)
    package.tools.write_text(written)
    again = export_harness(harness, tmp_path)
    assert (again.missing, again.kept) == ((), (package.tools,))


class Odd(BaseHTTPRequestHandler):
    """Answers with one status and one body."""

    status, body = 200, b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (
            200,
            b"<!DOCTYPE html>\n<html>Sign in</html>",
            "status 200 and no chat completion: '<!DOCTYPE html> <html>",
        ),
        (401, b'{"error": "no key"}', 'status 401 and no chat completion: \'{"error": "no key"}\''),
        (200, b'{"choices": []}', "no chat completion: '{\"choices\": []}'"),
        (200, b"\xff\xfe", "no chat completion"),
        (500, b"", "status 500"),
    ],
)
def test_run_me_tells_of_another_answer_in_one_line(
    tmp_path: Path, status: int, body: bytes, told: str
) -> None:
    export_harness(WORDS, tmp_path)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Told", (Odd,), {"status": status, "body": body}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        done = run_me(tmp_path, f"http://127.0.0.1:{server.server_port}/v1")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert_one_line(done, told)
    assert f":{server.server_port}/v1/chat/completions for a reply of 'small'" in done.stderr


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://127.0.0.1:9/v1", "refused"),
        ("localhost:8000/v1", "unknown url type"),
        ("http://localhost:port/v1", "port"),
        ("http://127.0.0.1:9/v1 ", "control characters"),
    ],
)
def test_run_me_tells_of_a_server_that_is_not_there_in_one_line(tmp_path: Path, url: str, told: str) -> None:
    export_harness(WORDS, tmp_path)
    assert_one_line(run_me(tmp_path, url), told)


def run_me(folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    environment = {"OPENAI_BASE_URL": url, "MODEL": "small"}
    command = [sys.executable, "run_me.py", "How many?"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def assert_one_line(done: subprocess.CompletedProcess[str], told: str) -> None:
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1 and told in done.stderr
    assert "OPENAI_BASE_URL must be" in done.stderr


SHOTS = Harness(
    "from tools import examples\n\n\ndef solve(model, question):\n    return examples(question, 2)\n"
)
PAIRS = [("A cat sat", "cat"), ("A dög ran\u2028away", "dog")]


def test_examples_stand_beside_the_harness_that_uses_them(tmp_path: Path) -> None:
    package = export_harness(SHOTS, tmp_path, PAIRS)
    assert package.missing == package.kept == ()
    assert {path.name for path in package.paths} >= {"nearest.py", "examples.jsonl"}
    done = run(tmp_path, "import json, harness\nprint(json.dumps(harness.solve(None, 'which dög ran?')))")
    assert json.loads(done.stdout) == [
        {"question": question, "answer": answer} for question, answer in PAIRS[::-1]
    ], done.stderr


def test_examples_are_not_written_for_a_harness_that_has_no_use_for_them(tmp_path: Path) -> None:
    names = {path.name for path in export_harness(WORDS, tmp_path, PAIRS).paths}
    assert names == {"harness.py", "tools.py", "run_me.py", "README.md"}


def test_an_export_with_examples_completes_one_without_and_keeps_what_was_changed(tmp_path: Path) -> None:
    assert export_harness(SHOTS, tmp_path).missing == ("examples",)
    assert export_harness(SHOTS, tmp_path, PAIRS).missing == ()
    again = export_harness(SHOTS, tmp_path)
    assert again.missing == again.kept == (), "one without takes no examples away"
    (tmp_path / "examples.jsonl").write_text('{"question": "mine", "answer": "own"}\n')
    assert export_harness(SHOTS, tmp_path, PAIRS).kept == (tmp_path / "examples.jsonl",)
    with (tmp_path / "tools.py").open("a") as file:
        file.write("# MINE\n")
    assert tmp_path / "tools.py" in export_harness(SHOTS, tmp_path, PAIRS).kept
