"""A proposer writes completions; a completion becomes a candidate or a failure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from loriner.errors import EditError
from loriner.harness.edits import STAGE_OF, revise
from loriner.records import Call, Context, Failure, Rollout


@dataclass(frozen=True, slots=True)
class Completion:
    """What a proposer wrote, and what it cost."""

    text: str
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposer:
    """A writer of revisions."""

    name: str
    write: Callable[[Context, int], Awaitable[Completion]]
    """The completion numbered `index` (from 0) in a context; equal arguments give an equal sample."""


async def propose(proposer: Proposer, context: Context, index: int) -> Rollout:
    """One completion of the proposer, parsed and applied.

    Raises:
        ModelError, BudgetReached: as raised by the proposer's model.
    """
    return read(context, index, await proposer.write(context, index))


def read(context: Context, index: int, completion: Completion) -> Rollout:
    """The rollout of a completion; an edit that does not apply is a failure in it."""
    revision = candidate = failure = None
    try:
        revision, candidate = revise(context.harness, completion.text)
    except EditError as error:
        failure = Failure(error.code, str(error))
    return Rollout(
        context_id=context.id,
        index=index,
        completion=completion.text,
        revision=revision,
        candidate=candidate,
        failure=failure,
        calls=completion.calls,
    )


def parsed(rollout: Rollout) -> bool:
    """Whether the completion held well-formed edit blocks, applicable or not."""
    return rollout.failure is None or STAGE_OF.get(rollout.failure.code) != "parse"
