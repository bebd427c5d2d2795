"""A harness with the model that it asks, ready to answer questions that nobody scores."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

from loriner.api.cage import Ran, run_program
from loriner.concurrency import Door, in_background, opened
from loriner.config import Settings
from loriner.errors import HarnessError
from loriner.evaluation.examples import examples_tool, feedback_examples
from loriner.models.meter import Budget
from loriner.records import Harness, Question, Status
from loriner.store.exported.nearest import Examples
from loriner.tasks.base import Task, Tool
from loriner.verbs.workspace import Lent, Workspace, workspace

_SHOWN_CHARACTERS = 200


class Ready:
    """`ready("a question")` is the answer. The sandbox starts with the first question and stays until
    `close`, the end of a `with` block, or the end of the program.

    The harness has the tools of its task, if it has one: its own, and `examples` of the feedback questions.
    Replies come from the cache of the home directory where it has them; no run is recorded, and no cap holds.
    """

    def __init__(self, harness: Harness, settings: Settings, lent: Lent) -> None:
        """
        Args:
            settings: they name the solver, and the task if there is one.
            lent: objects that these names stand for.
        """
        self.harness = harness
        settings = settings.model_copy(update={"budget": Budget()})
        self._make = partial(_desk, harness, settings, lent)
        self._solver = settings.adapt.solver
        self._held = ExitStack()
        self._door: Door[_Desk] | None = None
        weakref.finalize(self, _let_go, self._held)

    def __call__(self, question: str, *, seed: int = 0) -> str:
        """The answer.

        Raises:
            HarnessError: the program ended without one.
            ModelError: the model failed, not the program.
        """
        ran = self.run(question, seed=seed)
        if ran.status is not Status.OK:
            last = (ran.error.strip().splitlines() or [""])[-1][:_SHOWN_CHARACTERS]
            found = ": ".join(filter(None, [str(ran.status), ran.detail, last]))
            raise HarnessError(
                f"the harness {self.harness.id[:12]} gave no answer to {question!r:.80}: {found}; "
                "`run` shows all that it did"
            )
        return ran.answer

    solve = __call__

    async def asolve(self, question: str, *, seed: int = 0) -> str:
        """As `solve`, while the caller's event loop goes on."""
        return await in_background(self.solve, question, seed=seed)

    def run(
        self, question: str, *, tools: Mapping[str, Callable[..., Any]] | None = None, seed: int = 0
    ) -> Ran:
        """How the program ended on the question, with what it asked for; `tools` add to the task's own."""
        if self._door is None:
            self._door = self._held.enter_context(opened(self._make))
        return self._door.call(lambda desk: desk.run(question, tools or {}, seed))

    def close(self) -> None:
        """Ends the sandbox; a later question starts it again."""
        self._door = None
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ready {self.harness.id[:12]}, solver {self._solver}>"


def _let_go(held: ExitStack) -> None:
    """Closes what is open. At the end of a program there is nobody left to hear of a failure."""
    with suppress(Exception):
        held.close()


@dataclass
class _Desk:
    """Where questions are answered, while it is open."""

    lab: Workspace
    harness: Harness
    task: Task | None

    @cached_property
    def examples(self) -> Examples:
        return Examples(()) if self.task is None else feedback_examples(self.task)

    async def run(self, question: str, tools: Mapping[str, Callable[..., Any]], seed: int) -> Ran:
        return await run_program(
            self.lab.runtime,
            harness=self.harness,
            question=question,
            model=self.lab.solver,
            tools={**self._granted(question), **tools},
            limits=self.lab.settings.limits,
            seed=seed,
        )

    def _granted(self, text: str) -> Mapping[str, Tool]:
        if self.task is None:
            return {}
        question = Question(task=self.task.name, id="", text=text, target=None)
        return {"examples": examples_tool(lambda: self.examples, question), **self.task.tools}


@asynccontextmanager
async def _desk(harness: Harness, settings: Settings, lent: Lent) -> AsyncIterator[_Desk]:
    async with workspace(settings) as lab:
        lab = replace(lab, lent=lent)
        name = settings.adapt.task
        task = None if name is None else lab.task(name)
        try:
            yield _Desk(lab, harness, task)
        finally:
            if task is not None and name not in lent.tasks:
                await task.close()
