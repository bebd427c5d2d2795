"""`evaluate` and `propose`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from loriner.cli.flags import settled
from loriner.cli.globals import Globals
from loriner.cli.spending import DryRun, Replay, Resume, print_estimate, require_writable
from loriner.config import Settings


@settled("evaluate", "adapt.solver", "budget", "cache")
def evaluate(
    given: Globals,
    settings: Settings,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Also write the table to this file, as Markdown.")
    ] = None,
    fail_under: Annotated[
        float | None, typer.Option(help="Exit 1 unless every mean is at least this.")
    ] = None,
    dry_run: DryRun = False,
    resume: Resume = None,
    replay: Replay = None,
) -> None:
    """Scores harnesses on one or more tasks or suites, with n and 95 % intervals."""
    from loriner.cli import scoreboard
    from loriner.cli.session import carried_out
    from loriner.verbs.board import estimate
    from loriner.verbs.earlier import Earlier, as_begun
    from loriner.verbs.scoreboard import evaluate as verb

    harnesses = tuple(given.flags.get("evaluate", {}).get("harnesses", ()))
    earlier = Earlier(resume=resume, replay=replay, harnesses=harnesses, given=given.told)
    settings = as_begun(settings, "evaluate", earlier)
    if dry_run:
        print_estimate(given, asyncio.run(estimate(settings)))
        return
    if out is not None:
        require_writable(out)
    filled = carried_out(given, settings, verb, earlier=earlier)
    scoreboard.show(filled, json=given.json, trials=given.verbosity > 0)
    if out is not None:
        out.write_text(scoreboard.markdown(filled), encoding="utf-8")
        typer.echo(f"wrote {out}", err=True)
    for error in filled.errors.values():
        raise typer.Exit(error.exit_code)
    if fail_under is not None and not filled.reaches(fail_under):
        raise typer.Exit(1)


@settled(*(f"adapt.{each}" for each in ("task", "solver", "proposer", "harness", "candidates", "feedback")))
def propose(
    given: Globals,
    settings: Settings,
    print_prompt: Annotated[
        bool, typer.Option("--print-prompt", help="Print what the proposer reads.")
    ] = False,
) -> None:
    """Shows what a proposer would change and whether the edits apply, without grading it."""
    from loriner.cli import documents, render
    from loriner.cli.session import carried_out
    from loriner.verbs.propose import propose as verb

    found = carried_out(given, settings, verb)
    if print_prompt:
        render.prompt(found.prompt)
    if given.json:
        documents.emit(documents.proposals(found))
    else:
        render.proposals(found.harness, found.rollouts)
