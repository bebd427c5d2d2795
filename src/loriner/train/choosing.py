"""Which checkpoint of SFT reinforcement learning starts from: the last that still writes many different valid
programs.

A policy that is tuned until it writes one text has nothing left to choose from, and its groups nothing to
learn from. So checkpoints are told apart by what they sample in contexts of families that no row was of; the
loss has no say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from loriner.errors import ConfigError
from loriner.propose.proposer import Completion, read
from loriner.records import Rollout
from loriner.tasks.varied.task import canonical_name
from loriner.train import jsonl
from loriner.train.choices import Choice, choices, figures, kind_of
from loriner.train.exercise import Exercise
from loriner.train.settings import SftTable

Sampler = Callable[[Path, Sequence[Exercise], int], Sequence[Sequence[str]]]
"""Of a checkpoint, so many completions in each exercise, at temperature 1: shape (exercises, samples)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variety:
    """What a checkpoint writes in the validation contexts."""

    update: int
    n_contexts: int
    n_samples: int
    """In each context."""
    valid: float
    """Share of the samples that make a candidate."""
    distinct: float
    """Different candidates in a context, on average."""
    invalid: dict[str, int]
    """By edit code."""

    def passes(self, table: SftTable) -> bool:
        """Whether there is enough of both."""
        return self.distinct >= table.min_distinct and self.valid >= table.min_valid


def best(found: Sequence[Variety], table: SftTable) -> tuple[Variety, str]:
    """The last checkpoint that has enough, or the one with the most different programs; and why, in words."""
    wanted = f"{table.min_distinct:g} programs and {table.min_valid:.0%} valid"
    passing = [each for each in found if each.passes(table)]
    if passing:
        chosen, why = max(passing, key=lambda each: each.update), f"the last with at least {wanted}"
    else:
        chosen = max(found, key=lambda each: (each.distinct, each.update))
        then = "this has the most programs" if chosen.distinct else "none wrote a valid one; this is the last"
        why = f"none of {len(found)} has {wanted}; {then}"
    return chosen, (
        f"update {chosen.update}: {chosen.distinct:.1f} different programs of {chosen.n_samples}, "
        f"{chosen.valid:.0%} valid ({why})"
    )


def look(
    update: int, exercises: Sequence[Exercise], texts: Sequence[Sequence[str]]
) -> tuple[Variety, list[dict[str, Any]]]:
    """What the completions of a checkpoint come to, and a line for each."""
    rollouts = [
        [read(exercise.context, index, Completion(text)) for index, text in enumerate(found)]
        for exercise, found in zip(exercises, texts, strict=True)
    ]
    every = [each for found in rollouts for each in found]
    distinct = [len({each.candidate.id for each in found if each.candidate}) for found in rollouts]
    variety = Variety(
        update=update,
        n_contexts=len(exercises),
        n_samples=len(rollouts[0]),
        valid=fmean(each.candidate is not None for each in every),
        distinct=fmean(distinct),
        invalid=dict(Counter(each.failure.code for each in every if each.failure).most_common()),
    )
    lines = [
        _line(update, exercise, each)
        for exercise, found in zip(exercises, rollouts, strict=True)
        for each in found
    ]
    return variety, lines


def choose(
    checkpoints: Sequence[tuple[int, Path]],
    exercises: Sequence[Exercise],
    sampler: Sampler,
    table: SftTable,
    directory: Path,
    tell: Callable[[str], None],
) -> Path:
    """The chosen checkpoint. Writes `checkpoints.jsonl`, a line for each, and `samples.jsonl`.

    Raises:
        ConfigError: there is no checkpoint.
    """
    if not checkpoints:
        raise ConfigError(f"no checkpoint in {directory / 'checkpoints'}: run train sft first")
    found, lines = list[Variety](), list[dict[str, Any]]()
    for update, path in checkpoints:
        variety, of_it = look(update, exercises, sampler(path, exercises, table.samples))
        found.append(variety)
        lines += of_it
        jsonl.write(directory / "samples.jsonl", lines)
        tell(f"checkpoint {update}: {variety.distinct:.1f} different programs, {variety.valid:.0%} valid")
    chosen, why = best(found, table)
    rows = [_row(each, lines) | {"chosen": each is chosen} for each in found]
    jsonl.write(directory / "checkpoints.jsonl", rows)
    tell(f"the model is that of {why}")
    return dict(checkpoints)[chosen.update]


def without_held_out(
    rows: Sequence[dict[str, Any]], exercises: Sequence[Exercise]
) -> tuple[list[dict[str, Any]], int]:
    """The rows whose family is in no validation context, and how many were left out."""
    held = {canonical_name(each.context.task) for each in exercises}
    kept = [row for row in rows if canonical_name(row.get("task", "")) not in held]
    return kept, len(rows) - len(kept)


def _row(variety: Variety, lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The figures of a checkpoint, with what it chooses by family."""
    its = [each for each in lines if each["update"] == variety.update and each["choice"]]
    made = [Choice.of(each) for each in its]
    return asdict(variety) | (figures(choices(made)) if made else {})


def _line(update: int, exercise: Exercise, rollout: Rollout) -> dict[str, Any]:
    return {
        "update": update,
        "context": exercise.context.id,
        "task": exercise.context.task,
        "index": rollout.index,
        "code": rollout.failure.code if rollout.failure else "",
        "candidate": rollout.candidate.id if rollout.candidate else "",
        "choice": kind_of(exercise.context.harness, rollout),
        "completion": rollout.completion,
    }
