"""What adaptation adds on the three ordinary tasks of `examples/`, with a small local solver.

    python bench/everyday.py --models .loriner/models
    python bench/everyday.py --tasks tickets --rows catalogue

Rows of a task: `constant` (the commonest right answer), `nearest` (the answer of the most similar feedback
item, no model), `description` (the task's description before the question), `catalogue` (adaptation with the
default settings; its seed is the row `seed`), `strong` (the same with recorded replies of a strong proposer,
`bench/replies/TASK-N.md` in round N). Each row is measured in a home of its own, so no reply is reused, and
written to `docs/data/everyday.json` when it is known; a row that stands there is not measured again.
`bench/everyday_neighbours.py` adds the rows of other frameworks, `bench/everyday_table.py` prints the table.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

import loriner as lo
from endpoint import reciting
from everyday_table import read, save
from loriner.errors import LorinerError
from loriner.evaluation.constant_baseline import constant_baseline
from loriner.models.meter import Allowance
from loriner.records import Trial
from loriner.store.database import Store

ROOT = Path(__file__).parents[1]
TASKS = ("tickets", "invoices", "handbook")
ROWS = ("constant", "nearest", "description", "catalogue", "strong")

NEAREST = '''\
"""The answer of the most similar feedback item. No model call."""

from tools import examples


def solve(model, question):
    return examples(question, k=1)[0]["answer"]
'''

DESCRIPTION = '''\
"""The task's description, then the question: what a user writes first. 1 model call."""

DESCRIPTION = {description!r}


def solve(model, question):
    return model(DESCRIPTION + "\\n\\n" + question + "\\n\\nReply with the answer only.").strip()
'''

DESCRIPTION_WITH_SEARCH = '''\
"""The task's description, the sections found, then the question. 1 model call, 1 search."""

from tools import search

DESCRIPTION = {description!r}


def solve(model, question):
    found = "\\n\\n".join(each["title"] + "\\n" + each["text"] for each in search(question, k=5))
    prompt = DESCRIPTION + "\\n\\n" + found + "\\n\\n" + question + "\\n\\nReply with the answer only."
    return model(prompt).strip()
'''


def measure(name: str, row: str, home: Path, solver: str, most: int) -> dict[str, Any]:
    """One row of a task: sealed scores by question, solver calls, minutes, and how it came about."""
    task = lo.Task.named(str(ROOT / "examples" / name))
    started = time.monotonic()
    match row:
        case "constant":
            found = constant(task)
        case "nearest":
            found = plain(task, NEAREST, home, solver)
        case "description":
            source = DESCRIPTION_WITH_SEARCH if "search" in task.tools else DESCRIPTION
            found = plain(task, source.format(description=task.description.strip()), home, solver)
        case "catalogue":
            found = adapted(task, home, solver, "catalogue", allowance=Allowance("calls", most))
        case _:
            with recorded(name) as (proposer, rounds):
                found = adapted(task, home, solver, proposer, rounds=rounds)
    return {**found, "minutes": round((time.monotonic() - started) / 60, 2)}


def constant(task: Any) -> dict[str, Any]:
    """The commonest right answer of the feedback questions, on the sealed ones."""

    async def scored() -> tuple[str | None, dict[str, float]]:
        try:
            return await constant_baseline(task, task.questions("feedback"), task.questions("test"))
        finally:
            await task.close()

    answer, scores = asyncio.run(scored())
    return {"scores": scores, "calls": 0, "answer": answer}


def plain(task: Any, source: str, home: Path, solver: str) -> dict[str, Any]:
    """A program as it stands, on the sealed questions."""
    home.mkdir(parents=True, exist_ok=True)
    file = home / "program.py"
    file.write_text(source, encoding="utf-8")
    found = lo.evaluate(task, file, solver, split="test", home=home)
    return {"scores": _scores(found.scores), "calls": n_calls(found.trials)}


def adapted(task: Any, home: Path, solver: str, proposer: Any, **plan: Any) -> dict[str, Any]:
    """Seed and best of an adaptation on the sealed questions, with the calls of the whole run."""
    run = lo.adapt(task, solver, proposer, home=home, **plan)
    best, seed = run.best.standing, run.seed.standing
    with closing(Store.open(home)) as store:
        calls = n_calls(store.trials(run.id, with_calls=True))
    return {
        "scores": _scores(best.test),
        "seed": _scores(seed.test),
        "grade": [fmean(seed.grade.values()), fmean(best.grade.values())],
        "calls": calls,
        "stopped": str(run.stopped),
        "unconfirmed": None if run.candidate is None else _scores(run.candidate.standing.test),
        "rounds": [_round(each) for each in run.history],
        "program": run.best.source,
    }


@contextmanager
def recorded(name: str) -> Iterator[tuple[lo.Model, int]]:
    """The recorded proposer of a task, and how many rounds it has a reply for."""
    files = sorted((ROOT / "bench" / "replies").glob(f"{name}-*.md"))
    with reciting([file.read_text(encoding="utf-8") for file in files]) as address:
        yield lo.Model(address, "recorded"), len(files)


def n_calls(trials: Iterable[Trial]) -> int:
    """Model calls of the trials, the cached ones included: what a run without a cache would ask."""
    return sum(call.kind == "model" for trial in trials for call in trial.calls)


def _scores(found: Mapping[str, float]) -> Mapping[str, float]:
    return {key: round(score, 4) for key, score in found.items()}


def _round(each: Any) -> dict[str, Any]:
    """What a round came to, in a line for each attempt."""
    tried = [
        {
            "note": attempt.note.partition("\n")[0],
            "grade": attempt.after,
            "reason": attempt.reason or attempt.code,
        }
        for attempt in each.attempts
    ]
    return {"number": each.number, "accepted": each.accepted is not None, "tried": tried}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--solver", default="qwen2.5-coder-0.5b")
    parser.add_argument("--calls", type=int, default=300, help="after so many, no round of a search begins")
    parser.add_argument("--models", type=Path, default=Path(".loriner/models"), help="where weights lie")
    parser.add_argument("--home", type=Path, default=Path(".loriner/everyday"))
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "data" / "everyday.json")
    arguments = parser.parse_args()
    for name in arguments.tasks.split(","):
        for row in arguments.rows.split(","):
            _measure_once(name, row, arguments)


def _measure_once(name: str, row: str, arguments: argparse.Namespace) -> None:
    if row in read(arguments.out).get(name, {}):
        return
    home = arguments.home / f"{name}-{row}"
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "models").exists():
        (home / "models").symlink_to(arguments.models.resolve())
    try:
        found = measure(name, row, home, arguments.solver, arguments.calls)
    except LorinerError as error:
        print(f"error: {name} {row}: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    save(arguments.out, name, row, {"solver": arguments.solver, **found})
    print(f"{name} {row}: {sum(found['scores'].values()) / len(found['scores']):.3f}", flush=True)


if __name__ == "__main__":
    main()
