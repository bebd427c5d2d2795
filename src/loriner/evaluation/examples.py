"""The tool `examples`: feedback questions with their right answers, for programs of any task.

It is made from the feedback split alone, so it never holds a grade or test item.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loriner.errors import TaskError
from loriner.records import Question, target_texts
from loriner.store.exported.nearest import Examples
from loriner.tasks.base import Task, Tool

MAX_ITEMS = 2_000
"""Only the first so many feedback items are indexed."""


def feedback_examples(task: Task) -> Examples:
    """An index of the task's feedback items; an empty one where it has none.

    The answer of an item is its first right answer as text, JSON text for an object.
    """
    try:
        questions = task.questions("feedback")
    except TaskError:  # a task may have none
        questions = ()
    pairs = ((each.text, right_answer(each)) for each in questions[:MAX_ITEMS])
    return Examples(pair for pair in pairs if pair[1].strip())


def right_answer(question: Question) -> str:
    """The first right answer as text; empty where there is none."""
    return "" if question.target is None else next(iter(target_texts(question.target)), "")


def examples_tool(index: Callable[[], Examples], present: Question) -> Tool:
    """The tool `examples(query=None, k=5)` for a program that runs on the question `present`. The index is
    built at the first call, since most programs make none.
    """

    async def examples(query: Any = None, k: Any = 5) -> list[dict[str, str]]:
        return index().find(query, k, without=present.text)

    return examples
