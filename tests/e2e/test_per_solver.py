"""What is learnt for one solver stays with it: two solvers of different abilities on one task."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import loriner as lo
from command import Command
from stub_server import Stub, adder, serving

SIZES = ("--rounds", "1", "-k", "8", "--feedback", "4", "--grade", "16", "--test", "8")


def plain(prompt: str) -> str:
    """Right when it is asked directly; the programs that it writes are wrong."""
    if "```python" in prompt:
        return "```python\nprint(-1)\n```"
    numbers = re.findall(r"\d+", prompt)[:2]
    return str(sum(map(int, numbers)))


@pytest.fixture
def other() -> Iterator[Stub]:
    with serving(Stub(mind=plain)) as running:
        yield running


def score(loriner: Command, folder: Path, harness: str, solver: Stub) -> float:
    done = loriner(
        "evaluate", str(folder), "--solver", solver.url, "--harness", harness, "--limit", "8", "--json"
    )
    assert done.returncode == 0, done.stderr
    return float(json.loads(done.stdout)["score"]["score"])


def test_adapting_for_a_second_solver_takes_nothing_from_the_first(
    loriner: Command, folder: Path, stub: Stub, other: Stub, tmp_path: Path
) -> None:
    assert adder("What is 1 plus 2?") != plain("What is 1 plus 2?")
    for solver in (stub, other):
        done = loriner("adapt", str(folder), "--solver", solver.url, *SIZES)
        assert done.returncode == 0, done.stderr
    for name in ("best", "best@sums", "best/sums"):
        assert score(loriner, folder, name, stub) == 1.0
        assert score(loriner, folder, name, other) == 1.0
    shown = [
        loriner("show", "best@sums", "--set", f"adapt.solver={each.url}").stdout for each in (stub, other)
    ]
    assert "run_python" in shown[0] and "run_python" not in shown[1]
    unclear = loriner("show", "best@sums")
    assert unclear.returncode == 2
    assert "best@sums is one version for each solver" in unclear.stderr
    assert stub.url in unclear.stderr and other.url in unclear.stderr
    url, _, name = stub.url.partition("::")
    with lo.load("best@sums", lo.Model(url, name), task=str(folder), home=tmp_path / "home") as ready:
        assert ready("What is 4 plus 31?") == "35"


def test_the_versions_of_one_solver_are_scored_with_another_before_anything_is_searched(
    loriner: Command, folder: Path, stub: Stub, other: Stub, tmp_path: Path
) -> None:
    assert loriner("adapt", str(folder), "--solver", stub.url, *SIZES).returncode == 0
    refused = loriner("evaluate", str(folder), "--solver", other.url, "--harness", "best")
    assert refused.returncode == 2
    assert f"sums has no version for the solver {other.url}, only for {stub.url} (1.00)" in refused.stderr
    assert f"loriner transfer sums --to {other.url}" in refused.stderr
    asked = ("transfer", str(folder), "--to", other.url, "--limit", "10")
    told = loriner(*asked)
    assert told.returncode == 0, told.stderr
    assert "less the first" in told.stdout and "--take" in told.stdout
    found = json.loads(loriner(*asked, "--json").stdout)
    first, *rest = found["versions"]
    assert (first["score"]["mean"], first["n"], first["made_for"]) == (1.0, 10, stub.url)
    assert (first["score_there"], first["what"][:4]) == (0.0, "Seed")
    assert [each["score"]["mean"] for each in rest] == [0.0] and rest[0]["score_there"] == 1.0
    assert rest[0]["against_seed"]["mean"] == -1.0 and found["taken"] is None
    assert loriner("show", "best@sums", "--set", f"adapt.solver={other.url}").returncode == 2, (
        "nothing is taken"
    )
    taken = loriner(*asked, "--take")
    assert f"best@sums for {other.url} is " in taken.stdout
    assert score(loriner, folder, "best@sums", other) == 1.0
    assert score(loriner, folder, "best@sums", stub) == 1.0
    log = json.loads(loriner("log", "sums", "--json").stdout)
    assert log[0]["evidence"]["solver"] == other.url and log[0]["score"] == 1.0
    assert loriner("store", "check", "--rebuild").returncode == 0
    url, _, name = other.url.partition("::")
    with lo.open(tmp_path / "home") as lab:
        again = lab.transfer(str(folder), lo.Model(url, name), limit=4)
    assert again.best.score.mean == 1.0 and again.best.score.n == 4


def test_a_task_without_versions_has_nothing_to_transfer(loriner: Command, folder: Path, stub: Stub) -> None:
    done = loriner("transfer", str(folder), "--to", stub.url)
    assert done.returncode == 2 and "the registry has no version 'sums'" in done.stderr
    assert stub.calls == []
