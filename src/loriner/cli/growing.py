"""`train trees`: from a training file to trees in the store, lessons, and a table of gains."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import typer

from loriner.cli import render
from loriner.cli.globals import Globals
from loriner.cli.laboratory import Laboratory, laboratory, tell
from loriner.propose.revisions import ENTRIES
from loriner.seeding import derive, generator
from loriner.train import gains, jsonl, tree_lessons
from loriner.train.estimate import TreesEstimate, of_trees
from loriner.train.settings import TrainConfig
from loriner.train.suites import in_settings, states
from loriner.train.trees import Grower, Node, Start, TreePlan, read_nodes


def estimate(config: TrainConfig) -> TreesEstimate:
    """What the trees would take at most."""
    n_tasks = len(in_settings(config.contexts.tasks, config.contexts.settings))
    return of_trees(config, n_tasks, len(ENTRIES))


async def trees(
    given: Globals, config: TrainConfig, minutes: float | None, resume: str | None, also: Sequence[str]
) -> dict[str, Any]:
    """Grows, writes the lessons and the table of gains, and returns the summary."""
    plan = plan_of(config)
    async with laboratory(given, config.contexts, config.solver, "train trees", resume=resume) as here:
        grower = Grower(lab=here.lab, tasks=here.tasks, plan=plan)
        await grower.grow(starts(config, here), None if minutes is None else 60 * minutes)
        for each in grower.failed:
            tell(given, f"not grown: {each}")
        run_ids = [here.lab.run_id, *(here.opened.store.run(each).id for each in also)]
        nodes = read_nodes(here.opened.store, run_ids)
        return _written(config, here, nodes, run_ids) | {"not_grown": grower.failed}


def plan_of(config: TrainConfig) -> TreePlan:
    table = config.trees.model_dump(exclude={"max_share", "max_refused"})
    return TreePlan(**table, feedback=config.contexts.feedback, seed=config.seed)


def starts(config: TrainConfig, here: Laboratory) -> list[Start]:
    """The programs of the tasks, in a seeded order: a stop leaves a fair part of them."""
    found = states(config.contexts, here.tasks, config.seed)
    generator(config.seed, "trees", "order").shuffle(found)
    return [Start(task=each.task, harness=each.harness) for each in found]


def _written(
    config: TrainConfig, here: Laboratory, nodes: Sequence[Node], run_ids: Sequence[str]
) -> dict[str, Any]:
    """The summary, written beside the lessons and the table of gains."""
    known = [each for each in nodes if each.context.task in here.tasks]
    plan = tree_lessons.LessonPlan(
        accept=config.teacher.accept,
        max_share=config.trees.max_share,
        max_refused=config.trees.max_refused,
        max_chars=config.teacher.max_chars,
        max_prompt_tokens=config.contexts.max_prompt_tokens,
        seed=derive(config.seed, "trees"),
    )
    found = tree_lessons.lessons(known, here.tasks, plan)
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
