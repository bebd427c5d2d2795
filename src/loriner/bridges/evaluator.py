"""A foreign evaluator, `evaluate(candidate, example) -> (score, feedback)`, as a runtime of ours.

It runs the candidates wherever it likes; search, paired test, store, resume and report are ours. Nothing is
run in our sandbox. What is not lifted: a candidate is a Python program that defines `solve(model, question)`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from loriner import api as lo
from loriner.api.given import Writer
from loriner.errors import TaskError
from loriner.models.own import OwnModel
from loriner.records import Question, Score, Status
from loriner.runtime.base import Limits, Program, Services, Verdict
from loriner.tasks import digests
from loriner.tasks.base import SPLITS, Split, Tool
from loriner.tasks.items import Item
from loriner.tasks.scorer import as_score
from loriner.tasks.splits import DEFAULT_SHARES, by_hash, read_shares
from loriner.verbs.workspace import Workspace

Evaluate = Callable[[str, Any], Any]
"""Plain or async; returns a score in [0, 1] or `(score, feedback)`. An OSError or a TimeoutError (so also a
ConnectionError) is its own fault, and unscored; any other exception is the candidate's, and scores 0."""
Examples = Sequence[Any] | Mapping[Split, Sequence[Any]]
"""Texts or JSON values: a sequence, which is split in three, or one for each split."""


def adapt(
    evaluate: Evaluate,
    seed: str,
    examples: Examples,
    proposer: Writer,
    *,
    name: str,
    description: str = "",
    home: str | Path = ".loriner",
    **search: Any,
) -> lo.Run:
    """As `lo.adapt`, over programs that `evaluate` runs.

    Raises:
        TaskError: a split has no example, two examples are equal, or a score is not in [0, 1].
        HarnessError: the seed does not define `solve(model, question)`.
    """
    foreign = Foreign(evaluate, examples, name, description)
    nobody = OwnModel(lambda prompt: "", "none")  # the evaluator asks its models itself
    harness = lo.Harness.from_text(seed)
    with lo.open(home, allow_reduced=True) as lab, lab.door.entered(partial(_over, runtime=foreign)) as door:
        return lo.Lab(door).adapt(foreign, nobody, proposer, harness=harness, **search)


@asynccontextmanager
async def _over(lab: Workspace, runtime: Foreign) -> AsyncIterator[Workspace]:
    yield replace(lab, runtime=runtime)


class Foreign:
    """Task and runtime in one: questions are examples, and a trial is one call of the evaluator."""

    tools: Mapping[str, Tool] = {}
    seed_harness = "minimal"
    level = 0
    notes = ("a foreign evaluator runs the programs, not this machine's sandbox",)

    def __init__(self, evaluate: Evaluate, examples: Examples, name: str, description: str) -> None:
        self.name = name
        self.description = description or f"Scored by {getattr(evaluate, '__name__', 'an evaluator')}."
        self._evaluate = evaluate
        parts = examples if isinstance(examples, Mapping) else {None: examples}
        self._examples: dict[str, Any] = {}
        items: list[Item] = []
        for split, some in parts.items():
            for each in some:
                text = _text(each)
                if text in self._examples:
                    raise TaskError(f"{name}: two examples are equal: {text:.80}")
                self._examples[text] = each
                item = {"id": digests.of_text(text)[:16], "question": text}
                items.append(item if split is None else {**item, "split": split})
        self._splits = by_hash(items, read_shares(DEFAULT_SHARES, name))
        if empty := [split for split in SPLITS if not self._splits[split]]:
            raise TaskError(f"{name} has no example in {', '.join(empty)}")

    def questions(self, split: Split) -> list[Question]:
        return [
            Question(task=self.name, id=each["id"], text=each["question"], target=None)
            for each in self._splits[split]
        ]

    async def score(self, question: Question, answer: str) -> Score:
        """What the evaluator said, which the verdict carries as its answer."""
        found = json.loads(answer)
        value = {"value": found["score"], "feedback": found["feedback"]}
        return as_score(value, f"the evaluator of {self.name}", {"id": question.id})

    async def run(self, program: Program, services: Services, limits: Limits) -> Verdict:
        try:
            found = await self._called(program.source, self._examples[program.question])
        except OSError as error:  # TimeoutError is one
            return _verdict(Status.INFRA_ERROR, error)
        except Exception as error:  # noqa: BLE001 - a candidate may make an evaluator raise anything
            return _verdict(Status.CRASHED, error)
        score, feedback = found if isinstance(found, tuple) else (found, "")
        said = {"score": score, "feedback": feedback if isinstance(feedback, str) else _text(feedback)}
        return Verdict(status=Status.OK, answer=json.dumps(said, default=float))

    async def _called(self, candidate: str, example: Any) -> Any:
        if inspect.iscoroutinefunction(self._evaluate):
            return await self._evaluate(candidate, example)
        return await asyncio.to_thread(self._evaluate, candidate, example)

    async def run_python(self, code: str, limits: Limits) -> Verdict:
        return Verdict(status=Status.DENIED, error="a foreign evaluator runs whole programs only")

    async def start(self) -> None:
        """The evaluator is the caller's."""

    async def close(self) -> None:
        """The evaluator is the caller's."""


def _verdict(status: Status, error: Exception) -> Verdict:
    return Verdict(status=status, detail=type(error).__name__, error=str(error)[:2000])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
