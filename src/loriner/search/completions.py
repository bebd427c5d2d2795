"""The completions of a round. Each is recorded before it is scored, and repeats are replaced by new ones."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from loriner.evaluation.evaluator import Evaluator, all_of, together
from loriner.events import Proposed
from loriner.harness.validity import tree_digest
from loriner.propose.proposer import Proposer, propose
from loriner.records import Context, Failure, Harness, Rollout

N_REDRAWS = 3
"""How often a round asks again when completions only repeat programs that were tried before."""

Check = Callable[[Harness], Failure | None]
"""Why a candidate must not be scored; None if it may."""
Begin = Callable[[Harness], Awaitable[object]]
"""Starts the scoring of a new candidate."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One completion of a round."""

    rollout: Rollout
    repeats: str
    """The earlier program that the candidate repeats, in words; empty for a new one or for none."""

    @property
    def new(self) -> Harness | None:
        """The candidate, if it was not tried before."""
        return None if self.repeats else self.rollout.candidate

    @property
    def empty(self) -> bool:
        """Whether the completion brought nothing new: a program tried before, or no edit at all."""
        failure = self.rollout.failure
        return bool(self.repeats) or (failure is not None and failure.code == "no_edit_block")


@dataclass(slots=True)
class Completions:
    """The completions that an episode has asked its proposer for."""

    lab: Evaluator
    proposer: Proposer
    check: Check
    tried: dict[str, str] = field(default_factory=dict)
    """The programs that were scored, in words, by the digest of their syntax trees."""
    asked: Counter[str] = field(default_factory=Counter)
    """Number of completions taken for each context."""
    left: set[tuple[str, int]] | None = None
    """Places whose rollout was recorded before the run was resumed; None until they are looked up."""

    def know(self, harness: Harness, words: str) -> str:
        """The name of an equal earlier program; empty for a new one, which gets the name `words`."""
        digest = tree_digest(harness.source)
        if (known := self.tried.get(digest)) is None:
            self.tried[digest] = words
        return known or ""

    async def round(self, context: Context, n: int, number: int, begin: Begin) -> list[Drawn]:
        """`n` completions with new candidates, or as many as some redraws bring, in the order of their index.

        Scoring begins as soon as a candidate is there, and has ended on return.
        """
        drawn: list[Drawn] = []
        async with together() as group:
            store, run_id = self.lab.store, self.lab.run_id
            group.create_task(store.add_context(run_id, context, at_once=False))
            wanted = n
            for _ in range(1 + N_REDRAWS):
                taken = [self._one(context, each) for each in self._next(context, wanted)]
                for rollout, is_new in await all_of(taken):
                    if is_new:  # first: no trial is there before its rollout
                        group.create_task(store.add_rollout(run_id, rollout, at_once=False))
                    drawn.append(Drawn(rollout, self._named(rollout, number)))
                    if (candidate := drawn[-1].new) is not None:
                        group.create_task(_done(begin(candidate)))
                wanted = sum(bool(each.repeats) for each in drawn[-wanted:])
                if not wanted:
                    break
            if not any(each.new for each in drawn):  # else the trials bring a commit
                await asyncio.sleep(0)  # the rows are handed over
                store.flush()
        return drawn

    def _next(self, context: Context, n: int) -> range:
        first = self.asked[context.id]
        self.asked[context.id] += n
        return range(first, first + n)

    async def _one(self, context: Context, index: int) -> tuple[Rollout, bool]:
        """The completion of this place, and whether it is new or a recorded one."""
        known = self._recorded(context.id, index)
        rollout = known or self._checked(await propose(self.proposer, context, index))
        self.lab.observe(Proposed(rollout=rollout))
        return rollout, known is None

    def _recorded(self, context_id: str, index: int) -> Rollout | None:
        """The rollout of a place that was recorded before the run was resumed; it is not paid for again."""
        store, run_id = self.lab.store, self.lab.run_id
        if self.left is None:
            self.left = {(each.context_id, each.index) for each in store.rollouts(run_id)}
        return store.rollout(run_id, context_id, index) if (context_id, index) in self.left else None

    def _checked(self, rollout: Rollout) -> Rollout:
        failure = None if rollout.candidate is None else self.check(rollout.candidate)
        return rollout if failure is None else replace(rollout, candidate=None, failure=failure)

    def _named(self, rollout: Rollout, number: int) -> str:
        return (
            ""
            if rollout.candidate is None
            else self.know(rollout.candidate, f"the program of round {number}")
        )


async def _done(work: Awaitable[object]) -> None:
    await work
