"""What `evaluate` is asked for: harnesses on tasks, one of each or many, and what that would take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from loriner.config import Settings
from loriner.harness.contract import library_names
from loriner.search.estimate import Estimate, of_evaluation, total
from loriner.tasks.base import Split
from loriner.tasks.suites import spelt_out, split_names
from loriner.verbs.stage import tasks_of
from loriner.verbs.workspace import NOTHING, Lent, named, task_of

OWN_SEED = "seed"
"""Stands for each task's own seed harness."""
WHOLE_LIBRARY = "library"
"""As a harness: each one that ships with the package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The rows and columns of a scoreboard, before anything is scored."""

    suite: str
    """What was asked for, in the person's words."""
    tasks: tuple[str, ...]
    harnesses: tuple[str, ...] = (OWN_SEED,)
    """Names of harnesses: `library:NAME`, files, versions (`best` is each task's own best), or `seed`."""
    split: Split = "grade"
    limit: int | None = None
    """Questions of a task at most."""
    samples: int = 1

    @property
    def single(self) -> bool:
        """Whether it is one harness on one task, and that task was asked for by its own name: what is printed
        of a suite has the same form however many tasks are in it.
        """
        return self.tasks == (self.suite,) and len(self.harnesses) == 1


def asked_for(settings: Settings) -> Board:
    """The board that the settings ask for.

    Raises:
        ConfigError: no task is named.
        TaskError: a name that reads like a suite's but is none.
    """
    wanted, own = settings.evaluate, settings.task.name if settings.task else None
    names = split_names(named(wanted.suite or settings.adapt.task or own, "task", "TASK"))
    return Board(
        suite=",".join(names),
        tasks=spelt_out(names, settings.suites),
        harnesses=_harnesses(wanted.harnesses or [settings.adapt.harness or OWN_SEED]),
        split=wanted.split,
        limit=wanted.limit,
        samples=wanted.samples,
    )


def _harnesses(given: Sequence[str]) -> tuple[str, ...]:
    """The names with the whole library spelt out, each once."""
    library = [f"library:{name}" for name in library_names()]
    spelt = [each for name in given for each in (library if name == WHOLE_LIBRARY else [name])]
    return tuple(dict.fromkeys(spelt))


async def estimate(settings: Settings, lent: Lent = NOTHING) -> Estimate:
    """What `evaluate` would take.

    Raises:
        TaskError: a task does not open.
        ConfigError: money is capped and the price is unknown.
    """
    board = asked_for(settings)
    named(settings.adapt.solver, "solver", "--solver")
    async with tasks_of(partial(task_of, settings, lent=lent), board.tasks) as tasks:
        sizes = [(task.name, task.questions(board.split)[: board.limit]) for task in tasks]
    parts = [of_evaluation(settings, name, questions) for name, questions in sizes]
    return total([each for each in parts for _ in board.harnesses])
