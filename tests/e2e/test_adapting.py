"""`adapt` from the command line to its document and to the registry. What goes wrong: test_complaints.py."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    "body",
    [
        "\n  reply = model(question)\n  return reply\n",
        "\n\treturn model(question)\n",
        " return model(question)",
    ],
)
def test_a_seed_of_another_layout_is_revised(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path, body: str
) -> None:
    (tmp_path / "own.py").write_text(f"def solve(model, question):{body}")
    done = adapt(loriner, folder, stub, "--harness", "own.py")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["best"]["test"]["score"] == 1.0


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
    (listed,) = json.loads(loriner("runs", "list", "--json").stdout)
    assert document["usage"] == shown["usage"] == listed["usage"]
    log = json.loads(loriner("log", "sums", "--json").stdout)
    assert [each["harness_id"] for each in log] == [best, seed]
    assert loriner("revert", "sums", seed[:10]).returncode == 0
    assert json.loads(loriner("log", "sums", "--json").stdout)[0]["harness_id"] == seed
    exported = loriner("export", best[:10], "-o", str(tmp_path / "out"))
    assert exported.returncode == 0, exported.stderr
    assert (tmp_path / "out" / "tools.py").exists()


def test_an_export_names_the_tools_to_write_and_keeps_what_was_written(
    loriner: Command, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(
        "from tools import lookup\n\n\ndef solve(model, question):\n    return lookup(question)\n"
    )
    done = loriner("export", "own.py", "-o", "ex")
    assert done.returncode == 0
    assert "tools that ex/tools.py lacks: lookup; write them there" in done.stderr
    with (tmp_path / "ex" / "tools.py").open("a") as file:
        file.write("\n\ndef lookup(question):\n    return question\n")
    written = (tmp_path / "ex" / "tools.py").read_text()
    done = loriner("export", "own.py", "-o", "ex")
    assert done.returncode == 0
    assert (tmp_path / "ex" / "tools.py").read_text() == written
    assert done.stderr.count("note: ") == 1 and "ex/tools.py has changes of yours and is kept" in done.stderr


def test_what_led_and_could_not_be_confirmed_is_shown_with_the_command_that_takes_it(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    few = ("--rounds", "1", "-k", "2", "--grade", "4")
    done = loriner("adapt", str(folder), "--solver", stub.url, *few)
    assert done.returncode == 0, done.stderr
    assert "Ahead, but not confirmed" in done.stdout
    assert "To use it anyway: loriner take sums" in done.stdout
    assert "The search ended: rounds." in done.stdout
    run = json.loads(loriner("runs", "list", "--json").stdout)[0]["run"]
    document = json.loads(loriner("adapt", "--resume", run, "--json").stdout)
    kept = document["candidate"]
    assert kept["test"]["score"] == 1.0 and document["best"]["test"]["score"] == 0.0
    assert kept["reason"].startswith("refused: ") and document["stopped"]["reason"] == "rounds"
    assert "A candidate is ahead but was not confirmed" in loriner("report", run, "-o", "r.html").stdout
    assert loriner("show", "best/sums").stdout == loriner("show", document["seed"]["harness"][:12]).stdout
    assert loriner("take", "sums").stdout.startswith("best/sums is ")
    assert loriner("show", "best/sums").stdout == loriner("show", kept["harness"][:12]).stdout
    again = loriner("take", "sums")
    assert again.returncode == 2 and "is the best version of sums already" in again.stderr
