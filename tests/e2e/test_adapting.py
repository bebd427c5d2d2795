"""`adapt` from the command line to its document: gain, refusal, infrastructure, interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from command import Command
from stub_server import Stub


def adapt(loriner: Command, folder: Path, stub: Stub, *more: str) -> subprocess.CompletedProcess[str]:
    return loriner(
        "adapt",
        str(folder),
        "--solver",
        stub.url,
        "--rounds",
        "2",
        "-k",
        "2",
        "--grade",
        "20",
        "--json",
        *more,
    )


def test_a_program_that_runs_programs_is_found_and_accepted(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    done = adapt(loriner, folder, stub)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["seed"]["test"]["score"] == 0.0
    assert document["best"]["test"]["score"] == 1.0
    assert document["best"]["test"]["low"] > document["seed"]["test"]["high"]
    assert document["rounds"][0]["accepted"] is True
    assert {each["code"] for each in document["rounds"][0]["candidates"]} == {None}
    assert document["usage"]["calls"] == len(stub.calls)
    assert document["usage"]["usd"] is None


def test_what_was_found_can_be_shown_compared_exported_and_reverted(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    document = json.loads(adapt(loriner, folder, stub).stdout)
    seed, best = document["seed"]["harness"], document["best"]["harness"]
    assert "def solve(model, question)" in loriner("show", best[:10]).stdout
    assert "run_python" in loriner("diff", seed[:10], best[:10]).stdout
    assert document["run"] in loriner("runs", "list").stdout
    shown = json.loads(loriner("runs", "show", document["run"], "--json").stdout)
    assert len(shown["trials"]) > 40
    log = json.loads(loriner("log", "sums", "--json").stdout)
    assert [each["harness_id"] for each in log] == [best, seed]
    assert loriner("revert", "sums", seed[:10]).returncode == 0
    assert json.loads(loriner("log", "sums", "--json").stdout)[0]["harness_id"] == seed
    exported = loriner("export", best[:10], "-o", str(tmp_path / "out"))
    assert exported.returncode == 0, exported.stderr
    assert (tmp_path / "out" / "tools.py").exists()


def test_a_dead_endpoint_ends_with_3_and_the_root_error_and_no_best(loriner: Command, folder: Path) -> None:
    done = loriner("adapt", str(folder), "--solver", "http://127.0.0.1:9/v1::none", "--json")
    assert done.returncode == 3
    assert done.stdout == ""
    last = done.stderr.strip().splitlines()[-1]
    assert "127.0.0.1:9" in last
    assert "best" not in done.stderr


def test_an_endpoint_that_stumbles_costs_no_trial(loriner: Command, folder: Path, stub: Stub) -> None:
    stub.status = lambda number: 503 if number % 5 == 0 else 200
    done = adapt(loriner, folder, stub)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["best"]["test"]["score"] == 1.0


def test_an_interrupted_run_keeps_what_was_acknowledged_and_is_resumed(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    stub.delay_s = 0.3
    environment = {**os.environ, "LORINER_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-m", "loriner", "adapt", str(folder), "--solver", stub.url, "-k", "2"]
    process = subprocess.Popen(
        [*command, "--rounds", "2", "--grade", "20", "--set", "concurrency=2"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job ignores it
    )
    deadline = time.monotonic() + 60
    while len(stub.calls) < 12 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 5, told
    run = json.loads(loriner("runs", "list", "--json").stdout)[0]
    assert run["status"] == "interrupted"
    kept = json.loads(loriner("runs", "show", run["run"], "--json").stdout)["trials"]
    assert len(kept) >= 8
    stub.delay_s = 0.0
    before = len(stub.calls)
    done = loriner("adapt", "--resume", run["run"], "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["run"] == run["run"]
    assert document["best"]["test"]["score"] == 1.0
    asked = [json.dumps(call["messages"]) for call in stub.calls[:before]]
    again = [json.dumps(call["messages"]) for call in stub.calls[before:]]
    assert len(set(again) & set(asked)) <= 2  # only what was in flight is asked a second time


def test_a_budget_stops_the_run_with_4(loriner: Command, folder: Path, stub: Stub) -> None:
    done = adapt(loriner, folder, stub, "--max-calls", "30")
    assert done.returncode == 4
    assert len(stub.calls) <= 30
    run = json.loads(loriner("runs", "list", "--json").stdout)[0]
    assert run["status"] == "budget"
    done = loriner("adapt", "--resume", run["run"], "--json")
    assert done.returncode == 0, done.stderr
