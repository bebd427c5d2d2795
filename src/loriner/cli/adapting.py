"""`adapt` and `demo`."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated

import typer

from loriner.cli.flags import settled
from loriner.cli.globals import Globals
from loriner.cli.spending import DryRun, Replay, Resume, print_estimate
from loriner.config import Settings

if TYPE_CHECKING:
    from loriner.search.history import Adaptation
    from loriner.verbs.earlier import Earlier

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
    """Improves a harness for a task: proposes, evaluates and accepts revisions, round by round."""
    from loriner.verbs.adapt import estimate
    from loriner.verbs.earlier import Earlier, as_begun

    harness = given.flags.get("adapt", {}).get("harness")
    earlier = Earlier(resume=resume, replay=replay, harnesses=(harness,) if harness else (), given=given.told)
    settings = as_begun(settings, "adapt", earlier)
    if dry_run:
        print_estimate(given, asyncio.run(estimate(settings)))
        return
    _print(given, settings, _adapted(given, settings, earlier))


def demo(
    context: typer.Context,
    task: Annotated[str, typer.Option(help="A task: a name or a folder.")] = DEMO_TASK,
    solver: Annotated[str, typer.Option(help="The frozen model that answers.")] = DEMO_SOLVER,
    rounds: Annotated[int, typer.Option(help="Largest number of rounds.")] = 1,
) -> None:
    """Adapts the minimal harness to a real task with a real small model on this machine."""
    from loriner.cli.models import ensure_pulled

    given: Globals = context.obj
    sizes = {"candidates": 1, "feedback": 6, "grade": 8, "test": 10}
    settings = given.settings(
        adapt={"task": task, "solver": solver, "proposer": "catalogue", "rounds": rounds, **sizes}
    )
    settings = _on_all_cores(settings, solver)
    ensure_pulled(solver, settings, given)
    _say(
        given,
        f"The solver {solver} is a real model, run on this machine; its weights do not change.\n"
        f"The task is {task}. The proposer is a catalogue of known revisions, not a model.",
    )
    episode = _adapted(given, settings)
    _print(given, settings, episode)
    if not given.json:
        from loriner.cli.render import next_steps

        next_steps(episode)


def _on_all_cores(settings: Settings, solver: str) -> Settings:
    """The settings with a thread a core, four at most, for pinned weights that they do not describe."""
    from loriner.models.named import ModelSpec
    from loriner.models.weights import CATALOGUE

    if solver in settings.models or solver not in CATALOGUE:
        return settings
    spec = ModelSpec(gguf=solver, n_threads=min(4, os.cpu_count() or 1))
    return settings.model_copy(update={"models": {**settings.models, solver: spec}})


def _say(given: Globals, text: str) -> None:
    if given.verbosity >= 0:
        typer.echo(text, err=True)


def _adapted(given: Globals, settings: Settings, earlier: Earlier | None = None) -> Adaptation:
    from loriner.cli.session import carried_out
    from loriner.verbs.adapt import adapt as verb
    from loriner.verbs.earlier import FRESH

    return carried_out(given, settings, verb, earlier=earlier or FRESH)


def _print(given: Globals, settings: Settings, episode: Adaptation) -> None:
    """Prints the outcome. Exit 4 after it, where a cap ended the search."""
    from loriner.cli import documents, render
    from loriner.errors import BudgetReached

    with given.store() as store:
        spent = store.spent(episode.run_id)
    if given.json:
        documents.emit(documents.adaptation(episode, settings.adapt.solver or "", spent))
    else:
        render.adaptation(episode, settings.adapt.solver or "", spent)
    if (stop := episode.stopped).reason == "budget":
        missing = f" Not scored: {'; '.join(stop.missing)}." if stop.missing else ""
        further = f"To resume: loriner adapt --resume {episode.run_id}, with a larger cap or none"
        typer.echo(f"error: {stop.why}.{missing} {further}", err=True)
        raise typer.Exit(BudgetReached.exit_code)  # the document is out: an error would be a second one
