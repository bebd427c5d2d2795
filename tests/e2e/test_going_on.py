"""Going on with a run: what is given beside it, more rounds, an interrupt before it, a task's folder."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from test_complaints import GOOD, SIZES, revising, runs, settled, started

from command import Command
from loriner.harness.contract import from_library
from loriner.harness.rewrite import make_edits
from loriner.search.plan import Plan
from stub_server import Stub

MINIMAL = from_library("minimal").source


def notes(told: str) -> list[str]:
    return [
        line.removeprefix("note: a resumed run keeps its original settings: ")
        for line in told.splitlines()
        if line.startswith("note: a resumed run")
    ]


def test_what_is_given_beside_a_resume_is_never_ignored_without_a_word(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(MINIMAL)
    (tmp_path / "other.py").write_text("def solve(model, question):\n    return model(question)\n")
    loriner("evaluate", str(folder), "--solver", stub.url, "--split", "test", "--limit", "3")
    run = runs(loriner)[0]["run"]
    beside = ("--split", "grade", "--seed", "0", "--harness", "other.py")
    again = loriner("evaluate", "--resume", run, *beside)
    assert again.returncode == 0, again.stderr
    assert notes(again.stderr) == [
        "evaluate.harnesses stays [], not ['other.py']",
        "evaluate.split stays test, not grade",
    ]
    adapted = ("adapt", str(folder), "--solver", stub.url, *SIZES, "--rounds", "1")
    loriner(*adapted, "--harness", "own.py")
    run, n = runs(loriner)[0]["run"], len(stub.calls)
    same = loriner("adapt", "--resume", run, "--harness", "own.py", "-k", "1")
    assert notes(same.stderr) == [] and same.returncode == 0, same.stderr
    other = loriner("adapt", "--resume", run, "--harness", "other.py", "--accept", "paired", "-k", "2")
    candidates, kept = notes(other.stderr)
    assert kept.startswith("adapt.harness stays ") and kept.endswith(", not other.py")
    assert candidates == "adapt.candidates stays 1, not 2" and len(stub.calls) == n


def test_a_finished_run_is_given_more_rounds_and_keeps_its_history(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    worse = make_edits(MINIMAL, "def solve(model, question):\n    return model(question)[:3]\n")
    stub.mind = revising(worse, GOOD)
    asked = (str(folder), "--solver", stub.url, "--proposer", stub.url, *SIZES)
    first = json.loads(loriner("adapt", *asked, "--rounds", "1", "--json").stdout)
    assert first["stopped"]["reason"] == "rounds" and first["best"]["harness"] == first["seed"]["harness"]
    done = loriner("adapt", "--resume", first["run"], "--rounds", "3", "--json")
    assert done.returncode == 0 and notes(done.stderr) == [], done.stderr
    more = json.loads(done.stdout)
    assert more["run"] == first["run"] and more["rounds"][:1] == first["rounds"]
    assert [each["accepted"] for each in more["rounds"]] == [False, True]
    assert more["best"]["test"]["score"] == 1.0
    assert {"seed": more["seed"]["test"]} == {"seed": first["seed"]["test"]}
    n = len(stub.calls)
    again = loriner("adapt", "--resume", first["run"], "--rounds", "2", "--json")
    assert notes(again.stderr) == ["adapt.rounds stays 3, not 2"]
    assert settled(json.loads(again.stdout)) == settled(more) and len(stub.calls) == n
    assert len(json.loads(loriner("log", "sums", "--json").stdout)) == 2


def test_each_stretch_of_a_search_has_the_whole_level_and_earlier_rounds_keep_theirs() -> None:
    plan = Plan(rounds=4)
    twice = plan.further(4, 10).further(6, 12)
    assert plan.stretches == {0: 4}
    assert twice.stretches == {0: 4, 4: 6, 6: 6}
    assert twice.schedule(128) == plan.schedule(128)
    assert Plan.model_validate(twice.model_dump(mode="json")) == twice


def test_an_interrupt_before_a_run_begins_says_so(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    items = folder / "items.jsonl"
    held = items.read_bytes()
    items.unlink()
    os.mkfifo(items)
    process = started(tmp_path, tmp_path / "home", "adapt", str(folder), "--solver", stub.url)
    with items.open("wb") as pipe:  # open once the command reads it
        process.send_signal(signal.SIGINT)
        pipe.write(held)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, stub.calls) == (5, [])
    assert told == "error: interrupted before a run began: nothing was spent\n"
    assert runs(loriner) == []


def test_a_task_is_named_by_its_folder_wherever_it_is_named(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    assert loriner("adapt", str(folder), "--solver", stub.url, "--rounds", "1", *SIZES).returncode == 0
    by_name = json.loads(loriner("log", "sums", "--json").stdout)
    for given in ("sums/", str(folder)):
        assert json.loads(loriner("versions", "log", given, "--json").stdout) == by_name
    reverted = loriner("revert", str(folder), by_name[-1]["sha"])
    assert reverted.returncode == 0 and reverted.stdout.startswith("sums is at ")
