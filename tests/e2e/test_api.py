"""The Python face, as the README shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

import loriner as lo
from stub_server import Stub


def _model(stub: Stub) -> lo.Model:
    url, _, name = stub.url.partition("::")
    return lo.Model(url, name)


def test_a_task_of_ones_own_in_few_lines(folder: Path, stub: Stub, tmp_path: Path) -> None:
    task = lo.Task.from_jsonl(
        folder / "items.jsonl", scorer=lambda item, answer: float(answer == item["answer"])
    )
    run = lo.adapt(
        task, _model(stub), rounds=2, grade=12, test=12, budget=lo.Budget(calls=500), home=tmp_path
    )
    assert run.seed.test is not None and run.best.test is not None
    assert (run.seed.test.mean, run.best.test.mean) == (0.0, 1.0)
    assert "+from tools import run_python" in run.best.diff(run.seed)
    assert [each.accepted is not None for each in run.history] == [True]
    run.best.save(tmp_path / "harness.py")
    again = lo.evaluate(
        lo.Task.named(str(folder)), tmp_path / "harness.py", _model(stub), limit=5, home=tmp_path
    )
    assert again.mean_score == 1.0
    assert str(run.best).count("[") == 2


def test_errors_are_the_command_lines(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(lo.LorinerError, match="no model is called 'nothing'"):
        lo.evaluate(lo.Task.named(str(folder)), "library:minimal", "nothing", home=tmp_path)
    with pytest.raises(lo.LorinerError, match="nowhere"):
        lo.Task.named("nowhere", home=tmp_path)
