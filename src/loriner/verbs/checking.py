"""`tasks check`: whether a task keeps its promises; a judge among them is held against known answers."""

from __future__ import annotations

from loriner.config import Settings
from loriner.records import Usage
from loriner.tasks.base import Task, is_judged
from loriner.tasks.check import TaskReport, Told, check
from loriner.verbs.workspace import workspace


async def checked(settings: Settings, task: Task, seed_fault: str, told: Told) -> tuple[TaskReport, Usage]:
    """The report, and what a judge took for it: its calls are capped by the budget and kept in the cache."""
    if not is_judged(task):
        return await check(task, seed_fault=seed_fault, told=told), Usage()
    async with workspace(settings) as lab:
        report = await check(lab.seated(task), seed_fault=seed_fault, told=told)
        return report, lab.meter.usage
