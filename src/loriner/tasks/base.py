"""The seam to a task: questions with private targets, a scorer, and the tools it grants."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from loriner.records import Call, Question, Score

Split = Literal["feedback", "grade", "test"]
SPLITS: tuple[Split, ...] = ("feedback", "grade", "test")

Tool = Callable[..., Awaitable[Any]]
"""A host-side tool: keyword arguments from the harness, a JSON value back."""


class Task(Protocol):
    """A source of questions with a scorer and the tools it grants."""

    @property
    def name(self) -> str:
        """Its name, e.g. `rg:count_primes`."""
        ...

    @property
    def description(self) -> str:
        """What is asked and how an answer is scored, in words fit for a proposer. Holds no target."""
        ...

    @property
    def seed_harness(self) -> str:
        """The library name of the harness that adaptation starts from."""
        ...

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Host-side tools by name, beside those that every task grants (`harness.contract.GRANTED`)."""
        ...

    def questions(self, split: Split) -> Sequence[Question]:
        """All questions of a split, in a fixed order. The splits share no question."""
        ...

    async def score(self, question: Question, answer: str) -> Score:
        """The verdict on a non-empty answer (the caller scores an empty one 0 without asking).

        Raises:
            TaskError: the scorer itself broke its contract and no verdict can be given.
        """
        ...

    async def close(self) -> None:
        """Ends the scorer's worker, if there is one. Safe to call twice."""
        ...


@runtime_checkable
class Judged(Protocol):
    """A task that may be scored by a model, which a run has to lend it."""

    @property
    def judge(self) -> Any:
        """The model: its name, or an object of the caller's own; None where no model scores."""
        ...

    def seated(self, ask: Callable[..., Awaitable[Call]]) -> Task:
        """The same task, whose judge is asked through `ask` (`tasks.judge.Ask`)."""
        ...

    def judged_by(self, name: str) -> Task:
        """The same task, whose judge is called `name`."""
        ...


def is_judged(task: Task) -> bool:
    """Whether a model scores it."""
    return isinstance(task, Judged) and task.judge is not None


@runtime_checkable
class Digested(Protocol):
    """A task that can tell whether it is what it was."""

    @property
    def digests(self) -> Mapping[str, str]:
        """What its scores rest on, as digests by part, e.g. of its items and its scorer. A run that is taken
        up again refuses a task whose parts are not those it began with.
        """
        ...
