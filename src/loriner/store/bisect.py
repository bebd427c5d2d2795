"""From which revision on a question went wrong, read from the trials that an episode left behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from loriner.errors import ConfigError
from loriner.records import Trial
from loriner.store.commit_message import VersionEntry
from loriner.store.database import Store
from loriner.store.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A version of the episode, and how it did on the question."""

    entry: VersionEntry
    score: float | None
    """Mean over its trials of the question; None where it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The course of one question over an episode."""

    steps: tuple[Step, ...]
    """Every version, from the seed on."""
    last_right: Step | None
    """The last version that had it right; None if none ever did."""
    first_wrong: Step | None
    """The version from which it was wrong to the end; None if it ended right."""


def bisect(
    store: Store, registry: Registry, run_id: str, question_id: str, *, task: str | None = None
) -> Turn:
    """Where a question went wrong in the episode of a run. No trial is run for it.

    `task` is needed where several tasks of the run have a question of that id.

    Raises:
        ConfigError: the run has no version, none of them met the question, or it is not clear of which task.
    """
    met = [each for each in store.trials(run_id, task=task) if each.question_id == question_id]
    if len(tasks := sorted({each.task for each in met})) > 1:
        raise ConfigError(
            f"run {run_id} has a question {question_id!r} in {len(tasks)} tasks ({', '.join(tasks)}): "
            "name one with --task"
        )
    steps = [
        Step(entry=entry, score=_mean(each for each in met if each.harness_id == entry.harness_id))
        for entry, _ in registry.lineage(run_id)
    ]
    known = [step for step in steps if step.score is not None]
    if not known:
        raise ConfigError(f"no version of run {run_id} has a scored trial of question {question_id!r}")
    last = max((place for place, step in enumerate(known) if step.score == 1.0), default=-1)
    after: Sequence[Step] = known[last + 1 :]
    return Turn(
        steps=tuple(steps),
        last_right=known[last] if last >= 0 else None,
        first_wrong=after[0] if after else None,
    )


def _mean(trials: Iterable[Trial]) -> float | None:
    scores = [each.score for each in trials if each.score is not None]
    return fmean(scores) if scores else None
