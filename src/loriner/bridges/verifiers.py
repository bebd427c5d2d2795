"""verifiers: a taskset whose rewards need no runtime as a task of ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from loriner.bridges import framework
from loriner.errors import TaskError
from loriner.records import Question, Score
from loriner.tasks import digests
from loriner.tasks.base import Split, Tool
from loriner.tasks.scorer import as_score
from loriner.tasks.splits import DEFAULT_SHARES, by_hash, read_shares

vf = framework(
    *("verifiers.v1", "verifiers", "0.4.0"),
    *("Task.score", "Trace", "TraceTask", "AgentInfo", "AgentConfig"),
)


class FromTaskset:
    """The tasks of a taskset as questions, scored by its rewards; its harness is not used."""

    tools: Mapping[str, Tool] = {}
    seed_harness = "minimal"

    def __init__(self, taskset: Iterable[Any], name: str, description: str = "") -> None:
        self.name = f"verifiers:{name}"
        self.description = description or f"The taskset {name} of verifiers."
        self._tasks: dict[str, Any] = {}
        items = []
        for each in taskset:
            text = "\n\n".join(filter(None, [each.data.system_prompt, each.data.prompt_text]))
            key = digests.of_text(text)[:16]
            if key not in self._tasks:
                self._tasks[key] = each
                items.append({"id": key, "question": text})
        if not items:
            raise TaskError(f"the taskset {name} has no tasks")
        self._splits = by_hash(items, read_shares(DEFAULT_SHARES, self.name))

    def questions(self, split: Split) -> list[Question]:
        return [
            Question(task=self.name, id=each["id"], text=each["question"], target=None)
            for each in self._splits[split]
        ]

    async def score(self, question: Question, answer: str) -> Score:
        """The weighted mean of the rewards.

        Raises:
            TaskError: a reward needs a runtime, or is not in [0, 1].
        """
        task = self._tasks[question.id]
        kept = vf.TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash)
        trace = vf.Trace(task=kept, agent=vf.AgentInfo(config=vf.AgentConfig()), root_reply=answer)
        try:
            await task.score(trace, None)
        except Exception as error:
            raise TaskError(
                f"a reward of {self.name} cannot be taken without a runtime: {type(error).__name__}: {error}"
            ) from error
        if missing := [name for name, reward in trace.rewards.items() if reward is None]:
            raise TaskError(f"{self.name} gave no reward {', '.join(missing)}")
        whole = sum(abs(each.weight) for each in trace.rewards.values()) or 1.0
        return as_score(trace.reward / whole, self.name, {"id": question.id})

    async def close(self) -> None:
        """Holds nothing."""
