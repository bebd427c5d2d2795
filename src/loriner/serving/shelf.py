"""The harnesses that are served, by the names that clients use. They follow the registry."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from loriner.config import Settings
from loriner.errors import ConfigError, LorinerError
from loriner.evaluation.examples import examples_tool, feedback_examples
from loriner.records import Harness, Question
from loriner.seeding import generator
from loriner.serving.counts import Counts
from loriner.store.database import Store
from loriner.store.exported.nearest import Examples
from loriner.store.registry import Registry
from loriner.tasks.base import Task, Tool
from loriner.verbs.workspace import find_harness, task_of, unrecorded

logger = logging.getLogger("loriner")

LOOK_S = 1.0
"""How often the registry is read."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What one word of the command asks for: `NAME=HARNESS` or `NAME=HARNESS@TASK`."""

    name: str
    harness: str
    task: str | None

    @classmethod
    def read(cls, word: str) -> Spec:
        """Raises `ConfigError` where the word has another form."""
        name, equals, rest = word.partition("=")
        harness, at, task = rest.partition("@")
        if not (name and equals and harness) or (at and not task):
            raise ConfigError(f"{word!r} is not NAME=HARNESS or NAME=HARNESS@TASK, such as words=best@words")
        return cls(name, harness, task or None)


@dataclass(frozen=True, slots=True)
class Canary:
    """A share of the questions to the first harness that another one answers."""

    name: str
    share: float

    @classmethod
    def read(cls, word: str) -> Canary:
        """Raises `ConfigError` where the word is not `NAME:SHARE` with a share between 0 and 1."""
        name, _, share = word.rpartition(":")
        try:
            found = cls(name, float(share))
        except ValueError:
            found = cls("", 0.0)
        if not found.name or not 0.0 < found.share < 1.0:
            raise ConfigError(
                f"--canary {word!r} is not NAME:SHARE with a share between 0 and 1, such as new:0.1"
            )
        return found

    def takes(self, question: str) -> bool:
        """Whether a question is one of the share. Equal questions always go the same way."""
        return generator(0, "canary", question).random() < self.share


@dataclass
class Served:
    """One harness under a name, with the tools of its task."""

    name: str
    harness: Harness
    version: str
    """What it was asked for as, such as `best`."""
    task: Task | None = None

    def tools(self, question: str) -> Mapping[str, Tool]:
        """What a program may call while it answers the question, as in a trial of its task."""
        if self.task is None:
            return {}
        asked = Question(task=self.task.name, id="served", text=question, target=None)
        return {"examples": examples_tool(lambda: self._examples, asked), **self.task.tools}

    @cached_property
    def _examples(self) -> Examples:
        assert self.task is not None
        return feedback_examples(self.task)


@dataclass(slots=True)
class Shelf:
    """All that is served. The first harness is the one that a canary stands beside."""

    served: dict[str, Served]
    registry: Registry
    solver: str | None
    """The solver whose best versions are meant."""
    canary: Canary | None = None
    counts: Counts = field(default_factory=Counts)
    _told: str = ""
    """What was wrong with the registry at the last look."""

    @classmethod
    def open(cls, settings: Settings, words: Sequence[str], canary: str | None = None) -> Shelf:
        """The harnesses that the words ask for.

        Raises:
            ConfigError: a word is none, a name stands twice, or there is no such version.
            HarnessError: the harness cannot be used.
            TaskError: the task cannot be opened.
        """
        registry, served = Registry(settings.home), dict[str, Served]()
        for spec in map(Spec.read, words):
            if spec.name in served:
                raise ConfigError(f"the name {spec.name!r} is given twice: each harness needs its own")
            task = None if spec.task is None else task_of(settings, spec.task)
            found = _found(settings, registry, spec.harness, task)
            served[spec.name] = Served(spec.name, found, spec.harness, task)
        chosen = None if canary is None else Canary.read(canary)
        if chosen is not None and chosen.name not in list(served)[1:]:
            raise ConfigError(
                f"--canary {canary}: {chosen.name!r} must be served beside the first harness: add "
                f"{chosen.name}=HARNESS after it"
            )
        return cls(served, registry, settings.adapt.solver, chosen)

    def chosen(self, name: str, question: str) -> Served:
        """The harness that answers a question to this name."""
        canary = self.canary
        if canary is not None and name == next(iter(self.served)) and canary.takes(question):
            return self.served[canary.name]
        return self.served[name]

    async def follow(self) -> None:
        """Swaps in what the registry comes to hold, until cancelled. What cannot be read stays as it was."""
        moving = [each for each in self.served.values() if unrecorded(each.version) is None]
        while moving:
            await asyncio.sleep(LOOK_S)
            for each in moving:
                await self._look(each)

    async def _look(self, served: Served) -> None:
        name = None if served.task is None else served.task.name
        try:
            found = await asyncio.to_thread(
                self.registry.harness, served.version, task=name, solver=self.solver
            )
        except (LorinerError, OSError) as error:
            if self._told != str(error):
                logger.warning(f"{served.name} stays as it is: {error}")
            self._told = str(error)
            return
        if found.id != served.harness.id:
            logger.warning(f"{served.name} is now {found.id[:12]} (was {served.harness.id[:12]})")
            self.counts.swaps[served.name] += 1
            served.harness = found

    async def close(self) -> None:
        for each in self.served.values():
            if each.task is not None:
                await each.task.close()


def _found(settings: Settings, registry: Registry, name: str, task: Task | None) -> Harness:
    found = unrecorded(name)
    if found is not None:
        return found
    store = Store.existing(settings.home)
    try:
        return find_harness(name, store, registry, None if task is None else task.name, settings.adapt.solver)
    finally:
        store.close()
