"""A real, very small model through the whole path: sandbox, scorer, proposer, store, registry, document.

It is too small to gain anything; what is held is the plumbing.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from command import Command
from loriner.models.pull import pull


@pytest.mark.real_model
def test_a_real_model_is_adapted_to_a_real_task(loriner: Command, tmp_path: Path) -> None:
    weights = Path(os.environ.get("LORINER_MODELS_DIR") or Path.home() / ".cache/loriner/models")
    pull("smollm2-135m", weights)
    done = loriner(
        *("adapt", "rg:letter_counting", "--solver", "smollm2-135m", "--rounds", "1", "-k", "1"),
        *("--feedback", "4", "--grade", "4", "--test", "2", "--set", f"models_dir={weights}", "--json"),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["task"] == "rg:letter_counting"
    assert document["rounds"][0]["candidates"][0]["code"] is None
    assert document["usage"]["completion_tokens"] > 20
    assert document["seed"]["test"]["n"] == 2
    trials = json.loads(loriner("runs", "show", document["run"], "--json").stdout)["trials"]
    assert {each["status"] for each in trials} <= {"ok", "wrong", "no_answer", "crashed"}
