"""Paths that cannot be written, limits that make no sense, scorers that fail, and being told to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_complaints import SIZES, runs, started, until

from command import Command
from stub_server import Stub


@pytest.mark.parametrize("path", ["nodir/table.md", "file/table.md", "."])
def test_a_path_that_cannot_be_written_is_named_in_a_line(
    loriner: Command, folder: Path, tmp_path: Path, stub: Stub, path: str
) -> None:
    (tmp_path / "file").write_text("")
    done = loriner("evaluate", str(folder), "--solver", stub.url, "--limit", "2", "-o", path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert f"error: {path}: " in done.stderr
    assert stub.calls == [] and not (tmp_path / "nodir").exists()


def test_a_table_that_was_there_stands_until_there_is_another(
    loriner: Command, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "table.md").write_text("old")
    for path in ("table.md", "new.md"):
        failed = loriner("evaluate", str(folder), "--solver", "none", "-o", path)
        assert failed.returncode == 2
    assert (tmp_path / "table.md").read_text() == "old" and not (tmp_path / "new.md").exists()


def test_a_seed_beyond_all_bounds_is_refused_in_words(loriner: Command, folder: Path) -> None:
    done = loriner("evaluate", str(folder), "--solver", "scripted:echo", "--seed", "9" * 26)
    assert done.returncode == 2
    assert "options: seed: Input should be less than or equal to" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_home_that_is_a_file_is_named_in_a_line(loriner: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = loriner("--home", "file", "runs", "list")
    assert done.returncode in (2, 6)
    assert "Traceback" not in done.stderr
    assert "file" in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "runs list",
        "runs show 2026",
        "runs watch",
        "report 2026",
        "diagnose 2026",
        "ui",
        "log sums",
        "show abcdef",
        "tag good abcdef",
        "bisect 2026 q1",
        "store check",
        "store export",
        "adapt sums --solver scripted:echo --resume 2026",
    ],
)
def test_a_mistyped_home_is_named_and_not_made(loriner: Command, tmp_path: Path, line: str) -> None:
    done = loriner(*line.split(), "--home", "mistyped")
    assert done.returncode == 2, done.stderr
    assert done.stderr == "error: no store at mistyped: nothing was run there yet, or it is another --home\n"
    assert not (tmp_path / "mistyped").exists()


def test_before_the_first_run_there_is_none_and_nothing_is_made(loriner: Command, tmp_path: Path) -> None:
    assert loriner("runs", "list", "--json").stdout == "[]\n"
    assert "No runs yet" in loriner("runs", "list").stdout
    assert "def solve" in loriner("show", "library:minimal").stdout
    assert loriner("doctor").returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Callable[[Path], Path]]:
    """Shows a folder again at a place where nothing can be written."""
    place = tmp_path / "sealed"
    place.mkdir()

    def seal(folder: Path) -> Path:
        for options in (["--bind"], ["-o", "remount,bind,ro"]):
            mount = ["mount", *options, str(folder), str(place)]
            if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
                pytest.skip("a read-only mount needs root and the right to mount")
        return place

    yield seal
    subprocess.run(["umount", "-l", str(place)], capture_output=True)


def test_a_home_that_cannot_be_written_can_be_read(
    loriner: Command, folder: Path, tmp_path: Path, sealed: Callable[[Path], Path]
) -> None:
    line = ("evaluate", str(folder), "--solver", "scripted:echo", "--limit", "2")
    document = json.loads(loriner(*line, "--json").stdout)
    run, harness = document["run"], document["harness"]
    home = str(sealed(tmp_path / "home"))
    (listed,) = json.loads(loriner("runs", "list", "--home", home, "--json").stdout)
    assert (listed["run"], listed["status"]) == (run, "done")
    for reading in (["runs", "show", run], ["diagnose", run], ["store", "check"], ["show", harness[:12]]):
        done = loriner(*reading, "--home", home)
        assert done.returncode == 0, done.stderr
    refused = loriner(*line, "--home", home)
    assert refused.returncode == 6
    assert "is writable" in refused.stderr and "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    "limit", ["output_bytes=-3", "cpu_s=1e300", "wall_s=-1", "memory_bytes=1", "total_s=nan", "n_calls=-1"]
)
def test_a_limit_that_makes_no_sense_is_refused(loriner: Command, folder: Path, limit: str) -> None:
    done = loriner("evaluate", str(folder), "--solver", "scripted:echo", "--set", f"limits.{limit}")
    assert done.returncode == 2, done.stderr
    assert limit.partition("=")[0] in done.stderr
    assert "expected" in done.stderr


def test_a_gate_of_nan_is_closed(loriner: Command, folder: Path) -> None:
    line = ("evaluate", str(folder), "--solver", "scripted:echo", "--limit", "2")
    assert loriner(*line, "--fail-under", "nan").returncode == 1


def test_a_scorer_that_fails_is_told(loriner: Command, folder: Path) -> None:
    (folder / "score.py").write_text(
        "def score(item, answer):\n    return 1.0 if answer == item['answer'] else 1 / 0\n"
    )
    done = loriner("evaluate", str(folder), "--solver", "scripted:echo", "--limit", "5")
    assert done.returncode == 0, done.stderr
    assert "sums: the scorer failed on 5 of 5 answers, which score 0: ZeroDivisionError" in done.stderr


def test_a_test_that_nothing_can_pass_is_told_before_the_rounds(loriner: Command, folder: Path) -> None:
    sizes = ("--rounds", "10", "-k", "1", "--feedback", "2", "--grade", "4", "--test", "2")
    done = loriner("adapt", str(folder), "--solver", "scripted:echo", *sizes)
    assert done.returncode == 0, done.stderr
    first = done.stderr.index("nothing will be accepted: 4 grade questions are too few")
    assert first < done.stderr.index("round 1: ")


def test_a_reached_cap_says_how_to_go_on(loriner: Command, folder: Path, stub: Stub) -> None:
    done = loriner("adapt", str(folder), "--solver", stub.url, "-k", "1", *SIZES, "--max-calls", "70")
    assert done.returncode == 4
    assert f"loriner adapt --resume {runs(loriner)[0]['run']}" in done.stderr


def test_being_told_to_end_is_as_good_as_ctrl_c(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    stub.delay_s = 0.2
    asked = ["adapt", str(folder), "--solver", stub.url, "--rounds", "2", "-k", "1", *SIZES]
    process = started(tmp_path, tmp_path / "home", *asked, "--set", "concurrency=2")
    until(stub, 20, process)
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 5, told
    (run,) = runs(loriner)
    assert f"run {run['run']} was interrupted" in told
    assert f"loriner adapt --resume {run['run']}" in told
    assert run["status"] == "interrupted"


def test_a_mistyped_proposer_is_refused_before_anything_is_paid_for(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    line = ("compare-proposers", str(folder), "--solver", stub.url, "--proposers", "catalogue,oops=nope")
    done = loriner(*line)
    assert done.returncode == 2
    assert "nope" in done.stderr
    assert stub.calls == []
    assert not (tmp_path / "comparison").exists()


def test_weights_come_from_the_source_that_is_named_or_not_at_all(loriner: Command, tmp_path: Path) -> None:
    done = loriner("models", "pull", "smollm2-135m", "--from", str(tmp_path / "none"))
    assert done.returncode == 3
    assert f"{tmp_path / 'none'}: no such file or directory" in done.stderr
    offline = loriner("--offline", "models", "pull", "smollm2-135m")
    assert offline.returncode == 2
    assert "--offline forbids downloading" in offline.stderr
