"""The contexts of each epoch: always the same ones, or drawn anew from what the policy itself has written.

Single-step training sees first revisions only. In multistep training a share of each later epoch starts where
the policy's own revisions of the epoch before have led, with their history as an episode tells it, so that it
also learns what a later round needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loriner.errors import ConfigError
from loriner.seeding import generator
from loriner.train.contexts import State, next_state, revisions
from loriner.train.exercise import Exercise, load, save
from loriner.train.journal import Journal
from loriner.train.settings import TrainConfig

MAX_STATES = 64
"""Revised programs that one epoch starts from: each costs a pool of trials."""

Redraw = Callable[[Sequence[State], int, int], Sequence[Exercise]]
"""Exercises from states: so many of them, for an epoch."""

Unrevised = Callable[[Sequence[Exercise]], Sequence[float | None]]
"""Mean scores of the exercises' own programs on their grade questions; None where there is none."""


def epochs(
    config: TrainConfig, first: Sequence[Exercise], redraw: Redraw, unrevised: Unrevised
) -> Callable[[int], Sequence[Exercise]]:
    """The exercises of an epoch, by its number from 0. What was drawn is frozen beside the checkpoints."""

    def source(epoch: int) -> Sequence[Exercise]:
        if epoch == 0 or not config.grpo.multistep:
            return first
        path = config.output / "grpo" / f"contexts-{epoch}.jsonl"
        if not path.exists():
            save(_drawn(config, first, source(epoch - 1), epoch, redraw, unrevised), path)
        return load(path)

    return source


def _drawn(
    config: TrainConfig,
    first: Sequence[Exercise],
    before: Sequence[Exercise],
    epoch: int,
    redraw: Redraw,
    unrevised: Unrevised,
) -> list[Exercise]:
    """Exercises from the first epoch's own programs and from the candidates of the epoch before, mixed."""
    per_epoch = len(first) // config.grpo.contexts_per_update
    scored = Journal(config.output / "grpo").read_rollouts(
        before, (epoch - 1) * per_epoch + 1, epoch * per_epoch
    )
    made = revisions(before, scored, max_round=config.grpo.max_round)
    mix = generator(config.seed, "multistep", epoch)
    mix.shuffle(made)
    made = made[:MAX_STATES]
    scores = unrevised([exercise for exercise, _ in made])
    revised = [
        next_state(*each, score) for each, score in zip(made, scores, strict=True) if score is not None
    ]
    if not revised:
        raise ConfigError(
            f"no candidate of epoch {epoch} ran, so nothing can be revised further: train single-step first"
        )
    n_fresh = round(config.grpo.fresh_share * len(first))
    exercises = list(redraw(_starts(first), n_fresh, epoch)) if n_fresh else []
    exercises += redraw(revised, len(first) - n_fresh, epoch) if n_fresh < len(first) else []
    mix.shuffle(exercises)
    return exercises


def _starts(first: Sequence[Exercise]) -> list[State]:
    states = {(each.context.task, each.context.harness.id): each.context for each in first}
    return [State(task=each.task, harness=each.harness, history=each.history) for each in states.values()]
