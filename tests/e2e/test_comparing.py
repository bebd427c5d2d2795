"""`compare`, `report`, `runs watch` and the ablation flags, as commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command import Command
from stub_server import Stub

SIZES = ("--rounds", "1", "--feedback", "4", "--grade", "10", "--test", "10")


def runs(loriner: Command) -> list[dict[str, Any]]:
    """All runs, newest first."""
    listed: list[dict[str, Any]] = json.loads(loriner("runs", "list", "--json").stdout)
    return listed


def settled(document: dict[str, Any]) -> dict[str, Any]:
    """A comparison without its ids."""
    arms = [{key: value for key, value in arm.items() if key != "run"} for arm in document["arms"]]
    return {**document, "run": "", "arms": arms}


def test_a_dry_run_of_a_comparison_tells_what_it_would_take_and_asks_nothing(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    command = ["--solver", stub.url, *SIZES, "--dry-run", "--json"]
    one = json.loads(loriner("adapt", str(folder), *command).stdout)
    many = loriner("compare", str(folder), "--modes", "sequential,sampling", "--seeds", "3", *command)
    told = json.loads(many.stdout)
    assert told["calls"] == {"low": one["calls"]["low"], "high": 6 * one["calls"]["high"]}
    assert (
        told["trials"]["low"] == one["trials"]["low"] and told["trials"]["high"] > 3 * one["trials"]["high"]
    )
    assert told["usd"] is None and stub.calls == []
    unequal = loriner("compare", str(folder), "--modes", "sampling", *command)
    assert unequal.returncode == 2 and "give --allowance" in unequal.stderr


def test_a_comparison_that_ran_out_of_budget_is_resumed_to_the_same_tables(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    command = ["compare", str(folder), "--solver", stub.url, "--seeds", "1", *SIZES]
    refused = loriner(*command, "--max-calls", "43")
    assert refused.returncode == 2 and "Give --max-calls 44 or more" in refused.stderr
    assert json.loads(loriner("runs", "list", "--json").stdout) == [] == stub.calls
    stopped = loriner(*command, "--modes", "sequential,sampling", "--max-calls", "44")
    assert stopped.returncode == 4, stopped.stderr
    runs = json.loads(loriner("runs", "list", "--json").stdout)
    (run,) = runs
    assert (run["command"], run["status"]) == ("compare", "budget")
    assert run["usage"]["calls"] == 44 and f"loriner compare --resume {run['run']}" in stopped.stderr
    resumed = loriner("compare", "--resume", run["run"], "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert ", sampling, seed 0:" in resumed.stderr
    document = json.loads(resumed.stdout)
    assert document["run"] == run["run"]
    assert [(arm["mode"], arm["status"]) for arm in document["arms"]] == [
        ("sequential", "done"),
        ("sampling", "done"),
    ]
    again = loriner(*command, "--modes", "sequential,sampling", "--json", "--home", str(tmp_path / "other"))
    assert settled(json.loads(again.stdout)) == settled(document)

    file = tmp_path / "report.html"
    made = loriner("report", run["run"], "-o", str(file))
    assert made.returncode == 0, made.stderr
    assert document["verdict"] in made.stdout
    assert "Modes at equal cost" in file.read_text(encoding="utf-8")
    shown = loriner("runs", "show", run["run"]).stdout
    assert all(word in shown for word in ("sequential", "sampling", document["arms"][0]["run"]))
    assert "Candidates" not in shown  # a comparison has none of its own
    watched = loriner("runs", "watch", run["run"])
    assert watched.returncode == 0 and "sampling" in watched.stdout
    arm = document["arms"][0]["run"]
    assert loriner("report", arm, "-o", str(file)).returncode == 0
    assert "Seed and best" in file.read_text(encoding="utf-8")


def test_a_comparison_that_can_show_nothing_says_so_before_and_after(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    command = ["compare", str(folder), "--solver", stub.url, "--seeds", "1", "--rounds", "2", "-k", "1"]
    command += ["--feedback", "2", "--grade", "4", "--test", "8"]
    why = "with 10 contrasts, 8 questions can never pass, the least is 9, all of them better"
    dry = loriner(*command, "--dry-run")
    assert f"warning: no two modes can be told apart: {why} (--test, --modes)" in dry.stderr
    assert "warning: nothing will be accepted: 4 grade questions are too few" in dry.stderr
    assert len(json.loads(loriner(*command, "--dry-run", "--json").stdout)["warnings"]) == 2
    assert stub.calls == []
    done = loriner(*command)
    assert done.returncode == 0, done.stderr
    assert done.stderr.index(why) < done.stderr.index("round 1: ")
    assert f"No difference could have been shown: {why}." in done.stdout.replace("\n", " ")
    assert "no different" not in done.stdout
    document = json.loads(loriner("report", runs(loriner)[0]["run"], "--json").stdout)
    assert [each["search"]["usd"] for each in document["modes"][1:]] == [None] * 5
    priced = [line for line in done.stdout.splitlines() if "unpriced" in line]
    assert len(priced) == 5  # all modes, though most replies of the later ones came from the cache


def test_an_endpoint_that_fails_in_an_arm_is_answered_by_resuming_the_comparison(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    stub.status = lambda number, prompt: 200 if number < 20 else 400
    command = ["compare", str(folder), "--solver", stub.url, "--seeds", "1", "--modes", "sequential,sampling"]
    stopped = loriner(*command, *SIZES)
    (run,) = runs(loriner)
    assert stopped.returncode == 3 and (run["command"], run["status"]) == ("compare", "failed")
    assert stopped.stderr.rstrip().endswith(f"To resume: loriner compare --resume {run['run']}")
    (arm,) = json.loads(loriner("runs", "show", run["run"], "--json").stdout)["arms"]
    assert arm not in stopped.stderr
    stub.status = lambda number, prompt: 200
    assert loriner("compare", "--resume", run["run"]).returncode == 0

    told = loriner("diagnose", run["run"])
    assert told.returncode == 2
    assert f"run {run['run']} is a comparison: diagnose an arm of it" in told.stderr
    assert f"{arm}  sums, sequential, seed 0" in told.stderr
    faults = json.loads(loriner("diagnose", arm, "--json").stdout)
    assert faults and {each["fault"] for each in faults} == {"reasoning"}


def test_modes_without_a_sequence_ask_for_an_allowance(loriner: Command, folder: Path, stub: Stub) -> None:
    done = loriner("compare", str(folder), "--solver", stub.url, "--modes", "independent")
    assert done.returncode == 2 and "--allowance" in done.stderr
    assert stub.calls == []
    done = loriner("compare", str(folder), "--solver", stub.url, "--modes", "lucky")
    assert done.returncode == 2 and "sequential" in done.stderr


@pytest.mark.parametrize(
    ("flag", "hidden", "shown"),
    [
        ("--no-history", ["# Earlier revisions"], ["Failing trial", "expected:"]),
        ("--no-traces", ["Failing trial", "expected:"], ["# Earlier revisions", "Mean score"]),
        ("--scores-only", ["Failing trial", "expected:", "# Earlier revisions"], ["Mean score"]),
    ],
)
def test_what_is_hidden_from_the_proposer_is_not_in_its_prompt(
    loriner: Command, folder: Path, stub: Stub, flag: str, hidden: list[str], shown: list[str]
) -> None:
    arguments = [
        "--solver",
        stub.url,
        "--proposer",
        stub.url,
        "--rounds",
        "2",
        "--feedback",
        "3",
        "--grade",
        "4",
    ]
    done = loriner("adapt", str(folder), *arguments, "--test", "2", flag, "--json")
    assert done.returncode == 0, done.stderr
    prompts = [call["messages"][-1]["content"] for call in stub.calls if len(call["messages"]) > 1]
    assert len(prompts) == 2
    assert all(words not in prompt for words in hidden for prompt in prompts)
    assert all(words in prompts[1] for words in shown)
