"""The line of training from the command line, each stage a process of its own against a local endpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from additions import additions
from stub_server import Stub

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def config(tmp_path: Path, stub: Stub) -> Path:
    """A training file on a task of 90 additions."""
    additions(tmp_path)
    path = tmp_path / "training.toml"
    path.write_text(
        f"""
        name = "sums"
        output = "out"
        solver = "{stub.url}"
        [policy]
        base = "policy"
        n_parameters = 2e5
        [contexts]
        tasks = ["sums"]
        renamed = 1
        n = 4
        pool = 6
        feedback = 3
        grade = 3
        max_prompt_tokens = 1100
        [teacher]
        completions = 2
        grade = 10
        rename = true
        [sft]
        batch = 2
        device_batch = 2
        epochs = 1
        adapter = {{ rank = 2, alpha = 4 }}
        [grpo]
        contexts_per_update = 2
        completions = 2
        device_batch = 4
        max_completion_tokens = 8
        patience_s = 0
        """
    )
    return path


@pytest.fixture
def loriner(tmp_path: Path) -> Command:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LORINER_HOME": str(tmp_path / "home"), "NO_COLOR": "1"}
        return subprocess.run(
            [sys.executable, "-m", "loriner", *arguments],
            capture_output=True,
            text=True,
            timeout=900,
            cwd=tmp_path,
            env=environment,
        )

    return run


def document(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.timeout(900)
def test_contexts_teacher_and_comparison(loriner: Command, config: Path, tmp_path: Path) -> None:
    drawn = document(loriner("train", "contexts", str(config), "--json"))
    assert drawn["n"] == 4
    again = document(loriner("train", "contexts", str(config), "--json", "--set", "output=again"))
    assert again["digest"] == drawn["digest"]
    nothing = loriner("train", "teach", str(config), "--json", "--set", "teacher.proposer='scripted:empty'")
    assert nothing.returncode == 1
    assert (
        "none of 8 completions was kept (no_edit_block 8), so there is nothing to learn from"
        in nothing.stderr
    )
    assert json.loads((tmp_path / "out" / "lessons-report.json").read_text()) == json.loads(nothing.stdout)
    assert not (tmp_path / "out" / "lessons.jsonl").exists()
    taught = document(loriner("train", "teach", str(config), "--json"))
    assert taught["n_kept"] >= 1
    assert taught["after"] > taught["before"]
    assert "interpreter_loop" in taught["patterns"]
    solver = config.read_text().split('solver = "')[1].split('"')[0]
    arguments = ("--proposers", f"catalogue,prose={solver}", "--solver", solver, "-k", "2", "--grade", "4")
    found = document(loriner("compare-proposers", "out/contexts.jsonl", *arguments, "--json"))
    assert found["digest"] == drawn["digest"]
    assert found["proposers"]["catalogue"]["score"]["mean"] > found["unrevised"]["mean"]
    assert found["proposers"]["prose"]["invalid"] == {"no_edit_block": 8}
    faults = document(loriner("diagnose", found["run"], "--task", "sums", "--json"))
    assert faults, "trials are recorded under their task: a run may be over several, with equal ids"
    shown = loriner("compare-proposers", "sums", *arguments, "--per-task", "2")
    assert shown.returncode == 0, shown.stderr
    assert "best of 2" in shown.stdout
    assert "catalogue, written" in shown.stdout and "prose, written" not in shown.stdout
    told = document(loriner("train", "choices", "comparison/samples-catalogue.jsonl", "--json"))
    of_it = told["comparison/samples-catalogue.jsonl"]
    assert of_it["written"]["n"] == 4 >= of_it["better"]["n"] > 0
    other = loriner("train", "choices", "comparison/contexts.jsonl")
    assert other.returncode == 2 and "not a file of rollouts or samples" in other.stderr
    assert (tmp_path / "comparison" / "samples-prose.jsonl").exists()
    again = loriner("compare-proposers", "comparison/contexts.jsonl", *arguments)
    assert again.stderr.count("the samples in") == 2, again.stderr
    assert again.stdout.partition("Run ")[0] == shown.stdout.partition("Run ")[0]
    fewer = loriner("compare-proposers", "comparison/contexts.jsonl", *arguments[:-4], "-k", "1")
    assert "the samples in" not in fewer.stderr
    (tmp_path / "comparison" / "samples-prose.jsonl").write_text("prose\n")
    spoilt = loriner("compare-proposers", "comparison/contexts.jsonl", *arguments)
    assert spoilt.returncode == 2
    assert "samples-prose.jsonl: not a file of samples" in spoilt.stderr


def test_frozen_contexts_open_their_tasks_by_the_names_they_were_drawn_with(
    loriner: Command, config: Path, stub: Stub, tmp_path: Path
) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "sums").rename(tmp_path / "tasks" / "additions")
    named = "contexts.tasks=['tasks/additions']"
    drawn = document(loriner("train", "contexts", str(config), "--json", "--set", named))
    arguments = ("--proposers", "catalogue", "--solver", stub.url, "-k", "1", "--grade", "2", "--json")
    found = document(loriner("compare-proposers", "out/contexts.jsonl", *arguments))
    assert found["digest"] == drawn["digest"]
    document(loriner("compare-proposers", "tasks/additions", *arguments, "--per-task", "1"))
    document(loriner("compare-proposers", "comparison/contexts.jsonl", *arguments))
    older = tmp_path / "older.jsonl"
    head, _, rest = (tmp_path / "out" / "contexts.jsonl").read_text().partition("\n")
    facts = json.loads(head)
    assert facts.pop("names") == {"sums": "tasks/additions"}
    older.write_text(f"{json.dumps(facts)}\n{rest}")
    stub.calls.clear()
    refused = loriner("compare-proposers", "older.jsonl", *arguments)
    assert refused.returncode == 2
    assert "older.jsonl: its tasks are opened as sums, but from here no task or folder" in refused.stderr
    assert "Run from the folder that holds it under that name" in refused.stderr
    assert stub.calls == []
    (tmp_path / "tasks" / "additions").rename(tmp_path / "sums")
    assert document(loriner("compare-proposers", "older.jsonl", *arguments))["digest"] == drawn["digest"]
    moved = loriner("compare-proposers", "out/contexts.jsonl", *arguments)
    assert moved.returncode == 2
    assert "no task or folder is called tasks/additions" in moved.stderr


@pytest.mark.timeout(300)
def test_contexts_of_a_training_are_refused_before_anything_is_asked(
    loriner: Command, config: Path, stub: Stub
) -> None:
    pytest.importorskip("reasoning_gym")
    drawn = loriner("train", "contexts", str(config), "--set", "contexts.tasks=['rg:count_primes']")
    assert drawn.returncode == 0, drawn.stderr
    stub.calls.clear()
    arguments = ("--proposers", f"prose={stub.url}", "--solver", stub.url)
    done = loriner("compare-proposers", "out/contexts.jsonl", *arguments)
    assert done.returncode == 2, done.stderr
    assert "out/contexts.jsonl: its contexts are scored on question count_primes/rl_grade/" in done.stderr
    assert "the task rg:count_primes does not have in a comparison" in done.stderr
    assert "or a contexts.jsonl that compare-proposers wrote" in done.stderr
    assert stub.calls == []


def test_a_dead_proposer_ends_a_comparison_in_words(loriner: Command, config: Path, stub: Stub) -> None:
    gone = "gone=http://localhost:9/v1::m"
    dead = loriner("compare-proposers", "sums", "--proposers", gone, "--solver", stub.url)
    assert dead.returncode == 3, dead.stderr
    assert "http://localhost:9/v1 did not answer for m in 5 tries" in dead.stderr
    assert "nclosed" not in dead.stderr and "Traceback" not in dead.stderr


@pytest.mark.parametrize("stage", ["sft", "grpo"])
def test_a_dry_run_prints_an_estimate_and_starts_nothing(
    loriner: Command, config: Path, tmp_path: Path, stage: str
) -> None:
    found = document(loriner("train", stage, str(config), "--dry-run", "--json"))
    assert found["updates"] >= 1 and found["memory_gib"] > 0 and found["hours"] >= 0
    assert "solver calls a second" in found["rates"]
    assert not (tmp_path / "out").exists()
    shown = loriner("train", stage, str(config), "--dry-run")
    assert "solver calls" in shown.stdout


def test_bad_input_ends_with_code_2_and_words(loriner: Command, config: Path) -> None:
    uneven = loriner("train", "contexts", str(config), "--set", "contexts.n=5")
    assert uneven.returncode == 2
    assert "5 contexts do not divide into updates of 2: 1 would be left over" in uneven.stderr
    unknown = loriner("train", "grpo", str(config), "--dry-run", "--set", "grpo.learning_rte=1")
    assert unknown.returncode == 2
    assert "unknown key grpo.learning_rte" in unknown.stderr
    early = loriner("train", "grpo", str(config), "--from", "base")
    assert early.returncode == 2
    assert "loriner train contexts" in early.stderr
    twice = loriner("compare-proposers", "sums", "--proposers", "catalogue,catalogue", "--solver", "x")
    assert twice.returncode == 2
    assert "distinct" in twice.stderr


@pytest.mark.timeout(900)
def test_trees_are_grown_and_read_again(loriner: Command, config: Path, stub: Stub, tmp_path: Path) -> None:
    small = ("--set", "trees.depth=1", "--set", "trees.rungs=[1, 6]", "--set", "trees.fresh=4", "--json")
    settings = (*small, "--set", "contexts.renamed=0", "--set", "contexts.max_prompt_tokens=4000")
    told = document(loriner("train", "trees", str(config), "--dry-run", *settings))
    assert told["tasks"] == 1 and told["trials"] > 100
    grown = loriner("train", "trees", str(config), *settings)
    found = document(grown)
    assert found["by_depth"]["1"]["nodes"] == 1 and found["by_depth"]["1"]["gain"][1] > 0.5
    assert found["n_rows"] == 1 and found["rows_by_depth"] == {"1": 1}
    gains = json.loads((tmp_path / "out" / "gains.json").read_text())
    assert gains["gains"]["interpreter_loop"]["shape=integer"][1] == 1.0
    assert f"run {found['run']}" in grown.stderr
    again = document(
        loriner("train", "trees", str(config), "--minutes", "0", "--resume", found["run"], *settings)
    )
    assert again == found
    stub.calls.clear()
    of_trees = ("train", "contexts", str(config), "--trees", found["run"])
    drawn = document(loriner(*of_trees, "--replay", "--set", "contexts.max_prompt_tokens=4000", "--json"))
    assert drawn["n"] == 4 and stub.calls == []
    held = loriner(*of_trees, "--replay", "--set", "contexts.held_out=['sums']")
    assert held.returncode == 2 and "names every family" in held.stderr
    wrong = loriner("train", "trees", str(config), "--part", "3/2", *settings)
    assert wrong.returncode == 2 and "expected a part and their number" in wrong.stderr
