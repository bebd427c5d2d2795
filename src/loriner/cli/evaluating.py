"""`evaluate` and `propose`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loriner.cli.flags import settled
from loriner.cli.globals import Globals
from loriner.cli.spending import DryRun, Replay, Resume, earlier, print_estimate, require_writable
from loriner.config import Settings

if TYPE_CHECKING:
    from loriner.search.board import Board
    from loriner.search.scoreboard import Scoreboard


@settled("evaluate", "adapt.solver", "budget", "cache")
def evaluate(
    given: Globals,
    settings: Settings,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Also write the table there, as Markdown.")
    ] = None,
    fail_under: Annotated[
        float | None, typer.Option(help="Exit 1 unless every mean is at least this.")
    ] = None,
    dry_run: DryRun = False,
    resume: Resume = None,
    replay: Replay = None,
) -> None:
    """Scores harnesses on a task, on several or on a suite, each with n and a 95 % interval."""
    from loriner.cli import scoreboard
    from loriner.config import changed
    from loriner.search.board import asked_for, estimate

    harness = given.flags.get("evaluate", {}).get("harnesses")
    settings = earlier(settings, "evaluate", resume, replay)
    if replay is not None and harness:
        settings = changed(settings, evaluate={"harnesses": harness})
    board = asked_for(settings)
    if dry_run:
        print_estimate(given, estimate(settings, board))
        return
    if out is not None:
        require_writable(out)
    anew = bool(harness)
    filled = asyncio.run(_fill(settings, given, board, resume=resume, replay=replay, anew=anew))
    scoreboard.show(filled, json=given.json, trials=given.verbosity > 0)
    if out is not None:
        out.write_text(scoreboard.markdown(filled), encoding="utf-8")
        typer.echo(f"wrote {out}", err=True)
    for error in filled.errors.values():
        raise typer.Exit(error.exit_code)
    if fail_under is not None and not filled.reaches(fail_under):
        raise typer.Exit(1)


async def _fill(settings: Settings, given: Globals, board: Board, **earlier: Any) -> Scoreboard:
    from loriner.cli.progress import watching
    from loriner.search.scoreboard import fill
    from loriner.workspace import workspace

    async with workspace(settings) as opened:
        with watching(given.verbosity) as observe:
            return await fill(opened, board, observe, **earlier)


@settled(*(f"adapt.{each}" for each in ("task", "solver", "proposer", "harness", "candidates", "feedback")))
def propose(
    given: Globals,
    settings: Settings,
    print_prompt: Annotated[
        bool, typer.Option("--print-prompt", help="Print what the proposer reads.")
    ] = False,
) -> None:
    """Shows what a proposer would change, and whether the edits apply; grades nothing."""
    asyncio.run(_propose(settings, given, print_prompt))


async def _propose(settings: Settings, given: Globals, print_prompt: bool) -> None:
    from loriner.cli import documents, render
    from loriner.cli.progress import watching
    from loriner.propose.context import brief_of, make_context
    from loriner.propose.proposer import propose as write
    from loriner.workspace import named, task_of, workspace

    wanted = settings.adapt
    async with workspace(settings) as opened:
        task = task_of(settings)
        try:
            harness = opened.harness(wanted.harness or f"library:{task.seed_harness}", task.name)
            proposer = opened.proposer(wanted.proposer)
            solver = opened.model(named(wanted.solver, "solver", "--solver"))
            questions = task.questions("feedback")[: wanted.feedback]
            with opened.run("propose") as (run_id, summary), watching(given.verbosity) as observe:
                lab = opened.evaluator(run_id, solver, observe)
                trials = await lab.evaluate(task, harness, questions, purpose="feedback")
                seen = make_context(
                    brief_of(task.name, task.description, task.tools), harness, trials, questions, round=1
                )
                if print_prompt:
                    render.prompt(opened.asking(wanted.proposer).read(seen))
                rollouts = [await write(proposer, seen, index) for index in range(wanted.candidates)]
                for each in rollouts:
                    await opened.store.add_rollout(run_id, each)
                summary |= {
                    "task": task.name,
                    "candidates": sum(each.candidate is not None for each in rollouts),
                }
        finally:
            await task.close()
    if given.json:
        documents.emit(documents.proposals(run_id, task.name, proposer.name, harness, rollouts))
    else:
        render.proposals(harness, rollouts)
