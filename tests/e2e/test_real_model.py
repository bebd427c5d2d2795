"""A real, very small model through the whole path: sandbox, scorer, proposer, store, registry, document.

It is too small to gain anything; what is held is the plumbing. And the trained proposer of the package, which
writes edits that apply.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from command import Command
from loriner.models.named import KNOWN, open_model
from loriner.models.pull import pull
from loriner.propose.llm import Asking, llm_proposer
from loriner.propose.proposer import propose
from makers import context, feedback

WEIGHTS = Path(os.environ.get("LORINER_MODELS_DIR") or Path.home() / ".cache/loriner/models")


@pytest.mark.real_model
def test_a_real_model_is_adapted_to_a_real_task(loriner: Command, tmp_path: Path) -> None:
    pull("smollm2-135m", WEIGHTS)
    done = loriner(
        *("adapt", "rg:letter_counting", "--solver", "smollm2-135m", "--rounds", "1", "-k", "1"),
        *("--feedback", "4", "--grade", "4", "--test", "2", "--set", f"models_dir={WEIGHTS}", "--json"),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["task"] == "rg:letter_counting"
    assert document["rounds"][0]["candidates"][0]["code"] is None
    assert document["usage"]["completion_tokens"] > 20
    assert document["seed"]["test"]["n"] == 2
    trials = json.loads(loriner("runs", "show", document["run"], "--json").stdout)["trials"]
    assert {each["status"] for each in trials} <= {"ok", "wrong", "no_answer", "crashed"}


@pytest.mark.real_model
@pytest.mark.slow
async def test_the_trained_proposer_writes_an_edit_that_applies() -> None:
    """One of three completions: nine of ten of its completions were valid where it was measured."""
    pull("qwen2.5-coder-0.5b", WEIGHTS)
    model, spec = open_model("trained", specs={}, models_dir=WEIGHTS), KNOWN["trained"]
    proposer = llm_proposer(model, Asking().at_most(spec.prompt_tokens, spec.completion_tokens))
    seen = context(feedback(), feedback(question="What is 20 plus 3?", target="23", answer="24"))
    for index in range(3):
        rollout = await propose(proposer, seen, index)
        if rollout.candidate is not None:
            break
    await model.close()
    assert rollout.candidate is not None, rollout.failure
    assert rollout.candidate.source != seen.harness.source
    assert proposer.name.startswith("qwen2.5-coder-0.5b@1d9614638d18+trained.gguf@")
