"""Rounds in sequence: each proposer adapts each task for some rounds; the current program is tested after
each.

    python bench/rounds.py --suite rg-unseen --solver MODEL --proposers sft=MODEL,rl=MODEL,catalogue --rounds
    5

The round accepts by the mean on grade questions; what is reported is the score on test questions, which
decide nothing. One curve a proposer: the mean over tasks after 0, 1, ... rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from loriner.config import ProposeSettings, Settings
from loriner.errors import LorinerError
from loriner.evaluation.evaluator import gathered
from loriner.harness.contract import from_library
from loriner.records import Harness
from loriner.search.adapt import adapt
from loriner.search.episode import Plan
from loriner.statistics import interval
from loriner.tasks.base import Task
from loriner.train import jsonl
from loriner.train.suites import open_suite
from loriner.workspace import Workspace, workspace

Run = list[dict[str, float]]
"""What one task came to: test scores by question after 0, 1, ... rounds."""


async def sequence(
    opened: Workspace, task: Task, solver: str, proposer: str, arguments: argparse.Namespace
) -> Run:
    """Test scores by question after each round, the unrevised program first."""
    plan = Plan(
        rounds=arguments.rounds, candidates=1, accept="mean", feedback=8, grade=arguments.grade, test=0
    )
    start = from_library(task.seed_harness)
    with opened.run("bench rounds") as (run_id, summary):
        summary.update(task=task.name, proposer=proposer)
        lab = opened.evaluator(run_id, opened.model(solver))
        episode = await adapt(
            task, start, lab, opened.proposer(proposer), plan=plan, registry=opened.registry
        )
        current: Harness = start
        versions = [current]
        for each in episode.rounds:
            current = each.accepted or current
            versions.append(current)
        versions += [current] * (arguments.rounds + 1 - len(versions))
        questions = task.questions("test")[: arguments.test]
        tested = [await lab.evaluate(task, version, questions, purpose="test") for version in versions]
    return [dict(each.scores) for each in tested]


async def measure(arguments: argparse.Namespace) -> None:
    """Writes the curve of every proposer, with its parts, as soon as it is known."""
    pairs = (each.partition("=") for each in arguments.proposers.split(","))
    named = {name: model or name for name, _, model in pairs}
    asked = ProposeSettings(
        prompt_tokens=arguments.prompt_tokens, completion_tokens=arguments.completion_tokens
    )
    settings = Settings(home=arguments.home, allow_reduced=True, propose=asked)
    found: dict[str, object] = {}
    async with workspace(settings, "adapting") as opened:
        tasks = open_suite([arguments.suite], ["canonical"], home=settings.home, training=False)
        try:
            for name, model in named.items():
                runs = await gathered(
                    sequence(opened, task, arguments.solver, model, arguments) for task in tasks.values()
                )
                curve = means(runs)
                found[name] = {"model": model, "curve": curve, "by_task": by_task(tasks, runs)}
                jsonl.write_text(arguments.out, json.dumps(found, indent=2))
                print(f"{name:<12}" + " ".join(f"{point['score']:.3f}" for point in curve), flush=True)
        finally:
            for task in tasks.values():
                await task.close()


def means(runs: Sequence[Run]) -> list[dict[str, float]]:
    """The mean over all tasks after each round, with its interval."""
    curve = []
    for at, parts in enumerate(zip(*runs, strict=True)):
        each = interval([score for part in parts for score in part.values()])
        curve.append({"round": at, "score": each.mean, "low": each.low, "high": each.high, "n": each.n})
    return curve


def by_task(tasks: Iterable[str], runs: Sequence[Run]) -> dict[str, list[float]]:
    """The mean of each task after each round."""
    return {
        task: [sum(part.values()) / len(part) for part in run] for task, run in zip(tasks, runs, strict=True)
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", default="rg-unseen")
    parser.add_argument("--solver", required=True)
    parser.add_argument("--proposers", required=True)
    parser.add_argument("--rounds", type=int, default=5)
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
