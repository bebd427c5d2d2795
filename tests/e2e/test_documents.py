"""`--json`: stdout is one document, also of the commands that otherwise print a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Command
from loriner.records import Version
from loriner.store.commit_message import Evidence
from loriner.store.database import Store
from loriner.store.registry import Registry
from recorded import SEED


@pytest.fixture
def commit(tmp_path: Path) -> str:
    """The only version of the task `sums`."""
    home = tmp_path / "home"
    Store.open(home).close()
    version = Version(
        harness_id=SEED.id,
        parent_id=None,
        episode_id="run-1",
        round=0,
        revision=None,
        mean_score=0.5,
        accepted=True,
    )
    return Registry.open(home).commit(version, SEED, task="sums", evidence=Evidence())


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("tasks new capitals", {"task", "folder"}),
        ("tag first sums", {"tag", "commit"}),
        ("revert sums seed", {"task", "commit", "version"}),
        ("export sums -o out", {"harness", "files", "kept", "missing"}),
        ("--version", {"version"}),
    ],
)
def test_stdout_is_one_document(loriner: Command, commit: str, line: str, keys: set[str]) -> None:
    done = loriner(*line.split(), "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert set(document) == keys
    assert document.get("tag") is None or document["commit"] == commit


def test_what_has_no_document_says_where_one_is(loriner: Command, commit: str) -> None:
    done = loriner("--json", "runs", "watch")
    assert done.returncode == 2 and "loriner runs show RUN --json" in done.stderr
    assert json.loads(done.stdout)["error"]["kind"] == "ConfigError"
