"""`train trees`: from a training file to trees in the store, lessons, and a table of gains."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer

from loriner.cli import render
from loriner.cli.globals import Globals
from loriner.cli.laboratory import Laboratory, laboratory, tell
from loriner.errors import ConfigError
from loriner.propose.revisions import ENTRIES
from loriner.seeding import derive, generator
from loriner.tasks.base import Task
from loriner.tasks.format_varied import canonical_name
from loriner.train import gains, jsonl, tree_lessons
from loriner.train.estimate import TreesEstimate, of_trees
from loriner.train.settings import TrainConfig
from loriner.train.suites import in_settings, states
from loriner.train.trees import Grower, Node, Start, TreePlan, read_nodes


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


async def trees(given: Globals, config: TrainConfig, now: Stretch) -> dict[str, Any]:
    """Grows, writes the lessons and the table of gains, and returns the summary."""
    async with laboratory(given, config.contexts, config.solver, "train trees", resume=now.resume) as here:
        tell(given, f"run {here.lab.run_id}")
        grower = Grower(lab=here.lab, tasks=here.tasks, plan=plan_of(config))
        seconds = None if now.minutes is None else 60 * now.minutes
        await grower.grow(starts(config, here.tasks, now.part), seconds)
        for each in grower.failed:
            tell(given, f"not grown: {each}")
        run_ids = [here.lab.run_id, *(here.opened.store.run(each).id for each in now.also)]
        nodes = read_nodes(here.opened.store, run_ids)
        return _written(config, here, nodes, run_ids) | {"not_grown": grower.failed}


def plan_of(config: TrainConfig) -> TreePlan:
    table = config.trees.model_dump(exclude={"max_share", "max_refused", "per_program"})
    return TreePlan(**table, feedback=config.contexts.feedback, seed=config.seed)


def lesson_plan(config: TrainConfig) -> tree_lessons.LessonPlan:
    return tree_lessons.LessonPlan(
        accept=config.teacher.accept,
        max_share=config.trees.max_share,
        max_refused=config.trees.max_refused,
        per_program=config.trees.per_program,
        max_chars=config.teacher.max_chars,
        max_prompt_tokens=config.contexts.max_prompt_tokens,
        seed=derive(config.seed, "trees"),
    )


def starts(config: TrainConfig, tasks: Mapping[str, Task], part: tuple[int, int] = (1, 1)) -> list[Start]:
    """The programs of a part of the tasks, in a seeded order: a stop leaves a fair part of them."""
    families = sorted({canonical_name(name) for name in tasks})
    mine = set(families[part[0] - 1 :: part[1]])
    chosen = {name: task for name, task in tasks.items() if canonical_name(name) in mine}
    found = states(config.contexts, chosen, config.seed)
    generator(config.seed, "trees", "order").shuffle(found)
    return [Start(task=each.task, harness=each.harness) for each in found]


def _written(
    config: TrainConfig, here: Laboratory, nodes: Sequence[Node], run_ids: Sequence[str]
) -> dict[str, Any]:
    """The summary, written beside the lessons and the table of gains."""
    known = [each for each in nodes if each.context.task in here.tasks]
    found = tree_lessons.lessons(known, here.tasks, lesson_plan(config))
    jsonl.write(config.lessons_file, tree_lessons.rows(found))
    provenance = {"runs": list(run_ids), "solver": config.solver, "suite": list(config.contexts.tasks)}
    jsonl.write_text(config.gains_file, json.dumps(gains.table(known, provenance), indent=1))
    summary = {"run": run_ids[0], "by_depth": gains.by_depth(known), **tree_lessons.summary(found)}
    jsonl.write_text(config.output / "trees.json", json.dumps(summary, indent=1))
    return summary


def print_summary(config: TrainConfig, found: dict[str, Any]) -> None:
    layers = [
        [depth, row["nodes"], f"{row['score']:.3f}", _gain(row["gain"]), f"{row['better']:.0%}", *_one(row)]
        for depth, row in found["by_depth"].items()
    ]
    head = ["depth", "programs", "score", "best gain", "any better", "always the same", "gain"]
    render.table("Gain by depth, on questions that chose nothing", head, layers)
    render.table("Rows by revision", ["revision", "rows"], list(found["rows_by_entry"].items()))
    by_depth = ", ".join(f"depth {depth} {n}" for depth, n in found["rows_by_depth"].items())
    typer.echo(
        f"{found['n_rows']} rows in {config.lessons_file} ({by_depth or 'none'}) of {found['n_nodes']}"
    )
    typer.echo(f"to go on: loriner train trees CONFIG --resume {found['run']}")


def _gain(figures: Sequence[float]) -> str:
    return f"{figures[1]:+.3f} ({figures[2]:.3f})"


def _one(row: dict[str, Any]) -> list[str]:
    entry, gain = row["same_for_all"] or ["-", 0.0]
    return [entry, f"{gain:+.3f}"]
