"""`train`: contexts, teach, trees, sft, choose, grpo, choices. Each reads its tables of one training file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from loriner.cli.globals import Globals

if TYPE_CHECKING:
    from loriner.events import Observer
    from loriner.train.estimate import Estimate, TreesEstimate
    from loriner.train.settings import TrainConfig
    from loriner.verbs.workspace import Workspace

R = TypeVar("R")

app = typer.Typer()

ConfigArgument = Annotated[Path, typer.Argument(metavar="CONFIG", help="A training file, as in configs/.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what it would take, and stop.")]


@app.command()
def contexts(
    context: typer.Context,
    config: ConfigArgument,
    trees: Annotated[
        list[str] | None,
        typer.Option("--trees", metavar="RUN", help="Take the programs from the trees of this run."),
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Show what the trees tried, and ask no solver.")
    ] = False,
) -> None:
    """Draws the training contexts, and those of held-out families; freezes them to files with a digest."""
    from loriner.cli import documents
    from loriner.verbs.training import contexts as run

    given, read = _read(context, config)
    runs = tuple(trees or ())
    found = _work(given, lambda lab, observe: run(lab, read, observe, trees=runs, replay=replay))
    if given.json:
        documents.emit(found)
        return
    for each in (found, found.get("validation")):
        if each:
            typer.echo(f"{each['n']} contexts in {each['file']}, digest {each['digest']}")


@app.command()
def teach(context: typer.Context, config: ConfigArgument) -> None:
    """Has a teacher revise the contexts' programs; keeps what beats them and passes the quality screen."""
    from loriner.cli import documents
    from loriner.errors import LorinerError
    from loriner.verbs.training import teach as run

    given, read = _read(context, config)
    taught = _work(given, lambda lab, observe: run(lab, read, observe))
    if given.json:
        documents.emit(taught.report)
    else:
        _print_lessons(taught.report)
    try:
        n_rows = taught.export()
    except LorinerError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(error.exit_code) from None  # the report is out: an error would be a second
    if not given.json:
        typer.echo(f"{n_rows} rows in {read.lessons_file}")


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
    from loriner.cli import documents
    from loriner.verbs import trees as verb

    given, read = _read(context, config)
    if dry_run:
        _print_estimate(given, verb.estimate(read))
        return
    now = verb.Stretch(minutes=minutes, resume=resume, also=tuple(also or ()), part=verb.part_of(part))
    found = _work(given, lambda lab, observe: verb.trees(lab, read, now, observe))
    if given.json:
        documents.emit(found)
    else:
        _print_trees(read, found)


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
    from loriner.verbs.training import sft as run

    typer.echo(str(run(read, partial(_tell, given))))


@app.command()
def choose(
    context: typer.Context,
    config: ConfigArgument,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="URL", help="Endpoint with each checkpoint under its folder's name."),
    ] = None,
) -> None:
    """Chooses the checkpoint of SFT that leaves room to learn, by samples, and makes it the model."""
    given, read = _read(context, config)
    from loriner.verbs.training import choose as run
    from loriner.verbs.training import served

    sampler = None if at is None else served(given.settings(), read, at)
    typer.echo(str(run(read, sampler, partial(_tell, given))))


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
    from loriner.concurrency import opened
    from loriner.verbs.training import grpo as run

    with opened(partial(_workspace, given)) as door:
        typer.echo(str(run(door, read, base, partial(_tell, given))))


@app.command()
def choices(
    context: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(metavar="FILE|RUN...", help="Rollouts, samples, or a run of adapt or compare."),
    ],
) -> None:
    """Shows what a proposer chooses, and whether its choice follows the family beyond chance."""
    from loriner.cli import documents, render
    from loriner.verbs.choices import chosen

    given: Globals = context.obj
    found = chosen(given.settings().home, names, given.seed or 0)
    if given.json:
        documents.emit(found)
        return
    render.choices(found)
    for name, parts in found.items():
        if not parts["written"]["n"]:
            typer.echo(f"{name}: no valid revision", err=True)


def _work(given: Globals, verb: Callable[[Workspace, Observer], Coroutine[Any, Any, R]]) -> R:
    """The result of a verb in a workspace for training; what is worth a line is told on stderr."""
    from loriner.events import Note

    def observe(event: object, /) -> None:
        if isinstance(event, Note):
            _tell(given, event.text)

    async def work() -> R:
        async with _workspace(given) as lab:
            return await verb(lab, observe)

    return asyncio.run(work())


def _workspace(given: Globals) -> AbstractAsyncContextManager[Workspace]:
    from loriner.verbs.workspace import workspace

    return workspace(given.settings())


def _tell(given: Globals, text: str) -> None:
    """Says a line on stderr, unless told to be quiet."""
    if given.verbosity >= 0:
        typer.echo(text, err=True)


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


def _print_trees(config: TrainConfig, found: dict[str, Any]) -> None:
    from loriner.cli import render

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
