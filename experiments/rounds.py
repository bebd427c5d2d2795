"""Rounds in sequence: each proposer adapts each task for some rounds; the current program is tested after
each.

    python experiments/rounds.py --suite rg-unseen --solver MODEL --proposers sft=MODEL,rl=MODEL,catalogue

A round accepts by the mean on grade questions. What is reported is the score on test questions, which decide
nothing. One curve a proposer: the mean over tasks after 0, 1, ... rounds, with the gain of the later rounds
over the first, paired by family. With `--revise seed` every round revises the first program again, with no
memory of the other rounds: as many solver calls for independent tries.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from loriner.config import ProposeSettings, Settings
from loriner.errors import LorinerError
from loriner.evaluation.evaluator import gathered
from loriner.harness.contract import from_library
from loriner.search.adapt import adapt
from loriner.search.history import Adaptation
from loriner.search.plan import Plan
from loriner.statistics import interval, paired
from loriner.tasks.base import Task
from loriner.tasks.varied.task import canonical_name
from loriner.train import jsonl
from loriner.train.suites import open_suite
from loriner.verbs.workspace import Workspace, workspace


@dataclass(frozen=True, slots=True)
class Run:
    """What one task came to."""

    scores: list[dict[str, float]]
    """Test scores by question after 0, 1, ... rounds."""
    accepted: list[str]
    """The first line of each accepted revision's note."""
    n_tried: int
    """Candidates that were scored."""


async def sequence(
    opened: Workspace, task: Task, solver: str, proposer: str, arguments: argparse.Namespace
) -> Run:
    """Test scores by question after each round, the unrevised program first."""
    plan = Plan(
        rounds=arguments.rounds,
        candidates=1,
        accept="mean",
        revise=arguments.revise,
        feedback=arguments.feedback,
        grade=arguments.grade,
        test=0,
    )
    start = from_library(task.seed_harness)
    with opened.run("bench rounds") as (run_id, summary):
        summary.update(task=task.name, proposer=proposer)
        lab = opened.evaluator(run_id, opened.model(solver))
        episode = await adapt(
            task, start, lab, opened.proposer(proposer), plan=plan, registry=opened.registry
        )
        ids = [start.id, *(each.current_id for each in episode.rounds)]
        versions = [opened.store.harness(each) or start for each in ids]
        versions += versions[-1:] * (arguments.rounds + 1 - len(versions))
        questions = task.questions("test")[: arguments.test]
        tested = [await lab.evaluate(task, version, questions, purpose="test") for version in versions]
    return Run([dict(each.scores) for each in tested], _accepted(episode), _n_tried(episode))


def _accepted(episode: Adaptation) -> list[str]:
    return [each.accepted.note.split("\n")[0] for each in episode.rounds if each.accepted]


def _n_tried(episode: Adaptation) -> int:
    return sum(each.after is not None for round in episode.rounds for each in round.attempts)


async def measure(arguments: argparse.Namespace) -> None:
    """Writes the curve of every proposer, with its parts, as soon as it is known."""
    pairs = (each.partition("=") for each in arguments.proposers.split(","))
    named = {name: model or name for name, _, model in pairs}
    asked = ProposeSettings(
        prompt_tokens=arguments.prompt_tokens, completion_tokens=arguments.completion_tokens
    )
    settings = Settings(home=arguments.home, allow_reduced=True, propose=asked)
    found: dict[str, object] = {}
    async with workspace(settings) as opened:
        tasks = open_suite(
            arguments.suite.split(","), arguments.settings.split(","), home=settings.home, training=False
        )
        try:
            for name, model in named.items():
                runs = await gathered(
                    sequence(opened, task, arguments.solver, model, arguments) for task in tasks.values()
                )
                curve = means(runs)
                found[name] = {
                    "model": model,
                    "revise": arguments.revise,
                    "curve": curve,
                    "later": later(tasks, runs),
                    "by_task": by_task(tasks, runs),
                }
                jsonl.write_text(arguments.out, json.dumps(found, indent=2))
                print(f"{name:<12}" + " ".join(f"{point['score']:.3f}" for point in curve), flush=True)
        finally:
            for task in tasks.values():
                await task.close()


def means(runs: Sequence[Run]) -> list[dict[str, float]]:
    """The mean over all tasks after each round, with its interval."""
    curve = []
    for at, parts in enumerate(zip(*(run.scores for run in runs), strict=True)):
        each = interval([score for part in parts for score in part.values()])
        curve.append({"round": at, "score": each.mean, "low": each.low, "high": each.high, "n": each.n})
    return curve


def later(tasks: Iterable[str], runs: Sequence[Run]) -> dict[str, float]:
    """What the rounds after the first add to the score, paired by family, with its p."""
    first, last = (_by_family(tasks, runs, at) for at in (1, -1))
    found = paired(first, last)
    gain = found.difference
    return {"gain": gain.mean, "low": gain.low, "high": gain.high, "p": found.p_value}


def _by_family(tasks: Iterable[str], runs: Sequence[Run], at: int) -> dict[str, float]:
    scores: dict[str, list[float]] = {}
    for task, run in zip(tasks, runs, strict=True):
        scores.setdefault(canonical_name(task), []).append(fmean(run.scores[at].values()))
    return {family: fmean(each) for family, each in scores.items()}


def by_task(tasks: Iterable[str], runs: Sequence[Run]) -> dict[str, object]:
    """Of each task the mean after each round, the revisions that were accepted, and how many were tried."""
    return {
        task: {
            "scores": [round(fmean(each.values()), 4) for each in run.scores],
            "accepted": run.accepted,
            "tried": run.n_tried,
        }
        for task, run in zip(tasks, runs, strict=True)
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", default="rg-unseen")
    parser.add_argument("--solver", required=True)
    parser.add_argument("--proposers", required=True)
    parser.add_argument("--settings", default="canonical")
    parser.add_argument("--revise", default="current", choices=["current", "seed"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--feedback", type=int, default=8)
    parser.add_argument("--grade", type=int, default=12)
    parser.add_argument("--test", type=int, default=12)
    parser.add_argument("--prompt-tokens", type=int, default=6_000)
    parser.add_argument("--completion-tokens", type=int, default=2_048)
    parser.add_argument("--home", type=Path, default=Path(".loriner"))
    parser.add_argument("--out", type=Path, default=Path("rounds.json"))
    arguments = parser.parse_args()
    try:
        asyncio.run(measure(arguments))
    except LorinerError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
