"""`train`: contexts, teach, trees, sft, grpo. Each reads its tables of one training file."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loriner.cli.globals import Globals

if TYPE_CHECKING:
    from loriner.train.estimate import Estimate, TreesEstimate
    from loriner.train.exercise import Exercise
    from loriner.train.settings import TrainConfig
    from loriner.train.teacher import Lesson, TeachPlan

app = typer.Typer()

ConfigArgument = Annotated[Path, typer.Argument(metavar="CONFIG", help="A training file, as in configs/.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what it would take, and stop.")]


@app.command()
def contexts(context: typer.Context, config: ConfigArgument) -> None:
    """Draws the training contexts and freezes them to a file with a digest."""
    from loriner.cli import documents

    given, read = _read(context, config)
    found = asyncio.run(_contexts(given, read))
    if given.json:
        documents.emit(found)
    else:
        typer.echo(f"{found['n']} contexts in {found['file']}, digest {found['digest']}")


async def _contexts(given: Globals, config: TrainConfig) -> dict[str, Any]:
    from loriner.cli.laboratory import draw_plan, laboratory, tell
    from loriner.train.contexts import draw
    from loriner.train.exercise import require_divisible, save
    from loriner.train.suites import states

    table = config.contexts
    require_divisible(table.n, config.grpo.contexts_per_update)
    async with laboratory(given, table, config.solver, "train contexts") as here:
        starts = states(table, here.tasks, config.seed)
        tell(
            given, f"{len(starts)} programs on {len(here.tasks)} tasks, {table.pool} feedback questions each"
        )
        drawn = await draw(here.lab, here.tasks, starts, draw_plan(table, table.n, config.seed))
        file = config.contexts_file
        return {"file": str(file), "n": len(drawn), "digest": save(drawn, file, here.names)}


@app.command()
def teach(context: typer.Context, config: ConfigArgument) -> None:
    """Has a teacher revise the contexts' programs; keeps what beats them and passes the quality screen."""
    from loriner.cli import documents
    from loriner.train import jsonl, teacher

    given, read = _read(context, config)
    lessons, plan = asyncio.run(_teach(given, read))
    found = asdict(teacher.report(read.teacher.proposer, lessons, plan))
    jsonl.write_text(read.output / "lessons-report.json", json.dumps(found, indent=2))
    if given.json:
        documents.emit(found)
    else:
        _print_lessons(found)
    n_rows = teacher.export(lessons, plan, read.lessons_file)
    if not given.json:
        typer.echo(f"{n_rows} rows in {read.lessons_file}")


async def _teach(given: Globals, config: TrainConfig) -> tuple[list[Lesson], TeachPlan]:
    from loriner.cli.laboratory import laboratory
    from loriner.train.exercise import load
    from loriner.train.teacher import TeachPlan, teach

    table = config.teacher.model_dump(exclude={"proposer", "n_contexts"})
    plan = TeachPlan(**table, seed=config.seed)
    exercises = load(config.contexts_file)[: config.teacher.n_contexts]
    async with laboratory(given, config.contexts, config.solver, "train teach") as here:
        proposer = here.opened.proposer(config.teacher.proposer)
        return await teach(here.lab, here.tasks, exercises, proposer, plan), plan


def _print_lessons(found: dict[str, Any]) -> None:
    from loriner.cli import render

    patterns = [[name, f"{share:.0%}"] for name, share in found["patterns"].items()]
    render.table("Kept, by pattern", ["pattern", "share"], patterns)
    render.table("Dropped, by reason", ["reason", "completions"], list(found["dropped"].items()))
    typer.echo(
        f"Kept {found['n_kept']} of {found['n_completions']} completions; "
        f"their mean score {found['before']:.2f} -> {found['after']:.2f}"
    )


@app.command()
def trees(
    context: typer.Context,
    config: ConfigArgument,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0, help="Stop after so many, with what there is.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="RUN", help="Go on with the trees of this run.")
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option("--also", metavar="RUN", help="Take the trees of this run into the lessons too."),
    ] = None,
    part: Annotated[
        str, typer.Option("--part", metavar="I/N", help="Only the I-th of N parts of the tasks.")
    ] = "1/1",
    dry_run: DryRun = False,
) -> None:
    """Grows trees of known revisions on the tasks; writes lessons of all depths and what each gained."""
    from loriner.cli import documents, growing

    given, read = _read(context, config)
    if dry_run:
        _print_estimate(given, growing.estimate(read))
        return
    now = growing.Stretch(minutes=minutes, resume=resume, also=tuple(also or ()), part=growing.part_of(part))
    found = asyncio.run(growing.trees(given, read, now))
    if given.json:
        documents.emit(found)
    else:
        growing.print_summary(read, found)


@app.command()
def sft(context: typer.Context, config: ConfigArgument, dry_run: DryRun = False) -> None:
    """Fine-tunes the policy on the teacher's rows: LoRA, merged at the end. Goes on from its last
    checkpoint.
    """
    given, read = _read(context, config)
    if dry_run:
        from loriner.train.estimate import of_sft

        _print_estimate(given, of_sft(read, read.teacher.n_examples))
        return
    from loriner.cli.laboratory import tell
    from loriner.train.sft import train_sft

    typer.echo(str(train_sft(read, partial(tell, given))))


@app.command()
def grpo(
    context: typer.Context,
    config: ConfigArgument,
    base: Annotated[
        str, typer.Option("--from", help="`sft` for the model that `train sft` made, `base`, or a directory.")
    ] = "sft",
    dry_run: DryRun = False,
) -> None:
    """Trains the policy by running what it writes. Goes on from its last checkpoint."""
    given, read = _read(context, config)
    if dry_run:
        from loriner.train.estimate import of_grpo

        _print_estimate(given, of_grpo(read))
        return
    typer.echo(str(_grpo(given, read, _start(read, base))))


def _start(config: TrainConfig, name: str) -> str:
    from loriner.errors import ConfigError

    if name != "sft":
        return config.policy.base if name == "base" else name
    if not (config.sft_model / "config.json").exists():
        raise ConfigError(f"no model in {config.sft_model}: run train sft first, or give --from base")
    return str(config.sft_model)


def _grpo(given: Globals, config: TrainConfig, base: str) -> Path:
    from loriner.train.exercise import digest, load
    from loriner.train.fingerprint import Began

    first = load(config.contexts_file)  # before a minute of imports
    began = Began.of(config, base, digest(config.contexts_file), int(os.environ.get("RANK", "0")))
    resume = began.run()
    from loriner.cli.laboratory import draw_plan, laboratory, tell
    from loriner.train.bridge import opened
    from loriner.train.contexts import State, draw
    from loriner.train.grpo import train_grpo
    from loriner.train.multistep import epochs
    from loriner.train.patience import patient
    from loriner.train.reward import Scored, Scorer

    table = config.grpo
    make = partial(laboratory, given, config.contexts, config.solver, "train grpo", resume=resume)
    with opened(make) as door:
        here = door.inside
        began.keep(here.lab.run_id)
        scorer = Scorer(lab=here.lab, tasks=here.tasks, deadline_s=table.deadline_s)

        def judge(
            exercises: Sequence[Exercise], completions: Sequence[str], indices: Sequence[int]
        ) -> list[Scored]:
            return door.call(lambda _: scorer.judge_all(exercises, completions, indices))

        def redraw(starts: Sequence[State], n: int, epoch: int) -> tuple[Exercise, ...]:
            plan = draw_plan(config.contexts, n, config.seed, epoch)
            return door.call(lambda _: draw(here.lab, here.tasks, starts, plan))

        def unrevised(exercises: Sequence[Exercise]) -> list[float | None]:
            return door.call(lambda _: scorer.unrevised(exercises))

        say = partial(tell, given)
        source = epochs(config, first, redraw, unrevised)
        return train_grpo(config, base, source, patient(judge, table.patience_s, say), tell=say)


def _read(context: typer.Context, path: Path) -> tuple[Globals, TrainConfig]:
    """The training file, and the global options without what `--set` says of it. `--seed` is for both."""
    from loriner.train.settings import TrainConfig, load

    given: Globals = context.obj
    ours = [
        each for each in given.assignments if each.partition("=")[0].split(".")[0] in TrainConfig.model_fields
    ]
    if given.seed is not None:
        ours.append(f"seed={given.seed}")
    config = load(path, ours)
    rest = tuple(each for each in given.assignments if each not in ours)
    return replace(given, assignments=rest, seed=config.seed), config


def _print_estimate(given: Globals, found: Estimate | TreesEstimate) -> None:
    from loriner.cli import documents, render
    from loriner.train.estimate import RATES

    if given.json:
        documents.emit({**asdict(found), "rates": RATES})
        return
    rows = [[name.replace("_", " "), _rounded(value)] for name, value in asdict(found).items()]
    render.table("What it would take", ["figure", "at most"], rows)
    typer.echo("At the rates of docs/training.md: " + ", ".join(f"{k} {v:,.3g}" for k, v in RATES.items()))


def _rounded(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
