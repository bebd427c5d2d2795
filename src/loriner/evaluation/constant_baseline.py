"""The baseline that needs no model: always the same answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from loriner.records import Question, target_texts
from loriner.tasks.base import Task


async def constant_baseline(
    task: Task, known: Sequence[Question], asked: Sequence[Question]
) -> tuple[str | None, dict[str, float]]:
    """The commonest right answer of the `known` questions, and what it earns on each one `asked`.

    Raises:
        TaskError: the task's scorer breaks its contract.
    """
    counts = Counter(text for question in known for text in target_texts(question.target)[:1] if text.strip())
    if not counts:
        return None, {}
    answer = min(counts, key=lambda text: (-counts[text], text))
    return answer, {question.id: (await task.score(question, answer)).value for question in asked}
