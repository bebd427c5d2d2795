"""Room for a harness, family by family: what the seed scores and what the best library program scores.

    python experiments/room.py --solver MODEL --families rg-train-room --n 16 --out room.json

A family has room when some program beats the seed by 0.1 or more and is not right everywhere already.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

from loriner.config import Settings
from loriner.errors import LorinerError
from loriner.evaluation.evaluator import gathered
from loriner.harness.contract import from_library
from loriner.statistics import interval
from loriner.train import jsonl
from loriner.train.suites import open_suite
from loriner.verbs.workspace import workspace

PROGRAMS = ("minimal", "chain_of_thought", "program_of_thought", "self_consistency")
ROOM = 0.1


async def measure(arguments: argparse.Namespace) -> dict[str, dict[str, object]]:
    """For each task the mean score of every program, with n and interval."""
    settings = Settings(home=arguments.home, allow_reduced=True)
    async with workspace(settings, "training") as opened:
        tasks = open_suite(arguments.families, ["canonical"], home=settings.home, training=True)
        try:
            with opened.run("bench room") as (run_id, _):
                lab = opened.evaluator(run_id, opened.model(arguments.solver))

                async def score(task_name: str, program: str) -> dict[str, float]:
                    task = tasks[task_name]
                    questions = task.questions("feedback")[: arguments.n]
                    found = await lab.evaluate(task, from_library(program), questions, purpose="feedback")
                    each = interval(list(found.scores.values()))
                    return {"score": each.mean, "low": each.low, "high": each.high, "n": each.n}

                wanted = [(task, program) for task in tasks for program in PROGRAMS]
                scores = await gathered(score(*each) for each in wanted)
        finally:
            for task in tasks.values():
                await task.close()
    table: dict[str, dict[str, object]] = {task: {} for task in tasks}
    for (name, program), found in zip(wanted, scores, strict=True):
        table[name][program] = found
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--solver", required=True)
    parser.add_argument("--families", nargs="+", default=["rg-train-room"])
    parser.add_argument("--n", type=int, default=16)
    parser.add_argument("--home", type=Path, default=Path(".loriner"))
    parser.add_argument("--out", type=Path, default=Path("room.json"))
    arguments = parser.parse_args()
    try:
        table = asyncio.run(measure(arguments))
    except LorinerError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    jsonl.write_text(arguments.out, json.dumps(table, indent=2))
    print(f"{'task':<26}" + "".join(f"{program[:14]:>16}" for program in PROGRAMS) + "   room")
    for task, row in table.items():
        means = [row[program]["score"] for program in PROGRAMS]  # type: ignore[index]
        room = max(means) - means[0] >= ROOM
        print(f"{task:<26}" + "".join(f"{mean:>16.2f}" for mean in means) + ("   yes" if room else "   no"))


if __name__ == "__main__":
    main()
