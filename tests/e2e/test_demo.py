"""The demo on a small scale: a local endpoint in place of the model that it downloads."""

from __future__ import annotations

import json
from pathlib import Path

from command import Command
from stub_server import Stub


def test_the_demo_finds_a_better_program_in_one_round(loriner: Command, folder: Path, stub: Stub) -> None:
    done = loriner("demo", "--task", str(folder), "--solver", stub.url, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert len(document["rounds"]) == 1
    assert document["seed"]["test"]["high"] < document["best"]["test"]["low"], "the intervals do not touch"
    assert document["best"]["grade"]["n"] == 8 and document["best"]["test"]["n"] == 10
