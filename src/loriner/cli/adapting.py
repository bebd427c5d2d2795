"""`adapt` and `demo`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loriner.cli.globals import Globals
from loriner.cli.spending import (
    DryRun,
    MaxCalls,
    MaxMinutes,
    MaxTokens,
    MaxTrials,
    MaxUsd,
    NoCache,
    Replay,
    Resume,
    caps,
    earlier,
    print_estimate,
)

if TYPE_CHECKING:
    from loriner.config import AdaptTable, Settings
    from loriner.records import Usage
    from loriner.search.episode import Plan
    from loriner.search.estimate import Estimate
    from loriner.search.history import Adaptation

DEMO_TASK = "rg:count_primes"
DEMO_SOLVER = "qwen2.5-coder-0.5b"


NoHistory = Annotated[bool, typer.Option("--no-history", help="Hide earlier revisions from the proposer.")]
NoTraces = Annotated[bool, typer.Option("--no-traces", help="Hide trials from the proposer.")]
ScoresOnly = Annotated[
    bool, typer.Option("--scores-only", help="Show the proposer the program and its scores, nothing else.")
]
SinkOption = Annotated[
    list[str] | None, typer.Option("--sink", help="Also tell mlflow, wandb, trackio or tensorboard.")
]


def ablations(no_history: bool, no_traces: bool, scores_only: bool) -> dict[str, bool | None]:
    """What the proposer is not shown, as settings; None leaves a setting as it is."""
    return {
        "history": False if no_history or scores_only else None,
        "traces": False if no_traces or scores_only else None,
        "targets": False if scores_only else None,
    }


def register(app: typer.Typer) -> None:
    app.command()(demo)
    app.command()(adapt)


def adapt(
    context: typer.Context,
    task: Annotated[
        str | None,
        typer.Argument(help="A task name, rg:FAMILY, or a task folder; default: from loriner.toml."),
    ] = None,
    solver: Annotated[str | None, typer.Option(help="The frozen model that answers.")] = None,
    proposer: Annotated[
        str | None, typer.Option(help="`catalogue`, or the model that writes revisions.")
    ] = None,
    harness: Annotated[str | None, typer.Option(help="Start from a version, library:NAME or a file.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds at most.")] = None,
    candidates: Annotated[int | None, typer.Option("-k", "--candidates", help="Completions a round.")] = None,
    accept: Annotated[str | None, typer.Option(help="always, mean or paired.")] = None,
    feedback: Annotated[int | None, typer.Option(help="Questions shown to the proposer.")] = None,
    grade: Annotated[int | None, typer.Option(help="Questions that decide.")] = None,
    test: Annotated[int | None, typer.Option(help="Sealed questions, scored once at the end.")] = None,
    no_history: NoHistory = False,
    no_traces: NoTraces = False,
    scores_only: ScoresOnly = False,
    sinks: SinkOption = None,
    max_usd: MaxUsd = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_trials: MaxTrials = None,
    max_minutes: MaxMinutes = None,
    no_cache: NoCache = False,
    dry_run: DryRun = False,
    resume: Resume = None,
    replay: Replay = None,
    allow_reduced: Annotated[
        bool, typer.Option("--allow-reduced", help="Accept a sandbox below level 2.")
    ] = False,
) -> None:
    """Adapts a harness to a task: propose, evaluate, accept, round after round."""
    given: Globals = context.obj
    settings = given.settings(
        allow_reduced=True if allow_reduced else None,
        cache=False if no_cache else None,
        adapt={
            "task": task,
            "solver": solver,
            "proposer": proposer,
            "harness": harness,
            "rounds": rounds,
            "candidates": candidates,
            "accept": accept,
            "feedback": feedback,
            "grade": grade,
            "test": test,
            **ablations(no_history, no_traces, scores_only),
        },
        sinks=sinks or None,
        budget=caps(max_usd, max_calls, max_tokens, max_trials, max_minutes),
    )
    settings = earlier(settings, "adapt", resume, replay, harness)
    if dry_run:
        print_estimate(given, asyncio.run(_estimate(settings)))
        return
    episode, spent = asyncio.run(_adapt(settings, given, resume=resume, replay=replay))
    _print(given, settings, episode, spent)


def demo(
    context: typer.Context,
    task: Annotated[str, typer.Option(help="A Reasoning Gym family.")] = DEMO_TASK,
    solver: Annotated[str, typer.Option(help="The frozen model that answers.")] = DEMO_SOLVER,
    rounds: Annotated[int, typer.Option(help="Rounds at most.")] = 2,
) -> None:
    """Adapts the minimal harness to a real task with a real small model on this machine."""
    from loriner.cli.models import ensure_pulled

    given: Globals = context.obj
    settings = given.settings(
        adapt={
            "task": task,
            "solver": solver,
            "proposer": "catalogue",
            "rounds": rounds,
            "candidates": 2,
            "feedback": 8,
            "grade": 12,
            "test": 24,
        }
    )
    ensure_pulled(solver, settings, given)
    _say(
        given,
        f"The solver {solver} is a real, frozen model, run on this machine; {task} is a real benchmark.\n"
        "Nothing is scripted but the proposer: it picks from a catalogue of known revisions (no model).",
    )
    episode, spent = asyncio.run(_adapt(settings, given))
    _print(given, settings, episode, spent)
    if not given.json:
        from loriner.cli.render import next_steps

        next_steps(episode)


def _say(given: Globals, text: str) -> None:
    if given.verbosity >= 0:
        typer.echo(text, err=True)


async def _estimate(settings: Settings) -> Estimate:
    from loriner.search.estimate import of_adaptation
    from loriner.workspace import named, task_of

    named(settings.adapt.solver, "solver", "--solver")
    task = task_of(settings)
    try:
        return of_adaptation(settings, task, plan_of(settings.adapt))
    finally:
        await task.close()


async def _adapt(
    settings: Settings, given: Globals, *, resume: str | None = None, replay: str | None = None
) -> tuple[Adaptation, Usage]:
    from loriner.cli.progress import watching
    from loriner.report.sinks.telling import chosen, sinking
    from loriner.runtime.levels import NEEDED
    from loriner.search.adapt import adapt as run_adaptation
    from loriner.search.estimate import of_adaptation
    from loriner.workspace import named, task_of, workspace

    sinks = chosen(settings.sinks)
    wanted = settings.adapt
    async with workspace(settings, "adapting", needed_level=NEEDED) as opened:
        task = task_of(settings)
        try:
            plan = plan_of(wanted)
            of_adaptation(settings, task, plan)  # refuses caps that cannot be kept or fit nothing
            parent = None if replay is None else opened.replay(replay)
            solver = opened.model(named(wanted.solver, "solver", "--solver"))
            proposer = opened.proposer(wanted.proposer)
            start = await opened.pinned(wanted.harness or f"library:{task.seed_harness}", task.name)
            with (
                opened.run("adapt", resume=resume, parent=parent) as (run_id, summary),
                watching(given.verbosity) as watch,
                sinking(sinks, run_id, watch, home=settings.home) as observe,
            ):
                lab = opened.evaluator(run_id, solver, observe)
                episode = await run_adaptation(
                    task, start, lab, proposer, plan=plan, registry=opened.registry
                )
                summary |= _summary(episode)
        finally:
            await task.close()
        return episode, opened.store.spent(run_id)


def plan_of(wanted: AdaptTable) -> Plan:
    """How an episode searches, from the settings."""
    from loriner.search.episode import Plan

    return Plan(
        rounds=wanted.rounds,
        candidates=wanted.candidates,
        accept=wanted.accept,
        feedback=wanted.feedback,
        grade=wanted.grade,
        test=wanted.test,
    )


def _summary(episode: Adaptation) -> dict[str, Any]:
    from loriner.cli import documents

    return {
        "task": episode.start.task,
        "seed": documents.standing(episode.seed),
        "best": documents.standing(episode.best),
        "rounds": len(episode.rounds),
        "stopped": documents.stop(episode.stopped),
    }


def _print(given: Globals, settings: Settings, episode: Adaptation, spent: Usage) -> None:
    """Prints the outcome. Exit 4 after it, where a cap ended the search."""
    from loriner.cli import documents, render
    from loriner.errors import BudgetReached

    if given.json:
        documents.emit(documents.adaptation(episode, settings.adapt.solver or "", spent))
    else:
        render.adaptation(episode, settings.adapt.solver or "", spent)
    if (stop := episode.stopped).reason == "budget":
        missing = f" Not scored: {'; '.join(stop.missing)}." if stop.missing else ""
        raise BudgetReached(
            f"{stop.why}.{missing} "
            f"To go on: loriner adapt --resume {episode.run_id}, with a larger cap or none"
        )
