"""lm-evaluation-harness: one of its generation tasks as ours, with its own prompts, filters and metric."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loriner.bridges import framework
from loriner.errors import TaskError
from loriner.records import Question, Score
from loriner.tasks.base import Split, Tool
from loriner.tasks.scorer import as_score
from loriner.tasks.splits import DEFAULT_SHARES, by_hash, read_shares

framework("lm_eval.tasks", "lm_eval", "0.4.13", "TaskManager.load")
Instance = framework("lm_eval.api.instance", "lm_eval", "0.4.13", "Instance").Instance


class LmEvalTask:
    """`LmEvalTask("gsm8k")` is the task `lmeval:gsm8k`."""

    tools: Mapping[str, Tool] = {}
    seed_harness = "minimal"

    def __init__(self, name: str, *, include: str | Path | None = None, metric: str | None = None) -> None:
        """`include` is a folder with task files of your own; `metric` is one of the task's (the first).

        Raises:
            TaskError: there is no such task or metric, or it is scored by likelihoods.
        """
        self.name = f"lmeval:{name}"
        task = self._task = _opened(name, include)
        if task.OUTPUT_TYPE != "generate_until":
            raise TaskError(
                f"{self.name} is scored by {task.OUTPUT_TYPE}: a harness gives text, not likelihoods"
            )
        metrics = list(task._metric_fn_list)
        self._metric = metric or metrics[0]
        if self._metric not in metrics:
            raise TaskError(f"{self.name} has no metric {metric}; it has {', '.join(metrics)}")
        self.description = f"The task {name} of lm-evaluation-harness, scored by {self._metric}."
        self._docs = {str(n): doc for n, doc in enumerate(task.eval_docs)}
        items = [{"id": key, "question": task.doc_to_text(doc)} for key, doc in self._docs.items()]
        self._splits = by_hash(items, read_shares(DEFAULT_SHARES, self.name))

    def questions(self, split: Split) -> list[Question]:
        return [
            Question(task=self.name, id=each["id"], text=each["question"], target=self._target(each["id"]))
            for each in self._splits[split]
        ]

    def _target(self, key: str) -> Any:
        return self._task.doc_to_target(self._docs[key])

    async def score(self, question: Question, answer: str) -> Score:
        """The best that any of the task's filters makes of the answer."""
        doc = self._docs[question.id]
        found = [self._filtered(doc, answer, chain) for chain in self._task._filters]
        return as_score(max(found), self.name, {"id": question.id})

    def _filtered(self, doc: Any, answer: str, chain: Any) -> float:
        asked = Instance("generate_until", doc, (), 0, resps=[answer])
        chain.apply([asked])
        return float(self._task.process_results(doc, [asked.filtered_resps[chain.name]])[self._metric])

    async def close(self) -> None:
        """Holds nothing."""


def _opened(name: str, include: str | Path | None) -> Any:
    from lm_eval.tasks import TaskManager

    try:
        found = TaskManager(include_path=None if include is None else str(include)).load([name])["tasks"]
        (task,) = found.values()
    except Exception as error:
        raise TaskError(f"lm-evaluation-harness does not open the task {name!r}: {error}") from error
    return task
