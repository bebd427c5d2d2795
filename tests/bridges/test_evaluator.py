"""A foreign evaluator under our search: it runs the programs itself, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import toy
from loriner import Completion, Proposer
from loriner.bridges import evaluator
from loriner.errors import HarnessError, InfrastructureError, TaskError

SEED = "def solve(model, question):\n    return 90\n"
EXAMPLES = toy.rows(40)


def evaluate(candidate: str, example: Any) -> Any:
    """Runs a candidate as no sandbox of ours would."""
    names: dict[str, Any] = {}
    exec(candidate, names)
    found = str(names["solve"](None, example["question"]))
    return float(found == example["answer"]), f"{found} words, expected {example['answer']}"


async def write(context: Any, index: int) -> Completion:
    """Writes the right program when it has read the feedback."""
    read = all(
        each.trial.detail.endswith(" words, expected " + each.trial.detail[-1]) for each in context.feedback
    )
    line = "    return len(question.split()) - 1" if read else "    return 'nothing was read'"
    return Completion(f"<<<<<<< SEARCH\n    return 90\n=======\n{line}\n>>>>>>> REPLACE\n")


def adapt(tmp_path: Path, function: Any, examples: Any = EXAMPLES, seed: str = SEED) -> Any:
    plan = {"rounds": 1, "feedback": 6, "grade": 12, "test": 8}
    return evaluator.adapt(
        function, seed, examples, Proposer("reads", write), name="foreign", home=tmp_path, **plan
    )


def test_search_paired_test_and_store_work_over_programs_that_others_run(tmp_path: Path) -> None:
    run = adapt(tmp_path, evaluate)
    assert run.best.test is not None
    assert (run.seed.grade.mean, run.best.grade.mean, run.best.test.mean) == (0.0, 1.0, 1.0)
    assert "len(question.split())" in run.best.source


def test_an_exception_is_the_candidates_and_a_broken_connection_is_ours(tmp_path: Path) -> None:
    def raises(candidate: str, example: Any) -> float:
        raise KeyError("no such key")

    async def away(candidate: str, example: Any) -> float:
        raise ConnectionError("the machine is away")

    assert adapt(tmp_path / "one", raises).seed.grade.mean == 0.0
    with pytest.raises(InfrastructureError, match="the machine is away"):
        adapt(tmp_path / "two", away)


def test_what_cannot_be_searched_over_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"12.0; expected a value in \[0, 1\]"):
        adapt(tmp_path, lambda candidate, example: 12)
    with pytest.raises(TaskError, match="two examples are equal"):
        adapt(tmp_path, evaluate, ["a", "a"])
    with pytest.raises(TaskError, match="no example in grade, test"):
        adapt(tmp_path, evaluate, {"feedback": ["a"]})
    with pytest.raises(HarnessError, match="missing_solve"):
        adapt(tmp_path, evaluate, EXAMPLES, seed="print(1)\n")
