"""Settings, read once at the border: defaults < `loriner.toml` < `LORINER_*` < `--set` and flags.

An unknown key is an error that names the nearest known one. The resolved settings are stored with a run.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from loriner.errors import ConfigError
from loriner.models.meter import Budget
from loriner.models.named import ModelSpec
from loriner.runtime.base import Limits
from loriner.runtime.levels import Isolation
from loriner.statistics import Rule
from loriner.tasks.base import Split

FILE_NAME = "loriner.toml"
MOST_SEED = 2**53 - 1
"""Readers of JSON keep no larger number exactly, and SQLite none beyond 64 bits."""
_ENVIRONMENT = {"home", "seed", "offline", "models_dir"}


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TaskTable(Table):
    """A task of your own, written into `loriner.toml`: the same keys as a task folder's `task.toml`."""

    name: str
    items: Path
    """JSONL: `id`, `question`, `answer`, anything else."""
    scorer: str
    """`score.py:score`, relative to the file that names it."""
    split: dict[str, float] | None = None
    description: str = ""
    seed_harness: str = "minimal"


class AdaptTable(Table):
    """How `adapt` searches."""

    task: str | None = None
    solver: str | None = None
    proposer: str = "catalogue"
    harness: str | None = None
    """What to start from; None takes the task's own seed harness."""
    rounds: int = Field(default=10, ge=1)
    candidates: int = Field(default=1, ge=1)
    """Completions asked of the proposer in each round."""
    accept: Rule = "paired"
    feedback: int = Field(default=16, ge=1)
    """Questions shown to the proposer."""
    grade: int = Field(default=128, ge=1)
    """Questions that decide."""
    test: int = Field(default=64, ge=1)
    """Sealed questions, scored once at the end."""
    history: bool = True
    """Show the proposer what was tried before."""
    traces: bool = True
    """Show the proposer trials with answers and calls; without them it sees scores and counts."""
    targets: bool = True
    """Show the proposer the right answers of feedback questions."""


class CompareTable(Table):
    """What `compare` sets against each other. How each search works is in `adapt`."""

    tasks: list[str] = Field(default_factory=list)
    modes: list[Literal["sequential", "independent", "best-of-n", "sampling"]] = Field(
        default=["sequential", "independent", "best-of-n", "sampling"], min_length=1
    )
    seeds: int = Field(default=3, ge=1)
    """Repetitions, each with other samples of solver and proposer."""
    equal: Literal["calls", "tokens", "usd"] = "calls"
    """What every mode gets as much of as the others."""
    allowance: float | None = Field(default=None, gt=0)
    """So much of it; None takes what `sequential` used."""
    temperature: float = Field(default=0.7, gt=0, le=2)
    """At which `sampling` samples the seed program, where that asks for less."""


class EvaluateTable(Table):
    """What `evaluate` scores. A run keeps it, so that it can be resumed by its id alone."""

    suite: str | None = None
    """Task names and suites with commas between them; None is the task of `adapt`."""
    harnesses: list[str] = Field(default_factory=list)
    """None here: the harness of `adapt`, or else each task's own seed."""
    split: Split = "grade"
    limit: int | None = Field(default=None, ge=1)
    """Questions of a task at most."""
    samples: int = Field(default=1, ge=1)
    """Trials of each question."""


class ProposeTable(Table):
    """How a model is asked for revisions."""

    prompt_tokens: int = Field(default=16_000, ge=512)
    """Longest prompt, by a cautious count. A model whose context is known gets no more than fits."""
    completion_tokens: int = Field(default=8_192, ge=16)
    """Longest reply, which the context of a model may shorten too."""
    temperature: float = Field(default=0.8, ge=0)


class Settings(Table):
    """Everything that can be set, with its default."""

    home: Path = Path(".loriner")
    """Where all state lives."""
    models_dir: Path | None = None
    """Where weights lie; None is `models` under `home`."""
    seed: int = Field(default=0, ge=-MOST_SEED, le=MOST_SEED)
    offline: bool = False
    isolation: Isolation = "auto"
    allow_reduced: bool = False
    """Adapt and train below sandbox level 2."""
    cache: bool = True
    """Reuse replies to equal requests."""
    concurrency: int = Field(default=64, ge=1)
    """Trials in flight."""
    task: TaskTable | None = None
    models: dict[str, ModelSpec] = Field(default_factory=dict)
    limits: Limits = Limits()
    budget: Budget = Budget()
    adapt: AdaptTable = AdaptTable()
    evaluate: EvaluateTable = EvaluateTable()
    propose: ProposeTable = ProposeTable()
    compare: CompareTable = CompareTable()
    suites: dict[str, list[str]] = Field(default_factory=dict)
    """Your own sets of tasks, by name, beside those that `tasks list` shows."""
    sinks: list[Literal["mlflow", "wandb", "trackio", "tensorboard"]] = Field(default_factory=list)
    """Trackers that are told of every round."""

    @property
    def weights(self) -> Path:
        """The directory of pulled models."""
        return self.models_dir or self.home / "models"

    def as_json(self) -> dict[str, Any]:
        """The settings as JSON values, as stored with a run. Holds names of key variables, never keys."""
        return self.model_dump(mode="json")


def load(path: Path | None = None, assignments: Iterable[str] = ()) -> Settings:
    """The settings from `path` (or `./loriner.toml` if there is one), the environment and `a.b=c` texts.

    Raises:
        ConfigError: a file that cannot be read, an unknown key, a value of the wrong kind.
    """
    data, origin = _read(path)
    for name in _ENVIRONMENT:
        if (value := os.environ.get(f"LORINER_{name.upper()}")) is not None:
            data[name] = value
    for assignment in assignments:
        assign(data, assignment)
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        raise ConfigError(_explain(error, origin)) from None


def _read(path: Path | None) -> tuple[dict[str, Any], str]:
    if path is None:
        path = Path(FILE_NAME)
        if not path.exists():
            return {}, "settings"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")), str(path)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; write one with: loriner init") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def assign(data: dict[str, Any], assignment: str) -> None:
    """Puts `a.b=c` into `data`; the value is read as TOML, or else as plain text."""
    key, separator, text = assignment.partition("=")
    if not separator or not key.strip():
        raise ConfigError(f"--set {assignment}: expected KEY=VALUE, e.g. --set adapt.rounds=5")
    try:
        value = tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        value = text
    *path, last = key.strip().split(".")
    table = data
    for name in path:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise ConfigError(f"--set {assignment}: {name} is a value, not a table")
    table[last] = value


def _explain(error: ValidationError, origin: str) -> str:
    lines = []
    for each in error.errors(include_url=False):
        where = ".".join(str(part) for part in each["loc"])
        if each["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            lines.append(f"{origin}: unknown key {where}{_nearest(each['loc'])}")
        else:
            lines.append(f"{origin}: {where}: {each['msg']}, found {each['input']!r}")
    return "\n".join(lines)


def _nearest(location: tuple[int | str, ...]) -> str:
    known = _known_keys(Settings, location[:-1])
    near = difflib.get_close_matches(str(location[-1]), known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else f"; known here: {', '.join(sorted(known))}"


def _known_keys(table: Any, path: Iterable[int | str]) -> list[str]:
    """The keys of the table that `path` leads to, starting at `table`."""
    for name in path:
        if isinstance(table, type) and issubclass(table, BaseModel) and name in table.model_fields:
            table = _table_of(table.model_fields[str(name)].annotation)
        # A name below `models` is the user's own: stay at ModelSpec.
    if isinstance(table, type) and issubclass(table, BaseModel):
        return list(table.model_fields)
    return [field.name for field in fields(table)] if is_dataclass(table) else []


def _table_of(annotation: Any) -> Any:
    """The record inside an annotation such as `TaskTable | None` or `dict[str, ModelSpec]`."""
    if isinstance(annotation, type) and (is_dataclass(annotation) or issubclass(annotation, BaseModel)):
        return annotation
    inner = [_table_of(each) for each in getattr(annotation, "__args__", ())]
    return next((each for each in inner if each is not None), None)


def changed(settings: Settings, **values: Any) -> Settings:
    """The settings with flags laid over them; None means: not given. Nested tables by name."""
    update: dict[str, Any] = {}
    for name, value in values.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            given = {key: each for key, each in value.items() if each is not None}
            current = getattr(settings, name)
            value = {**(asdict(current) if is_dataclass(current) else current.model_dump()), **given}  # type: ignore[arg-type]
        update[name] = value
    try:
        return Settings.model_validate({**settings.model_dump(), **update})
    except ValidationError as error:
        raise ConfigError(_explain(error, "options")) from None
