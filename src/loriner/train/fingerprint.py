"""What a reinforcement learning began with, so that its checkpoints never go on with something else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loriner.errors import ConfigError
from loriner.train import jsonl
from loriner.train.settings import TrainConfig

_LEARNING = (
    "contexts_per_update",
    "completions",
    "learning_rate",
    "adapter",
    "advantage",
    "invalid_gain",
    "harm",
    "bonus",
    "rarity",
    "passes",
    "loss",
    "beta",
    "temperature",
    "max_completion_tokens",
    "multistep",
)


@dataclass(frozen=True, slots=True)
class Began:
    """The note that one trainer process keeps of itself: its facts, and the run that its trials belong to."""

    path: Path
    facts: dict[str, Any]

    @classmethod
    def of(cls, config: TrainConfig, base: str, contexts: str, rank: int) -> Began:
        """The note of a process with this rank. `contexts` is the digest of the first epoch's file."""
        learning = config.grpo.model_dump(mode="json", include=set(_LEARNING))
        facts = {"base": base, "contexts": contexts, "solver": config.solver, "seed": config.seed, **learning}
        return cls(config.output / "grpo" / f"began-{rank}.json", facts)

    def run(self) -> str | None:
        """The id of the run to go on with; None for a training that has not begun.

        Raises:
            ConfigError: there are checkpoints of a training that began otherwise, or the note cannot be read.
        """
        if not self.path.exists():
            return None
        try:
            known = json.loads(self.path.read_text(encoding="utf-8"))
            run, facts = str(known["run"]), dict(known["facts"])
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{self.path}: not a note of a training ({error!r}); remove it") from None
        if facts == self.facts:
            return run
        if not any((self.path.parent / "checkpoints").glob("checkpoint-*")):
            return None
        other = ", ".join(
            f"{name} {facts.get(name)} there, {value} now"
            for name, value in self.facts.items()
            if facts.get(name) != value
        )
        raise ConfigError(
            f"{self.path.parent} holds checkpoints of a training that began otherwise ({other}): give "
            "another output, or what it began with"
        )

    def keep(self, run: str) -> None:
        """Writes the note."""
        jsonl.write_text(self.path, json.dumps({"run": run, "facts": self.facts}, indent=2) + "\n")
