"""The registry through kills and several writers: whole after each, and nothing acknowledged is lost."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from loriner.store.registry import Registry

N_KILLS = 6

WRITER = """
import os, sys
from pathlib import Path
from loriner.records import Harness, Version
from loriner.store.commit_message import Evidence
from loriner.store.registry import Registry

registry, run, n_versions = Registry.open(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
seed = Harness("def solve(model, question):\\n    return model(question)\\n")
parent = None
os.write(1, b"open\\n")
for number in range(n_versions):
    harness = Harness(seed.source + f"# {run} {number}\\n") if number else seed
    version = Version(
        harness_id=harness.id, parent_id=parent, episode_id=run, round=number, revision=None,
        mean_score=0.5, accepted=True,
    )
    sha = registry.commit(version, harness, task="rg:maze", evidence=Evidence())
    os.write(1, sha.encode() + b"\\n")
    parent = harness.id
"""


def writer(home: Path, run: str, n_versions: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", WRITER, str(home), run, str(n_versions)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def fsck(registry: Registry) -> str:
    """What git finds wrong; dangling objects of a killed commit are none."""
    if shutil.which("git") is None:
        return ""
    command = ["git", "-c", "safe.directory=*", "-C", str(registry.path), "fsck", "--strict", "--no-dangling"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode else ""


def test_kill_9_leaves_a_whole_registry_that_a_resumed_run_goes_on_with(tmp_path: Path) -> None:
    chance = random.Random(7)
    acknowledged: set[str] = set()
    for _ in range(N_KILLS):
        process = writer(tmp_path, "run-1", 10_000)
        assert process.stdout is not None and process.stdout.readline() == "open\n"
        time.sleep(chance.uniform(0.05, 0.4))
        process.kill()
        acknowledged |= set(process.communicate()[0].split())
    registry = Registry.open(tmp_path)
    assert fsck(registry) == ""
    log = registry.log("rg:maze") if acknowledged else []
    assert acknowledged <= {entry.sha for entry in log}
    assert [entry.round for entry in log] == list(range(len(log)))[::-1], "no version twice, none left out"

    finished = writer(tmp_path, "run-1", len(log) + 1)
    assert finished.communicate()[1] == "" and finished.returncode == 0
    assert len(registry.log("rg:maze")) == len(log) + 1


def test_two_processes_take_turns(tmp_path: Path) -> None:
    writers = [writer(tmp_path, run, 12) for run in ("run-1", "run-2")]
    for process in writers:
        assert process.communicate()[1] == "" and process.returncode == 0
    registry = Registry.open(tmp_path)
    assert len(registry.log("rg:maze")) == 23, "one seed that both share, and eleven versions each"
    for run in ("run-1", "run-2"):
        assert [entry.round for entry, _ in registry.lineage(run)] == list(range(12))
    assert fsck(registry) == ""
