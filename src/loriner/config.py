"""Settings, read once at the border: defaults < `loriner.toml` < `LORINER_*` < `--set` and flags.

An unknown key is an error that names the nearest known one. The resolved settings are stored with a run.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from loriner.errors import ConfigError
from loriner.models.meter import Allowance, Budget, Unit
from loriner.models.named import ModelSpec
from loriner.runtime.base import Limits
from loriner.runtime.levels import Isolation
from loriner.statistics import Rule
from loriner.tasks.base import Split
from loriner.tasks.splits import split_named
from loriner.tasks.suites import split_names

FILE_NAME = "loriner.toml"
MOST_SEED = 2**53 - 1
"""Readers of JSON keep no larger number exactly, and SQLite none beyond 64 bits."""
_ENVIRONMENT = {"home", "seed", "offline", "models_dir"}
Sink = Literal["mlflow", "wandb", "trackio", "tensorboard"]


class SettingsTable(BaseModel):
    """A part of the settings: a TOML table, options of the command line, keyword arguments, and what a run
    keeps of them. A setting is described once, under its field.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    @classmethod
    def of(cls, other: SettingsTable, **further: Any) -> Self:
        """The fields that `other` has in common with this record, and further ones, which win."""
        shared = cls.model_fields.keys() & type(other).model_fields
        return cls(**{**{name: getattr(other, name) for name in shared}, **further})


@dataclass(frozen=True, slots=True)
class Flag:
    """How a setting is given on the command line, where its name does not say it."""

    name: str = ""
    """In place of the setting's name."""
    short: str = ""
    """One letter, such as `-k`."""
    argument: bool = False
    """Given by its place, without a name."""
    off: str = ""
    """What the option says that switches it off, for a setting that is on by default."""


def _names(value: Any) -> Any:
    """A list of names from texts with commas between them; a list stays one."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(each, str) for each in texts):
        return value
    return [name for text in texts for name in split_names(text)]


def _joined(value: Any) -> Any:
    """Names with commas between them, from one text or several."""
    return ",".join(value) if isinstance(value, list | tuple) else value


def _split(value: Any) -> Any:
    """A split by any of its names."""
    return split_named(value) if isinstance(value, str) else value


Names = Annotated[list[str], BeforeValidator(_names)]
Mode = Literal["sequential", "independent", "best-of-n", "sampling", "tree"]
MODES: tuple[Mode, ...] = get_args(Mode)
Revise = Literal["current", "seed", "tree"]


class TaskSettings(SettingsTable):
    """A task of your own, written into `loriner.toml`: the same keys as a task folder's `task.toml`."""

    name: str
    """The name of the task."""
    items: Path
    """A JSONL file with `id`, `question`, `answer` and anything else."""
    scorer: str
    """`score.py:score`, relative to the file that names it."""
    split: dict[str, float] | None = None
    """Shares of the splits; default: 0.3 feedback, 0.3 grade, 0.4 test."""
    description: str = ""
    """What is asked and how it is scored, in words for the proposer."""
    seed_harness: str = "minimal"
    """The library harness that adaptation starts from."""


class SearchSettings(SettingsTable):
    """How an adaptation searches."""

    rounds: int = Field(default=10, ge=1)
    """Largest number of rounds."""
    candidates: Annotated[int, Flag(short="-k")] = Field(default=1, ge=1)
    """Completions asked of the proposer in each round."""
    accept: Rule = "paired"
    """The rule by which a candidate is accepted."""
    feedback: int = Field(default=16, ge=1)
    """Feedback questions per round that the proposer is shown: the next ones of the split, and more as long
    as all answers are right."""
    grade: int = Field(default=128, ge=1)
    """Largest number of grade questions, which decide; most candidates are scored on the first block only."""
    test: int = Field(default=64, ge=0)
    """Largest number of sealed test questions, scored once at the end; 0 leaves them unused."""
    revise: Revise = "current"
    """What a round revises: the version accepted last; always the seed, with no memory of other rounds; or
    (`tree`) the scored program with the highest upper confidence bound."""
    oracle: bool = False
    """Also score every candidate on the sealed questions, to report the best; this decides nothing."""
    allowance: Allowance | None = None
    """What the search may use, such as `{ unit = "calls", amount = 500 }`. Once it is used up, no round
    begins, and a candidate that exceeded it does not count."""


class AdaptSettings(SearchSettings):
    """What `adapt` works on, and how. Other commands use its task, solver, proposer and harness, unless they
    are given their own.
    """

    task: Annotated[str | None, Flag(argument=True)] = None
    """A task name, rg:FAMILY, or a task folder; default: from loriner.toml."""
    solver: str | None = None
    """The frozen model that answers."""
    proposer: str = "catalogue"
    """`catalogue`, `trained`, or any other model that writes revisions."""
    harness: str | None = None
    """Where to start: a version, library:NAME or a file; default: the task's own seed harness."""
    history: Annotated[bool, Flag(off="Hide earlier revisions from the proposer.")] = True
    """Show the proposer what was tried before."""
    traces: Annotated[bool, Flag(off="Hide trials from the proposer.")] = True
    """Show the proposer trials with answers and calls; otherwise it sees only scores and counts."""
    targets: Annotated[bool, Flag(off="Hide right answers from the proposer.")] = True
    """Show the proposer the right answers of feedback questions."""
    scores_only: bool = False
    """Show the proposer only the program and its scores."""


class CompareSettings(SettingsTable):
    """What `compare` compares. How each search works is set in `adapt`."""

    tasks: Annotated[Names, Flag(argument=True)] = Field(default_factory=list)
    """Tasks, or suites: rg-train, rg-hard, one of loriner.toml; default: the task of `adapt`."""
    modes: Annotated[list[Mode], BeforeValidator(_names)] = Field(default=list(MODES[:4]), min_length=1)
    """Search modes, with commas between them."""
    seeds: int = Field(default=3, ge=1)
    """Repetitions, each with new samples of solver and proposer."""
    equal: Unit = "calls"
    """What is held equal between the modes."""
    allowance: float | None = Field(default=None, gt=0)
    """Budget of each search, in the unit of --equal; default: what `sequential` used."""
    temperature: float = Field(default=0.7, gt=0, le=2)
    """Lowest temperature of the seed program's calls in the mode `sampling`."""


class EvaluateSettings(SettingsTable):
    """What `evaluate` scores. A run stores these settings, so its id is enough to resume it."""

    suite: Annotated[str | None, BeforeValidator(_joined), Flag(argument=True)] = None
    """Tasks or suites, with commas between them; default: the task of `adapt`."""
    harnesses: Annotated[list[str], Flag(name="harness")] = Field(default_factory=list)
    """A version, library:NAME, a file, or `library` for all of it; may be given several times. Default: the
    harness of `adapt`, or else each task's own seed."""
    split: Annotated[Split, BeforeValidator(_split)] = "grade"
    """Which questions to use."""
    limit: int | None = Field(default=None, ge=1)
    """Largest number of questions per task."""
    samples: int = Field(default=1, ge=1)
    """Trials per question."""


class ProposeSettings(SettingsTable):
    """How a model is asked for revisions."""

    prompt_tokens: int = Field(default=16_000, ge=512)
    """Longest prompt, by a cautious count. A model with a known context gets no more than fits."""
    completion_tokens: int = Field(default=8_192, ge=16)
    """Longest reply; the context of the model may shorten it too."""
    temperature: float = Field(default=0.8, ge=0)
    """Sampling temperature of the proposer."""


class CompareProposersSettings(SettingsTable):
    """What `compare-proposers` compares."""

    suite: Annotated[str | None, BeforeValidator(_joined), Flag(argument=True)] = None
    """Suites and tasks, with commas between them, or frozen contexts (FILE.jsonl)."""
    proposers: Names = Field(default_factory=list)
    """NAME=MODEL, `catalogue` or `trained`, with commas between them."""
    per_task: int = Field(default=2, ge=1)
    """Contexts per task."""
    completions: Annotated[int, Flag(short="-k")] = Field(default=4, ge=1)
    """Completions per context."""
    grade: int = Field(default=16, ge=1)
    """Questions that score a completion."""
    setting: Literal["canonical", "varied", "both"] = "canonical"
    """Use the questions as they are, in varied formats, or both."""
    out: Path = Path("comparison")
    """Folder for contexts and samples."""


class Settings(SettingsTable):
    """Everything that can be set, with its default."""

    home: Path = Path(".loriner")
    """Folder of all state: store, registry, generated items, weights."""
    models_dir: Path | None = None
    """Folder of the weights; default: `models` under `home`."""
    seed: int = Field(default=0, ge=-MOST_SEED, le=MOST_SEED)
    """Seed of all random choices."""
    offline: bool = False
    """Download nothing; use no endpoint elsewhere."""
    isolation: Isolation = "auto"
    """Kind of sandbox (docs/runtime.md)."""
    allow_reduced: bool = False
    """Also run with a sandbox below level 2."""
    cache: Annotated[bool, Flag(off="Send requests again that were sent before.")] = True
    """Reuse replies to equal requests."""
    concurrency: int = Field(default=64, ge=1)
    """Trials running at the same time."""
    task: TaskSettings | None = None
    """A task of your own without a folder."""
    models: dict[str, ModelSpec] = Field(default_factory=dict)
    """Models, by the names that `--solver` and `--proposer` accept."""
    limits: Limits = Limits()
    """Limits of one trial (docs/runtime.md)."""
    budget: Budget = Budget()
    """Caps on one run (docs/budgets-and-resume.md)."""
    adapt: AdaptSettings = AdaptSettings()
    evaluate: EvaluateSettings = EvaluateSettings()
    propose: ProposeSettings = ProposeSettings()
    compare: CompareSettings = CompareSettings()
    compare_proposers: CompareProposersSettings = CompareProposersSettings()
    suites: dict[str, list[str]] = Field(default_factory=dict)
    """Your own suites of tasks, by name, in addition to those that `tasks list` shows."""
    sinks: Annotated[list[Sink], Flag(name="sink")] = Field(default_factory=list)
    """Trackers to report every round to; may be given several times."""

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
    """The record inside an annotation such as `TaskSettings | None` or `dict[str, ModelSpec]`."""
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
            value = {**_as_mapping(current), **given}
        update[name] = value
    try:
        return Settings.model_validate({**settings.model_dump(), **update})
    except ValidationError as error:
        raise ConfigError(_explain(error, "options")) from None


def _as_mapping(table: Any) -> dict[str, Any]:
    if isinstance(table, BaseModel):
        return table.model_dump()
    return asdict(table) if is_dataclass(table) and not isinstance(table, type) else dict(table or {})
