"""What proposers chose in files of rollouts or samples, and in the episodes of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from loriner.search.history import history
from loriner.store.database import Store
from loriner.train.choices import Choice, kind_of, read_choices, report


def chosen(home: Path, names: Sequence[str], seed: int = 0) -> dict[str, dict[str, Any]]:
    """By name the figures of each file, or else of the run that is called so: of all valid revisions, and of
    those that were better or, in a run, accepted.

    Raises:
        ConfigError: neither a file nor a run, or a file of something else.
    """
    return {name: report(*_read(home, name), seed=seed) for name in names}


def _read(home: Path, name: str) -> tuple[list[Choice], list[Choice]]:
    if Path(name).exists() or name.endswith(".jsonl"):
        return read_choices(Path(name))
    store = Store.existing(home)
    try:
        run_id = store.run(name).id
        found = [each for one in (run_id, *store.runs_below(run_id)) for each in of_run(store, one)]
    finally:
        store.close()
    return [each for each, _ in found], [each for each, accepted in found if accepted]


def of_run(store: Store, run_id: str) -> Iterator[tuple[Choice, bool]]:
    """Every valid revision of an episode, and whether it was accepted."""
    told = history(store, run_id)
    if told.start is None:
        return
    for round in told.rounds:
        parent = store.harness(round.parent_id)
        for attempt in round.attempts:
            rollout = store.rollout(run_id, attempt.context_id, attempt.index)
            if parent is not None and rollout is not None and (kind := kind_of(parent, rollout)):
                choice = Choice(context=f"{run_id}/{attempt.context_id}", task=told.start.task, kind=kind)
                yield choice, attempt.accepted
