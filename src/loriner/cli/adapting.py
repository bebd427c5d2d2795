"""`adapt` and `demo`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loriner.cli.flags import settled
from loriner.cli.globals import Globals
from loriner.cli.spending import DryRun, Replay, Resume, earlier, print_estimate
from loriner.config import Settings

if TYPE_CHECKING:
    from loriner.records import Usage
    from loriner.search.episode import Adaptation
    from loriner.search.estimate import Estimate

DEMO_TASK = "primes"
DEMO_SOLVER = "qwen2.5-coder-0.5b"


@settled("adapt", "sinks", "budget", "cache", "allow_reduced")
def adapt(
    given: Globals,
    settings: Settings,
    dry_run: DryRun = False,
    resume: Resume = None,
    replay: Replay = None,
) -> None:
    """Adapts a harness to a task: propose, evaluate, accept, round after round."""
    settings = earlier(settings, "adapt", resume, replay, given.flags.get("adapt", {}).get("harness"))
    if dry_run:
        print_estimate(given, asyncio.run(_estimate(settings)))
        return
    episode, spent = asyncio.run(_adapt(settings, given, resume=resume, replay=replay))
    _print(given, settings, episode, spent)


def demo(
    context: typer.Context,
    task: Annotated[str, typer.Option(help="A task: a name or a folder.")] = DEMO_TASK,
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
    from loriner.search.episode import Plan
    from loriner.search.estimate import of_adaptation
    from loriner.workspace import named, task_of

    named(settings.adapt.solver, "solver", "--solver")
    task = task_of(settings)
    try:
        return of_adaptation(settings, task, Plan.of(settings.adapt))
    finally:
        await task.close()


async def _adapt(
    settings: Settings, given: Globals, *, resume: str | None = None, replay: str | None = None
) -> tuple[Adaptation, Usage]:
    from loriner.cli.progress import watching
    from loriner.report.sinks.telling import chosen, sinking
    from loriner.runtime.levels import NEEDED
    from loriner.search.adapt import adapt as run_adaptation
    from loriner.search.episode import Plan
    from loriner.search.estimate import of_adaptation
    from loriner.workspace import named, task_of, workspace

    sinks = chosen(settings.sinks)
    wanted = settings.adapt
    async with workspace(settings, "adapting", needed_level=NEEDED) as opened:
        task = task_of(settings)
        try:
            plan = Plan.of(wanted)
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


def _summary(episode: Adaptation) -> dict[str, Any]:
    from loriner.cli import documents

    return {
        "task": episode.task,
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
