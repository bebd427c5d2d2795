"""A tiny task with a scripted solver, and a runtime that runs programs in a thread: enough to train on in
seconds.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from loriner.errors import ModelUnavailable
from loriner.evaluation.evaluator import Evaluator
from loriner.harness.contract import canonical
from loriner.harness.rewrite import make_edits
from loriner.models.base import Message, ModelReply, ModelRequest
from loriner.propose.proposer import Completion, read
from loriner.records import Context, Harness, Question, Score, Status
from loriner.runtime.base import Limits, Program, Services, Verdict
from loriner.store.database import Store
from loriner.tasks.base import Split, Tool
from loriner.train.exercise import Exercise
from loriner.train.reward import Reward, Scored

SEED = Harness(canonical("def solve(model, question):\n    return model(question)\n"))
GOOD = Harness(canonical("def solve(model, question):\n    return model(question).split()[-1]\n"))
EMPTY = Harness(canonical("def solve(model, question):\n    return ''\n"))
CRASH = Harness(canonical("def solve(model, question):\n    raise ValueError(question)\n"))
HALF = Harness(
    canonical(
        "def solve(model, question):\n"
        "    reply = model(question)\n"
        "    return reply.split()[-1] if int(reply.split()[-1]) % 2 else reply\n"
    )
)
"""Right on odd sums only."""


class Sums:
    """`a plus b`, for the sum; the grade questions alternate between odd and even sums."""

    name = "sums"
    description = "Add two numbers. The answer is the sum alone."
    seed_harness = "minimal"

    @property
    def tools(self) -> Mapping[str, Tool]:
        return {}

    def questions(self, split: Split) -> Sequence[Question]:
        start = {"feedback": 0, "grade": 100, "test": 200}[split]
        return [
            Question(task=self.name, id=f"sums-{n}", text=f"{n} plus 1", target=str(n + 1))
            for n in range(start, start + 32)
        ]

    async def score(self, question: Question, answer: str) -> Score:
        return Score(float(answer == question.target))

    async def close(self) -> None:
        """Holds nothing."""


class Solver:
    """Answers a sum in a sentence; counts its calls; `down` makes it fail."""

    name = "scripted:sums"

    def __init__(self) -> None:
        self.n_calls = 0
        self.down = False
        self.delay_s = 0.0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.n_calls += 1
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        if self.down:
            raise ModelUnavailable("the scripted solver is down")
        a, b = map(int, re.findall(r"\d+", request.messages[-1].content)[:2])
        return ModelReply(text=f"The answer is {a + b}", usd=0.0)

    async def close(self) -> None:
        """Holds nothing."""


class InThread:
    """Runs a program in a thread of this process: no sandbox, for programs of these tests only."""

    level = 0

    async def start(self) -> None:
        """Nothing to start."""

    async def run(self, program: Program, services: Services, limits: Limits) -> Verdict:
        loop, lost = asyncio.get_running_loop(), list[ModelUnavailable]()

        def model(prompt: str, **options: Any) -> str:
            request = {"messages": [{"role": "user", "content": prompt}], **options}
            try:
                return asyncio.run_coroutine_threadsafe(services.model(request), loop).result()[0]
            except ModelUnavailable as error:
                lost.append(error)
                raise

        def work() -> Verdict:
            scope: dict[str, Any] = {}
            try:
                exec(program.source, scope)
                return Verdict(status=Status.OK, answer=str(scope["solve"](model, program.question)))
            except Exception as error:  # noqa: BLE001
                return Verdict(status=Status.CRASHED, detail=type(error).__name__, error=str(error))

        verdict = await asyncio.to_thread(work)
        if lost:
            return Verdict(status=Status.INFRA_ERROR, detail="model", error=str(lost[0]))
        return verdict

    async def run_python(self, code: str, limits: Limits) -> Verdict:
        return Verdict(status=Status.DENIED)

    async def close(self) -> None:
        """Nothing to close."""


@asynccontextmanager
async def laboratory(home: Path, solver: Solver | None = None) -> AsyncIterator[Evaluator]:
    """An evaluator with a store of its own."""
    store = Store.open(home)
    run_id = store.start_run("test", config={}, seed=0)
    try:
        yield Evaluator(runtime=InThread(), solver=solver or Solver(), store=store, run_id=run_id)
    finally:
        store.close()


def exercise(n_grade: int = 4, *, harness: Harness = SEED, number: int = 0) -> Exercise:
    """An exercise on the sums."""
    context = Context(
        id=f"context-{number}",
        task=Sums.name,
        description=Sums.description,
        tools=("run_python",),
        round=1,
        harness=harness,
        feedback=(),
    )
    shown = (Message("system", "Revise."), Message("user", f"{number}\n{harness.source}"))
    return Exercise(context=context, messages=shown, grade=tuple(f"sums-{100 + n}" for n in range(n_grade)))


def edit(new: Harness, old: Harness = SEED) -> str:
    """A completion that turns `old` into `new`."""
    return f"Change it.\n\n{make_edits(old.source, new.source)}"


def vowels(exercises: Sequence[Exercise], completions: Sequence[str], indices: Sequence[int]) -> list[Scored]:
    """A dense stand-in for running programs: the share of vowels. A random policy can learn it, edits it
    cannot.
    """
    return [
        Scored(
            rollout=read(each.context, index, Completion(text)),
            reward=Reward(
                score=sum(letter in "aeiou" for letter in text) / max(1, len(text)),
                parsed=False,
                applied=False,
                completion_rate=0.0,
            ),
            before=0.0,
        )
        for each, text, index in zip(exercises, completions, indices, strict=True)
    ]
