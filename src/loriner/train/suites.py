"""Sets of tasks by name, opened in the splits that training uses.

The three training suites, the hard five and the unseen ones share no family.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from loriner.harness.contract import from_library, load
from loriner.records import Harness
from loriner.seeding import generator
from loriner.tasks.base import Task
from loriner.tasks.by_name import open_task
from loriner.tasks.reasoning_gym.task import ADAPTING, TRAINING
from loriner.tasks.suites import spelt_out
from loriner.tasks.varied.task import varied_name
from loriner.train.contexts import State
from loriner.train.renaming import renamed
from loriner.train.settings import ContextsTable, Setting


def open_suite(
    names: Iterable[str], settings: Iterable[Setting], *, home: Path, training: bool
) -> dict[str, Task]:
    """The tasks by the names that open them, in each setting.

    `training` opens a Reasoning Gym family in its training splits, which share no question with those that
    adaptation and comparisons use.

    Raises:
        TaskError, MissingExtra: as opening one of them.
    """
    roles = TRAINING if training else ADAPTING
    return {name: open_task(name, home=home, roles=roles) for name in in_settings(names, settings)}


def in_settings(names: Iterable[str], settings: Iterable[str]) -> tuple[str, ...]:
    """The tasks that the names stand for, in each setting; a name that has a setting keeps it.

    Raises:
        TaskError: no such suite, or a task has no such setting.
    """
    tasks = spelt_out(names)
    found = (varied_name(task) if setting == "varied" else task for setting in settings for task in tasks)
    return tuple(dict.fromkeys(found))


def states(table: ContextsTable, tasks: Mapping[str, Task], seed: int) -> list[State]:
    """A state for each task and program, and for each program's copies under other names."""
    found: dict[tuple[str, str], State] = {}
    for task in tasks.values():
        for name in table.harnesses:
            program = program_named(name, task)
            for copy in range(table.renamed + 1):
                source = program.source
                if copy:
                    source = renamed(source, generator(seed, "states", task.name, name, copy))
                state = State(task=task.name, harness=Harness(source))
                found.setdefault((state.task, state.harness.id), state)
    return list(found.values())


def program_named(name: str, task: Task) -> Harness:
    """`seed` is the task's own; `library:NAME`; or a file.

    Raises:
        HarnessError: there is none.
    """
    if name == "seed":
        return from_library(task.seed_harness)
    if name.startswith("library:"):
        return from_library(name.removeprefix("library:"))
    return load(Path(name))
