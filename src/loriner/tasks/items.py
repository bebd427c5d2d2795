"""A task made of items: mappings with `id`, `question`, `answer` and whatever their scorer needs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from loriner.errors import TaskError
from loriner.records import Question, Score
from loriner.tasks.base import Split, Tool
from loriner.tasks.scorer import SCORER_ERROR, Scorer, Worker

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a task says of itself."""

    name: str
    description: str
    seed_harness: str = "minimal"
    tools: Mapping[str, Tool] = field(default_factory=dict)


class ItemTask:
    """The `Task` over items that are already split. Satisfies `loriner.tasks.base.Task`."""

    def __init__(
        self,
        card: Card,
        splits: Mapping[Split, Sequence[Item]],
        scorer: Scorer,
        workers: Sequence[Worker] = (),
    ) -> None:
        """`workers` serve its tools and end with it."""
        self._card = card
        self._splits = splits
        self._scorer = scorer
        self._items = {item["id"]: item for items in splits.values() for item in items}
        self._workers = workers
        self._tried = False

    @property
    def name(self) -> str:
        return self._card.name

    @property
    def description(self) -> str:
        return self._card.description

    @property
    def seed_harness(self) -> str:
        return self._card.seed_harness

    @property
    def tools(self) -> Mapping[str, Tool]:
        return self._card.tools

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """Of the items with their splits, and of the scorer."""
        items = json.dumps(self._splits, sort_keys=True, default=str).encode()
        return {"items": hashlib.sha256(items).hexdigest(), "scorer": self._scorer.digest}

    def questions(self, split: Split) -> Sequence[Question]:
        """The questions of a split.

        Raises:
            TaskError: there is none.
        """
        if not self._splits.get(split):
            sizes = ", ".join(f"{name} {len(items)}" for name, items in self._splits.items())
            raise TaskError(
                f"task {self.name} has no {split} question (found: {sizes}): add items or change its split"
            )
        return [self._question(item) for item in self._splits[split]]

    async def score(self, question: Question, answer: str) -> Score:
        """The scorer's verdict. Before the first one the scorer is tried on a right answer.

        Raises:
            TaskError: the scorer breaks its contract, or fails on a right answer.
        """
        if not self._tried:
            await self._try_scorer()
            self._tried = True
        return await self._scorer.score(self._items[question.id], answer)

    async def close(self) -> None:
        await self._scorer.close()
        for worker in self._workers:
            await worker.close()

    def _question(self, item: Item) -> Question:
        return Question(task=self.name, id=item["id"], text=item["question"], target=item["answer"])

    async def _try_scorer(self) -> None:
        """An exception on one answer is that answer's fault; on a right one it is the scorer's."""
        item = next(iter(self._items.values()))
        if not isinstance(item["answer"], str):
            return
        score = await self._scorer.score(item, item["answer"])
        if score.detail == SCORER_ERROR:
            message = score.extra.get("message", "")
            raise TaskError(
                f"the scorer of {self.name} fails on the right answer of item {item['id']!r}: {message}"
            )
