"""`train trees`: from a training file to trees in the store, lessons, and a table of gains."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from loriner.errors import ConfigError
from loriner.events import Note, Observer, silent
from loriner.propose.catalogue_list import ENTRIES
from loriner.seeding import generator
from loriner.tasks.base import Task
from loriner.tasks.varied.task import canonical_name
from loriner.train import gains, jsonl, tree_lessons
from loriner.train.estimate import TreesEstimate, of_trees
from loriner.train.settings import TrainConfig
from loriner.train.suites import in_settings, states
from loriner.train.trees import Grower, TreeNode, TreePlan, TreeStart, read_nodes
from loriner.verbs.laboratory import Laboratory, laboratory
from loriner.verbs.training import of_training
from loriner.verbs.workspace import Workspace


def estimate(config: TrainConfig) -> TreesEstimate:
    """What the trees would take at most."""
    n_tasks = len(in_settings(config.contexts.tasks, config.contexts.settings))
    return of_trees(config, n_tasks, len(ENTRIES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What of the trees is grown now."""

    minutes: float | None = None
    resume: str | None = None
    also: tuple[str, ...] = ()
    """Runs whose trees are read too."""
    part: tuple[int, int] = (1, 1)
    """Which of how many parts of the tasks; a task's settings are in one part."""


def part_of(text: str) -> tuple[int, int]:
    """`2/3` as numbers.

    Raises:
        ConfigError: it is something else.
    """
    one, _, of = text.partition("/")
    if not (one.isdecimal() and of.isdecimal() and 1 <= int(one) <= int(of)):
        raise ConfigError(f"--part {text}: expected a part and their number, such as 2/3")
    return int(one), int(of)


async def trees(
    lab: Workspace, config: TrainConfig, now: Stretch, observe: Observer = silent
) -> dict[str, Any]:
    """Grows, writes the lessons and the table of gains, and returns the summary."""
    training = of_training(lab, config)
    async with laboratory(training, config.contexts, "train trees", observe, resume=now.resume) as here:
        observe(Note(text=f"run {here.run_id}"))
        grower = Grower(lab=here.evaluator, tasks=here.tasks, plan=plan_of(config))
        seconds = None if now.minutes is None else 60 * now.minutes
        await grower.grow(starts(config, here.tasks, now.part), seconds)
        for each in grower.failed:
            observe(Note(text=f"not grown: {each}"))
        run_ids = [here.run_id, *(lab.store.run(each).id for each in now.also)]
        nodes = read_nodes(lab.store, run_ids)
        return _written(config, here, nodes, run_ids) | {"not_grown": grower.failed}


def plan_of(config: TrainConfig) -> TreePlan:
    table = config.trees.model_dump(include={each.name for each in fields(TreePlan)})
    return TreePlan(**table, feedback=config.contexts.feedback, seed=config.seed)


def starts(config: TrainConfig, tasks: Mapping[str, Task], part: tuple[int, int] = (1, 1)) -> list[TreeStart]:
    """The programs of a part of the tasks, in a seeded order: a stop leaves a fair part of them."""
    families = sorted({canonical_name(name) for name in tasks})
    mine = set(families[part[0] - 1 :: part[1]])
    chosen = {name: task for name, task in tasks.items() if canonical_name(name) in mine}
    found = states(config.contexts, chosen, config.seed)
    generator(config.seed, "trees", "order").shuffle(found)
    return [TreeStart(task=each.task, harness=each.harness) for each in found]


def _written(
    config: TrainConfig, here: Laboratory, nodes: Sequence[TreeNode], run_ids: Sequence[str]
) -> dict[str, Any]:
    """The summary, written beside the lessons and the table of gains."""
    known = [each for each in nodes if each.context.task in here.tasks]
    found = tree_lessons.lessons(known, here.tasks, tree_lessons.plan_of(config))
    jsonl.write(config.lessons_file, tree_lessons.rows(found))
    provenance = {"runs": list(run_ids), "solver": config.solver, "suite": list(config.contexts.tasks)}
    jsonl.write_text(config.gains_file, json.dumps(gains.table(known, provenance), indent=1))
    summary = {"run": run_ids[0], "by_depth": gains.by_depth(known), **tree_lessons.summary(found)}
    jsonl.write_text(config.output / "trees.json", json.dumps(summary, indent=1))
    return summary
