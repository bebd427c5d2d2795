"""What a caller hands over, as the engine knows it: by names in settings, and as objects that are lent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from loriner.models.base import ModelReply, ModelRequest
from loriner.models.named import LENT, ModelSpec
from loriner.models.own import as_model
from loriner.models.prices import Price
from loriner.propose.proposer import Proposer
from loriner.records import Harness
from loriner.tasks.base import Judged, Task, is_judged
from loriner.verbs.workspace import Lent


@dataclass(frozen=True, slots=True)
class Model:
    """An OpenAI-compatible endpoint. A plain text names any other model, as on the command line."""

    url: str
    name: str
    api_key_env: str | None = None
    """Name of the variable that holds the key; the key itself is never kept."""
    price: Price | None = None


class Completing(Protocol):
    """A model of the caller's own that knows requests and replies."""

    @property
    def name(self) -> str: ...

    async def complete(self, request: ModelRequest) -> ModelReply: ...


class Chatting(Protocol):
    """A model of the caller's own that is given messages, each a dict of `role` and `content`."""

    async def chat(self, messages: list[dict[str, str]]) -> str: ...


Solver = Model | str | Completing | Chatting | Callable[..., str] | Callable[..., Awaitable[str]]
"""A model: an endpoint, a name as on the command line, an object, or a function of the prompt."""
Writer = Solver | Proposer
"""A proposer: `catalogue`, a model, or a writer of revisions of the caller's own."""


class HasHarness(Protocol):
    @property
    def harness(self) -> Harness: ...


Program = str | Path | Harness | HasHarness
"""A harness: a version, `library:NAME`, a file, an object of `lo.Harness`, or `run.best`."""


@dataclass(slots=True)
class Given:
    """The objects of one call, by the names that they get."""

    lent: Lent = field(default_factory=Lent)
    specs: dict[str, ModelSpec] = field(default_factory=dict)

    def model(self, given: Solver) -> str:
        """The name of a model. Raises `ConfigError` where it is none."""
        if isinstance(given, str):
            return given
        if isinstance(given, Model):
            name = f"{given.url}::{given.name}"
            spec = ModelSpec(
                base_url=given.url, model=given.name, api_key_env=given.api_key_env, price=given.price
            )
            self.specs[name] = spec
            return name
        model = as_model(given)
        return self._kept(self.lent.models, f"{LENT}{model.name}", model)

    def proposer(self, given: Writer) -> str:
        """The name of a proposer. Raises `ConfigError` where it is none."""
        if isinstance(given, Proposer):
            return self._kept(self.lent.proposers, f"{LENT}{given.name}", given)
        return self.model(given)

    def task(self, given: Task | str) -> str:
        """The name of a task."""
        if isinstance(given, str):
            return given
        if isinstance(given, Judged) and is_judged(given):
            given = given.judged_by(self.model(given.judge))
        return self._kept(self.lent.tasks, given.name, given)

    def harness(self, given: Program) -> str | Harness:
        """The name of a harness, or the object that it is."""
        if isinstance(given, str | Path):
            return str(given)
        return given if isinstance(given, Harness) else given.harness

    def _kept(self, shelf: dict[str, Any], name: str, given: Any) -> str:
        """The name under which the object is kept: another one, where the name stands for another object."""
        free, n = name, 1
        while shelf.get(free, given) is not given:
            n += 1
            free = f"{name}#{n}"
        shelf[free] = given
        return free
