"""A training file: one TOML for contexts, teacher, SFT and GRPO, so that a whole line of training is one
document.

`extends = "other.toml"` lays the file over another; tables are merged key by key. `--set a.b=c` comes on top.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError

from loriner.config import SettingsTable, assign
from loriner.errors import ConfigError
from loriner.statistics import Rule

T = TypeVar("T", bound=SettingsTable)

Setting = Literal["canonical", "varied"]
"""The questions as they are, or in frames and answer contracts that vary (docs/tasks.md)."""


class ContextsTable(SettingsTable):
    """What contexts are drawn from, and how many."""

    tasks: tuple[str, ...] = Field(min_length=1)
    """Task names or suites of them."""
    settings: tuple[Setting, ...] = ("canonical",)
    harnesses: tuple[str, ...] = ("seed",)
    """Programs to revise: `seed` for each task's own, `library:NAME`, or a file."""
    renamed: int = Field(default=0, ge=0)
    """Further copies of each program under other names."""
    n: int = Field(default=640, ge=1)
    pool: int = Field(default=24, ge=1)
    feedback: int = Field(default=8, ge=1)
    grade: int = Field(default=6, ge=1)
    max_prompt_tokens: int = Field(default=4096, ge=512)
    tree_depth: int = Field(default=3, ge=0)
    """Contexts from trees: the revisions that a program has at most."""
    tree_gain: float = Field(default=0.0, ge=0, le=1)
    """Contexts from trees: what the best revision gained, at least; else little is learnt."""
    held_out: tuple[str, ...] = ()
    """Families for validation: no training context and no row of SFT is of them."""
    n_validation: int = Field(default=24, ge=1)
    """Contexts of the held-out families."""


class TeacherTable(SettingsTable):
    """Who writes the SFT data and what of it is kept."""

    proposer: str = "catalogue"
    n_contexts: int = Field(default=400, ge=1)
    """Contexts shown to the teacher: the first so many that are drawn."""
    completions: int = Field(default=4, ge=1)
    grade: int = Field(default=24, ge=1)
    accept: Rule = "paired"
    n_examples: int = Field(default=432, ge=1)
    max_pattern_share: float = Field(default=0.5, gt=0, le=1)
    max_chars: int = 6_000
    rename: bool = False
    function_level: bool = True


class TreesTable(SettingsTable):
    """Trees of revised programs, and the lessons from them. `contexts` says on which tasks and programs."""

    depth: int = Field(default=3, ge=1)
    beam: int = Field(default=3, ge=1)
    """Programs of a task that are revised again in the next layer."""
    rungs: tuple[int, ...] = Field(default=(4, 8, 16), min_length=1)
    """Grade questions on which revisions are compared, rung by rung."""
    kept: float = Field(default=1 / 3, gt=0, le=1)
    """Share that goes on to the next rung."""
    fresh: int = Field(default=16, ge=0)
    """Further grade questions, which choose nothing."""
    finalists: int = Field(default=2, ge=1)
    """Revisions that meet the fresh questions."""
    shares: tuple[float, ...] = (0.45, 0.35, 0.2)
    """Of the time, by layer; the last has all that is left."""
    at_once: int = Field(default=12, ge=1)
    """Programs that are revised side by side."""
    max_share: float = Field(default=0.15, gt=0, le=1)
    """Of the rows, the share that one known revision may have."""
    max_refused: int = Field(default=2, ge=0)
    """Refused revisions told of one program in a lesson's history, at most."""
    per_program: int = Field(default=1, ge=1)
    """Lessons from one program, at most; several show different histories."""
    min_rows: int = Field(default=1, ge=1)
    """Known revisions with fewer rows are left out: a small policy does not learn their text."""
    later_half: bool = True
    """No more rows of the first round than of all later ones."""


class AdapterTable(SettingsTable):
    """A LoRA adapter."""

    rank: int = Field(default=32, ge=1)
    alpha: int = Field(default=64, ge=1)
    """Source names none: twice the rank, by common practice."""


class SftTable(SettingsTable):
    """Supervised fine-tuning on the teacher's rows."""

    adapter: AdapterTable = AdapterTable()
    epochs: float = Field(default=2.9, gt=0)
    learning_rate: float = 1e-4
    batch: int = Field(default=16, ge=1)
    """Rows of one update, over all processes."""
    device_batch: int = Field(default=4, ge=1)
    max_tokens: int = 8_192
    """Prompt and completion. A longer row is refused before training starts, not cut."""
    save_every: int = Field(default=20, ge=1)
    """Updates between checkpoints, which are all kept."""
    samples: int = Field(default=8, ge=0)
    """Completions of each checkpoint in each validation context; 0 leaves the choice to `train choose`."""
    min_distinct: float = Field(default=4, ge=0)
    """Different valid programs among the samples of a context, on average, that the chosen checkpoint has."""
    min_valid: float = Field(default=0.6, ge=0, le=1)
    """Share of the samples that make a candidate, which the chosen checkpoint has."""


class GrpoTable(SettingsTable):
    """Reinforcement learning from running the revised harness."""

    contexts_per_update: int = Field(default=40, ge=1)
    completions: int = Field(default=8, ge=2)
    epochs: int = Field(default=1, ge=1)
    learning_rate: float = 1e-6
    adapter: AdapterTable | None = None
    """None trains every weight."""
    advantage: Literal["group", "gain", "mixed"] = "mixed"
    """What a completion is held against: the group's mean, the program that it revises, or half each."""
    invalid_gain: float = Field(default=-0.1, le=0)
    """What a reply without a candidate is taken to gain, also one whose edit has no effect."""
    harm: float = Field(default=0.25, ge=0, le=1)
    """Share of a loss that is paid, where no bonus is: what is worse than its program is refused."""
    bonus: bool = False
    """Pay the source's validity bonus, and no fixed gain for a reply without a candidate."""
    rarity: float = Field(default=0.5, ge=0, le=1)
    """Share of a gain that is paid by how rare the program is among the valid ones of its group."""
    passes: int = Field(default=2, ge=1)
    """Steps of the optimizer with each batch of rollouts. The clip acts from the second one on."""
    loss: Literal["grpo", "dr_grpo", "dapo"] = "grpo"
    beta: float = Field(default=0.0, ge=0)
    """Weight of the KL term; above 0 a reference model is needed."""
    temperature: float = Field(default=1.0, gt=0)
    max_completion_tokens: int = Field(default=2_048, ge=1)
    multistep: bool = False
    """Draw the contexts of each later epoch from the policy's own revisions as well."""
    max_round: int = Field(default=3, ge=1)
    """Longest revision sequence that multistep contexts come from."""
    fresh_share: float = Field(default=0.5, ge=0, le=1)
    """Share of a later epoch's states that are the first epoch's own."""
    generation: Literal["generate", "vllm_server", "vllm_colocate"] = "generate"
    vllm_url: str = "http://localhost:8000"
    vllm_memory: float = Field(default=0.3, gt=0, lt=1)
    device_batch: int = Field(default=16, ge=1)
    """Completions of one forward and backward pass on one device."""
    checkpointing: bool = True
    """Compute activations again in the backward pass: a fraction of the memory, a third more time."""
    chunk: int = Field(default=64, ge=1)
    """Completions generated together on the path without vLLM."""
    save_every: int = Field(default=4, ge=1)
    """Updates between checkpoints."""
    dead_after: int = Field(default=5, ge=1)
    """Updates in a row without a spread of rewards in any group, after which training stops."""
    deadline_s: float = Field(default=900, gt=0)
    """Wall time for scoring one completion."""
    max_minutes: float | None = Field(default=None, gt=0)
    """Wall time after which training stops at the end of an update, as if it were done; None is no limit."""
    patience_s: float = Field(default=1_800, ge=0)
    """Wall time that scoring waits for infrastructure to come back."""


class HardwareTable(SettingsTable):
    """What it runs on: for launch lines and estimates."""

    processes: int = Field(default=1, ge=1)
    """Trainer processes, one a GPU, over all machines."""
    machines: int = Field(default=1, ge=1)
    gpu_gib: float = 80.0
    accelerate: str | None = None
    """The accelerate configuration file, beside the training file."""


class PolicyTable(SettingsTable):
    """The model that learns to revise."""

    base: str = Field(min_length=1)
    """A directory with weights and tokenizer, or a hub name."""
    n_parameters: float = Field(gt=0)
    """For estimates."""
    chat: dict[str, Any] = Field(default_factory=dict)
    """Arguments of the chat template, such as `enable_thinking = false`. SFT and GRPO share them."""


class TrainConfig(SettingsTable):
    """A training file."""

    name: str
    output: Path
    """Where contexts, data, checkpoints, logs and trained models go."""
    solver: str
    """The frozen model that answers, by the names that `--solver` takes."""
    seed: int = Field(default=0, ge=0, lt=2**32)
    """As large as numpy takes it."""
    policy: PolicyTable
    contexts: ContextsTable
    teacher: TeacherTable = TeacherTable()
    trees: TreesTable = TreesTable()
    sft: SftTable = SftTable()
    grpo: GrpoTable = GrpoTable()
    hardware: HardwareTable = HardwareTable()

    @property
    def contexts_file(self) -> Path:
        return self.output / "contexts.jsonl"

    @property
    def lessons_file(self) -> Path:
        return self.output / "lessons.jsonl"

    @property
    def validation_file(self) -> Path:
        """Contexts of held-out families, on which checkpoints of SFT are told apart."""
        return self.output / "validation.jsonl"

    @property
    def gains_file(self) -> Path:
        return self.output / "gains.json"

    @property
    def sft_model(self) -> Path:
        """Where SFT leaves the merged model."""
        return self.output / "sft" / "model"

    @property
    def grpo_model(self) -> Path:
        """Where GRPO leaves the merged model."""
        return self.output / "grpo" / "model"


def load(path: Path, assignments: Iterable[str] = ()) -> TrainConfig:
    """The training file with what it extends and with `a.b=c` texts on top.

    Raises:
        ConfigError: a file that cannot be read, a circle of extensions, an unknown key, a value of the wrong
        kind.
    """
    data = _read(path, ())
    for assignment in assignments:
        assign(data, assignment)
    return checked(TrainConfig, data, str(path))


def checked(kind: type[T], data: Mapping[str, Any], origin: str) -> T:
    """The table from plain values; `origin` says in messages where they stand.

    Raises:
        ConfigError: an unknown key, or a value of the wrong kind.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise ConfigError(_explain(error, origin)) from None


def _read(path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    if path.resolve() in seen:
        raise ConfigError(f"{path} extends itself, by way of {', '.join(str(each) for each in seen)}")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such training file; the folder configs/ holds examples") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    below = data.pop("extends", None)
    if below is None:
        return data
    return _over(_read(path.parent / below, (*seen, path.resolve())), data)


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        known = merged.get(key)
        merged[key] = _over(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged


def _explain(error: ValidationError, path: str) -> str:
    lines = []
    for each in error.errors(include_url=False):
        where = ".".join(str(part) for part in each["loc"])
        if each["type"] == "extra_forbidden":
            lines.append(f"{path}: unknown key {where}: docs/training.md lists them")
        else:
            lines.append(f"{path}: {where}: {each['msg']}, found {each['input']!r}")
    return "\n".join(lines)
