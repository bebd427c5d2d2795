"""The bridge to verifiers, with the real package."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verifiers")

import verifiers.v1 as vf

import loriner as lo
import toy
from loriner.bridges.verifiers import FromTaskset
from loriner.errors import TaskError

pytestmark = pytest.mark.filterwarnings("ignore")


class Row(vf.TaskData):
    answer: str = ""


class Words(vf.Task[Row]):
    @vf.reward
    async def right(self, trace: vf.Trace) -> float:
        return float(trace.last_reply.strip() == self.data.answer)


class Unbounded(vf.Task[Row]):
    @vf.reward
    async def points(self, trace: vf.Trace) -> float:
        return 12.0


def tasks(kind: Any) -> Iterable[Any]:
    return [kind(Row(id=each["id"], prompt=each["question"], answer=each["answer"])) for each in toy.rows(40)]


def test_adapted_on_a_taskset(tmp_path: Path) -> None:
    task = FromTaskset(tasks(Words), "words", "How many words follow?")
    run = lo.adapt(task, toy.say, home=tmp_path, rounds=2, feedback=6, grade=12, test=8)
    assert run.best.test is not None and (run.seed.grade.mean, run.best.test.mean) == (0.0, 1.0)


def test_rewards_without_a_range_and_empty_tasksets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"12.0; expected a value in \[0, 1\]"):
        lo.evaluate(
            FromTaskset(tasks(Unbounded), "points"), "library:minimal", toy.say, home=tmp_path, limit=1
        )
    with pytest.raises(TaskError, match="the taskset none has no tasks"):
        FromTaskset([], "none")
