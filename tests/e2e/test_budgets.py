"""Caps, and what a person sees of a run: nobody is left with an empty hand, or in the dark."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from command import Command, environment, started
from loriner.store.database import Store
from stub_server import Stub, adder

SIZES = ("--rounds", "3", "-k", "2", "--feedback", "4", "--grade", "16", "--test", "10", "--accept", "mean")
PART = re.compile(r"What is (\d+) plus")


def half(prompt: str) -> str:
    """As `adder`, but right on half of the questions only, so that there is always something left to win."""
    found = PART.search(prompt)
    return "no" if found and int(found[1]) % 2 else adder(prompt)


@pytest.fixture
def asked(folder: Path, stub: Stub) -> list[str]:
    stub.mind = half
    return ["adapt", str(folder), "--solver", stub.url, *SIZES]


def settled(document: dict[str, Any]) -> dict[str, Any]:
    """A document without what differs between equal runs."""
    return {name: each for name, each in document.items() if name not in ("run", "usage")}


def cap(document: dict[str, Any]) -> int:
    """Calls at which a run like this one is in the middle of its second round, with room for the sealed."""
    n_searched = document["usage"]["calls"] - 2 * 10
    return n_searched // 2 + 3 * 10


def test_a_cap_in_the_middle_prints_the_table_and_the_resume_ends_as_an_uncapped_run(
    loriner: Command, asked: list[str], tmp_path: Path
) -> None:
    whole = json.loads(loriner(*asked, "--json", "--home", str(tmp_path / "whole")).stdout)
    assert whole["stopped"]["reason"] == "rounds" and len(whole["rounds"]) == 3
    capped = loriner(*asked, "--max-calls", str(cap(whole)))
    assert capped.returncode == 4, capped.stderr
    assert re.search(r"│ seed .*│ 0\.00 \[.*│ 10 │", capped.stdout)
    assert re.search(r"│ best .*│ 0\.[3-7]\d \[.*│ 10 │", capped.stdout)
    assert "The search ended: budget: " in capped.stdout
    (run,) = json.loads(loriner("runs", "list", "--json").stdout)
    assert run["status"] == "budget" and run["usage"]["calls"] <= cap(whole)
    told = capped.stderr.strip().splitlines()[-1]
    assert "kept for the sealed questions" in told
    assert f"To resume: loriner adapt --resume {run['run']}, with a larger cap or none" in told
    resumed = loriner("adapt", "--resume", run["run"], "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert settled(json.loads(resumed.stdout)) == settled(whole)


def test_a_capped_run_is_one_document(loriner: Command, asked: list[str]) -> None:
    done = loriner(*asked, "--json", "--max-calls", "75")
    assert done.returncode == 4, done.stderr
    document = json.loads(done.stdout)
    assert document["stopped"]["reason"] == "budget" and document["stopped"]["missing"] == []
    assert [document[name]["test"]["n"] for name in ("seed", "best")] == [10, 10]
    assert done.stderr.count("error: ") == 1
    refused = loriner(*asked, "--json", "--max-calls", "55")
    assert (refused.returncode, json.loads(refused.stdout)["error"]["exit_code"]) == (2, 2)
    assert (
        refused.stderr.startswith("error: --max-calls 55 fits no revision") and "56 or more" in refused.stderr
    )


def test_what_a_cap_on_tokens_leaves_unscored_is_named(loriner: Command, asked: list[str]) -> None:
    done = loriner(*asked, "--json", "--max-tokens", "100", "--set", "concurrency=1")
    assert done.returncode == 4, done.stderr
    stopped = json.loads(done.stdout)["stopped"]
    assert stopped["reason"] == "budget" and "100 tokens is reached" in stopped["why"]
    assert stopped["missing"][0].endswith("grade questions of seed")
    assert "10 of the 10 sealed questions of seed" in stopped["missing"]
    assert "Not scored: " in done.stderr and "10 of the 10 sealed questions of seed" in done.stderr


def test_a_run_that_was_killed_among_its_sealed_trials_goes_on(
    loriner: Command, asked: list[str], stub: Stub, tmp_path: Path
) -> None:
    whole = json.loads(loriner(*asked, "--json", "--home", str(tmp_path / "whole")).stdout)
    stub.delay_s, home = 0.15, tmp_path / "home"
    process = started(tmp_path, home, *asked, "--set", "concurrency=2")
    try:
        deadline = time.monotonic() + 120
        while not (run := _sealed(home)) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    assert run, "it had begun with the sealed questions"
    stub.delay_s = 0.0
    resumed = loriner("adapt", "--resume", run, "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert settled(json.loads(resumed.stdout)) == settled(whole)


def test_a_dry_run_is_within_a_factor_of_four_of_what_happens(
    loriner: Command, asked: list[str], stub: Stub, tmp_path: Path
) -> None:
    unknown = json.loads(loriner(*asked, "--dry-run", "--json").stdout)
    assert unknown["likely"]["minutes"] is None and stub.calls == []
    assert "unknown until the first calls" in loriner(*asked, "--dry-run").stdout
    stub.delay_s = 0.1
    slow = [*asked, "--no-cache", "--set", "concurrency=4"]
    assert loriner(*slow).returncode == 0
    other = [*slow, "--rounds", "2", "-k", "1", "--accept", "paired", "--test", "20", "--json"]
    likely = json.loads(loriner(*other, "--dry-run").stdout)["likely"]
    assert likely["source"].startswith("the means of 1 earlier run ") and likely["source"].endswith("on sums")
    run = json.loads(loriner(*other).stdout)
    store = Store.existing(tmp_path / "home")
    took = {"trials": sum(each.n for each in store.tallies(run["run"])), "calls": run["usage"]["calls"]}
    took["minutes"] = store.run(run["run"]).seconds / 60
    store.close()
    for name, value in took.items():
        low, high = likely[name]["low"], likely[name]["high"]
        assert value / 4 <= low <= high <= value * 4, (name, low, value, high)


def _sealed(home: Path) -> str:
    """The id of the run, once one of its sealed trials is recorded."""
    if not any(home.glob("*.db")):
        return ""
    store = Store.existing(home)
    try:
        return next((each.id for each in store.runs() if store.trials(each.id, purpose="test")), "")
    finally:
        store.close()


def test_off_a_terminal_a_run_says_what_it_is_its_plan_and_its_rounds(
    loriner: Command, asked: list[str], stub: Stub
) -> None:
    stub.delay_s = 0.02
    done = loriner(*asked)
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(loriner("runs", "list", "--json").stdout)
    told = done.stderr.splitlines()
    assert told[0] == f"run {run['run']}: sums, solver {stub.url} (frozen), proposer catalogue"
    assert told[1].startswith("plan: 3 rounds of 2 candidates at most, rule mean; ")
    assert re.fullmatch(r"about \d+ (s|min) at most, judging by the first 3 trials", told[2])
    rounds = [line for line in told if re.match(r"round \d+:", line)]
    assert [line.split(":")[0] for line in rounds] == ["round 1", "round 2", "round 3"]
    first = r"round 1: '.+' 0\.\d\d \(accepted: .*\); '.+' \d\.\d\d \(another candidate led\)\. "
    assert re.match(first, rounds[0])
    assert "search ended: rounds; now scoring the sealed test questions" in told


def test_on_a_terminal_one_line_moves(asked: list[str], stub: Stub, tmp_path: Path) -> None:
    stub.delay_s = 0.05
    shown, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "loriner", *asked, "--set", "concurrency=2"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        cwd=tmp_path,
        env={**environment(tmp_path / "home"), "TERM": "xterm", "COLUMNS": "140", "LINES": "50"},
    )
    os.close(terminal)
    drawn = bytearray()
    reader = threading.Thread(target=_read, args=(shown, drawn), daemon=True)
    reader.start()
    assert process.wait(120) == 0
    reader.join(10)
    os.close(shown)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn.decode("utf-8", "replace"))
    assert re.search(r"round 1/3  grade  seed +\S+ \d+/16 \S+ +up to \d+ s left", text), text[-3000:]
    assert re.search(r"round [23]/3  grade  \w[^\d]+\S+ \d+/16 ", text)
    assert re.search(r"test  seed +\S+ \d+/10 ", text)
    assert drawn.count(b"\x1b[2K") > 10, "the line is drawn over itself"


def _read(descriptor: int, drawn: bytearray) -> None:
    while True:
        try:
            piece = os.read(descriptor, 65_536)
        except OSError:  # the other end is closed
            return
        if not piece:
            return
        drawn += piece
