"""A task made of items: mappings with `id`, `question`, `answer` and whatever their scorer needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from loriner.errors import TaskError
from loriner.records import Question, Score
from loriner.tasks import digests
from loriner.tasks.base import Split, Tool
from loriner.tasks.judge import Ask, JudgeScorer
from loriner.tasks.scorer import FAILURES, Scorer, ScorerFailed, Worker

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
        self._held: set[str] = set()
        """Items on whose right answer the scorer gave a verdict."""

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
        """Of the items with their splits, of the scorer, and of the tools that run beside it."""
        tools = [digests.of_program(worker.spec.file) for worker in self._workers]
        return {
            "items": digests.of_text(repr(self._splits)),
            "scorer": self._scorer.digest,
            **({"tools": digests.of_text(*tools)} if tools else {}),
        }

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
        """The scorer's verdict. It is tried on a right answer before the first one, and on the question's own
        where it fails on `answer`.

        Raises:
            ScorerFailed: it raises or runs out of time on a right answer.
            TaskError: the scorer breaks its contract.
        """
        if not self._tried and self.judge is None:
            self._tried = True
            triable = (item for item in self._items.values() if right_text(item.get("answer")))
            await self._try_scorer(next(triable, None))
        item = self._items[question.id]
        score = await self._scorer.score(item, answer)
        if score.detail in FAILURES and self.judge is None:
            await self._try_scorer(item)
        return score

    @property
    def judge(self) -> Any:
        """The model that scores it; None where none does."""
        return self._scorer.judge.model if isinstance(self._scorer, JudgeScorer) else None

    def seated(self, ask: Ask) -> ItemTask:
        """The same task, whose judge is asked through `ask`."""
        return self._scored_by(lambda judge: judge.seated(ask))

    def judged_by(self, name: str) -> ItemTask:
        """The same task, whose judge is called `name`."""
        return self._scored_by(lambda judge: judge.named(name))

    def _scored_by(self, change: Callable[[JudgeScorer], JudgeScorer]) -> ItemTask:
        scorer = change(self._scorer) if isinstance(self._scorer, JudgeScorer) else self._scorer
        return ItemTask(self._card, self._splits, scorer, self._workers)

    async def close(self) -> None:
        await self._scorer.close()
        for worker in self._workers:
            await worker.close()

    def _question(self, item: Item) -> Question:
        return Question(task=self.name, id=item["id"], text=item["question"], target=item.get("answer"))

    async def _try_scorer(self, item: Item | None) -> None:
        """A failure on one answer is that answer's fault; on a right one it is the scorer's."""
        if item is None or item["id"] in self._held or not (right := right_text(item.get("answer"))):
            return
        score = await self._scorer.score(item, right)
        if score.detail in FAILURES:
            raise ScorerFailed(self.name, item["id"], score)
        self._held.add(item["id"])


def right_text(answer: Any) -> str:
    """A right answer as text; empty for any that can be read in several ways, such as a list."""
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        return str(answer)
    return answer if isinstance(answer, str) and answer.strip() else ""
