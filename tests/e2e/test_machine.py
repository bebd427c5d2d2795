"""Machines as they are: encodings, a clock that is set back, settings of git, umasks, few open files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_complaints import SIZES, runs

from additions import additions
from command import Command, environment
from stub_server import Stub

BACK = """
import time
_real, _calls = time.time, [0]
def _set_back():
    _calls[0] += 1
    return _real() - (3600 if _calls[0] > 40 else 0)
time.time = _set_back
"""
"""Sets the clock of a process back by an hour, some calls after its start."""


def on(home: Path, *arguments: str, shell: str = "", **variables: str) -> subprocess.CompletedProcess[bytes]:
    """`loriner` as a process of its own, after some lines of shell and with further variables."""
    line = f'{shell} exec "$0" -m loriner "$@"'
    environment_ = {**environment(home), **variables}
    command = ["bash", "-c", line, sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, cwd=home.parent, env=environment_, check=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def asked(folder: Path, stub: Stub) -> list[str]:
    return ["adapt", str(folder), "--solver", stub.url, "--rounds", "1", *SIZES]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_no_encoding_of_the_output_loses_what_was_paid(
    home: Path, asked: list[str], folder: Path, encoding: str, tmp_path: Path
) -> None:
    with (folder / "task.toml").open("a", encoding="utf-8") as settings:
        settings.write('description = "Sums — ∑, é."\n')
    (tmp_path / "new.py").write_text("# ∑\ndef solve(model, question):\n    return '€'\n", encoding="utf-8")
    lines = [asked, ["tasks", "show", str(folder)], ["diff", "library:minimal", "new.py"]]
    lines += [["propose", *asked[1:4]], ["show", "new.py"]]
    for line in lines:
        done = on(home, *line, PYTHONIOENCODING=encoding)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout and b"Traceback" not in done.stderr
    shown = on(home, "tasks", "show", str(folder), "--json", PYTHONIOENCODING=encoding)
    assert json.loads(shown.stdout.decode(encoding))["description"] == "Sums — ∑, é."


def test_a_clock_that_is_set_back_lengthens_and_shortens_no_run(
    loriner: Command, home: Path, asked: list[str], tmp_path: Path
) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "sitecustomize.py").write_text(BACK)
    done = on(home, *asked, "--json", PYTHONPATH=str(tmp_path / "odd"))
    assert done.returncode == 0, done.stderr.decode()
    assert 0 < json.loads(done.stdout)["usage"]["seconds"] < 600
    assert 0 < runs(loriner)[0]["usage"]["seconds"] < 600


@pytest.mark.parametrize("kind", ["folder", "broken", "loop"])
def test_the_registry_needs_no_git_settings_of_the_person(
    home: Path, asked: list[str], tmp_path: Path, kind: str
) -> None:
    own = tmp_path / "person" / ".gitconfig"
    own.parent.mkdir()
    match kind:
        case "folder":
            own.mkdir()
        case "broken":
            own.write_bytes(b"[user\nname = \xff\x00")
        case _:
            own.symlink_to(own)
    done = on(home, *asked, HOME=str(own.parent))
    assert done.returncode == 0, done.stderr.decode()
    log = subprocess.run(
        ["git", "-C", str(home / "registry"), "log", "--oneline", "tasks/sums"], capture_output=True
    )
    assert log.returncode == 0 and len(log.stdout.splitlines()) == 2


def test_nothing_that_is_kept_can_be_written_by_everyone(home: Path, asked: list[str]) -> None:
    assert on(home, *asked, shell="umask 0;").returncode == 0
    kept = [home, *home.rglob("*")]
    assert [path for path in kept if path.lstat().st_mode & 0o002] == []
    assert any(path.stat().st_mode & 0o020 for path in kept)  # a group may share it, where its umask says so


@pytest.mark.parametrize(("limit", "told"), [("-Sn", False), ("-n", True)])
def test_few_open_files_make_fewer_trials_at_once_and_no_failure(
    home: Path, tmp_path: Path, stub: Stub, limit: str, told: bool
) -> None:
    folder, stub.delay_s = additions(tmp_path, 300), 0.2
    done = on(home, "evaluate", str(folder), "--solver", stub.url, "--json", shell=f"ulimit {limit} 64;")
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["infra_errors"] == 0
    note = "note: 6 trials run at once, not 64: this process may open few files (ulimit -n)"
    assert (note in done.stderr.decode()) is told


@pytest.mark.parametrize(
    ("line", "code", "kind", "words"),
    [
        ("evaluate nowhere --solver scripted:echo", 2, "TaskError", "nowhere"),
        ("evaluate sums --solver scripted:echo --limit x", 2, "UsageError", "'--limit'"),
        ("evaluate sums --no-such-option", 2, "UsageError", "No such option"),
        ("runs show 2026 --home gone", 2, "ConfigError", "no store at gone"),
        ("evaluate sums --limit 1 --solver http://127.0.0.1:9/v1::none", 3, "", "127.0.0.1:9"),
        (
            "evaluate sums --solver STUB --max-calls 3",
            4,
            "BudgetReached",
            "To resume: loriner evaluate --resume",
        ),
        ("runs list --home damaged", 6, "StoreError", "no SQLite database"),
    ],
)
def test_an_error_is_one_json_document_too(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path, line: str, code: int, kind: str, words: str
) -> None:
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "loriner.db").write_bytes(os.urandom(8192))
    done = loriner(*line.replace("STUB", stub.url).split(), "--json")
    assert done.returncode == code, done.stderr
    error = json.loads(done.stdout)["error"]
    assert error["exit_code"] == code and words in error["message"] and kind in error["kind"]
    assert "error" in done.stderr.lower()  # for people, as without --json
