"""Trials a second through the real sandbox and store, and durable proposals a second beside GEPA.

    python bench/trials.py [--trials 300] [--proposals 200 1000] [--rounds 3]

*Trials*: one program, one scripted model call a question, sandbox at the strongest level of this machine,
every trial in the store on the disk before it counts.

*Proposals*: the whole loop with a proposer that changes one number of a 2 kB program, scored on 6 questions
by a runtime that runs nothing (an answer costs no time in either tool), no proposal better than the seed, all
state on the disk. GEPA (if installed) gets as many proposals of the same program and a run directory; its
6 scores of a proposal are 3 of the parent and 3 of the child. We flush to the disk before we go on, GEPA does
not flush. Ours is measured with 1 and with 8 candidates a round. Rounds of all alternate; figures are
medians, ratios medians of the rounds' ratios. Bars on two idle cores: with 1 candidate a round 1.5 times GEPA
at 200 proposals and 4 times at 1,000, with 8 candidates 3 times and 9 times; a rate at 1,000 of at least 0.9
of that at 200; one commit of the store, that is one flush of the disk, a round. On a busy machine a round can
take longer than a row waits for others (0.05 s), and brings a second one.

Last: `loriner --help` as a process, the best of 5; the bar is 0.3 s on an idle machine.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from loriner.config import Settings, changed
from loriner.harness.contract import from_library
from loriner.models.meter import Meter
from loriner.models.scripted import ScriptedModel
from loriner.propose.proposer import Completion, Proposer
from loriner.records import Context, Harness, Question, Score, Status
from loriner.runtime.base import Limits, Program, Services, Verdict
from loriner.search.adapt import adapt
from loriner.search.plan import Plan
from loriner.store.database import Store
from loriner.store.registry import Registry
from loriner.store.writer import Fact, Writer
from loriner.tasks.base import SPLITS, Split, Tool
from loriner.verbs.workspace import Workspace, workspace

T = TypeVar("T")
CANDIDATES = (1, 8)
BARS = {"flat": 0.9, "help s": 0.3}
TIMES = {(1, 200): 1.5, (1, 1_000): 4.0, (8, 200): 3.0, (8, 1_000): 9.0}
"""Times GEPA, by candidates a round and proposals."""
FILLER = "".join(
    f"# line {n:02d}: a comment, so that the program is as long as real ones are\n" for n in range(25)
)
SEED = f"VERSION = 0\n{FILLER}\n\ndef solve(model, question):\n    return str(VERSION)\n"


class Numbers:
    """Questions whose answers are all worth a half."""

    name, description, seed_harness = "numbers", "Answer with a number.", "minimal"
    tools: Mapping[str, Tool] = {}

    def __init__(self, n: int) -> None:
        self.n = n

    def questions(self, split: Split) -> Sequence[Question]:
        first = 10**6 * SPLITS.index(split)
        return [
            Question(task=self.name, id=f"{first + i}", text=f"q{first + i}", target="-")
            for i in range(self.n)
        ]

    async def score(self, question: Question, answer: str) -> Score:
        return Score(0.5)

    async def close(self) -> None:
        """Holds nothing."""


class Instant:
    """A runtime that runs nothing."""

    level = 0
    notes: tuple[str, ...] = ()

    async def start(self) -> None: ...

    async def run(self, program: Program, services: Services, limits: Limits) -> Verdict:
        return Verdict(status=Status.OK, answer="1")

    async def run_python(self, code: str, limits: Limits) -> Verdict:
        raise NotImplementedError("the program of this benchmark runs no code")

    async def close(self) -> None: ...


async def another(context: Context, index: int) -> Completion:
    """A program that no earlier proposal made."""
    number = len(context.history) + index + 1
    return Completion(f"<<<<<<< SEARCH\nVERSION = 0\n=======\nVERSION = {number}\n>>>>>>> REPLACE\n")


async def trials_a_second(n: int) -> tuple[float, float, int]:
    """Trials a second, CPU ms a trial of this process, and the sandbox level."""
    with tempfile.TemporaryDirectory() as place:
        settings = changed(Settings(), home=Path(place), cache=False)
        async with workspace(settings) as opened:
            model = ScriptedModel("scripted:bench", lambda request: "<answer>1</answer>")
            with opened.run("evaluate") as (run_id, _):
                lab = opened.evaluator(run_id, model)
                task, harness = Numbers(n), from_library("minimal")
                await lab.evaluate(task, harness, task.questions("test")[:20], purpose="test")
                wall, cpu = time.perf_counter(), time.process_time()
                await lab.evaluate(task, harness, task.questions("grade"), purpose="grade")
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                assert len(opened.store.trials(run_id, purpose="grade")) == n
            return n / wall, 1e3 * cpu / n, opened.runtime.level


class Counting(Writer):
    """A writer that counts its commits."""

    n_commits = 0

    def _transact(self, facts: list[Fact]) -> list[Any]:
        self.n_commits += 1
        return super()._transact(facts)


async def ours(n: int, candidates: int, home: Path) -> tuple[float, float]:
    """Proposals a second of the whole loop on `home`, and commits a round."""
    store = Store.open(home)
    writer = store._writer = Counting(store.path)
    opened = Workspace(changed(Settings(), home=home), store, Registry.open(home), Instant(), Meter())
    plan = Plan(rounds=n // candidates, candidates=candidates, accept="mean", feedback=3, grade=6, test=1)
    with opened.run("adapt") as (run_id, _):
        lab = opened.evaluator(run_id, ScriptedModel("scripted:none", lambda request: ""))
        proposer = Proposer("another", another)
        started = time.perf_counter()
        await adapt(Numbers(6), Harness(SEED), lab, proposer, plan=plan, registry=opened.registry)
        seconds = time.perf_counter() - started
    assert len({each.candidate for each in store.rollouts(run_id)}) == n
    store.close()
    return n / seconds, writer.n_commits / plan.rounds


def gepa(n: int, place: Path) -> float:
    """Proposals a second of GEPA with a run directory."""
    from gepa.api import optimize
    from gepa.core.adapter import EvaluationBatch

    class Adapter:
        def __init__(self) -> None:
            self.n_proposals = 0

        def evaluate(self, batch: list[str], candidate: dict[str, str], capture_traces: bool = False) -> Any:
            traces = [{"question": each, "answer": "1"} for each in batch] if capture_traces else None
            return EvaluationBatch(["1"] * len(batch), [0.5] * len(batch), traces)

        def make_reflective_dataset(self, candidate: Any, batch: Any, components: list[str]) -> Any:
            return {name: list(batch.trajectories) for name in components}

        def propose_new_texts(self, candidate: dict[str, str], dataset: Any, components: list[str]) -> Any:
            self.n_proposals += 1
            return {"program": SEED.replace("VERSION = 0", f"VERSION = {self.n_proposals}")}

    class Quiet:
        def log(self, message: str) -> None: ...

    adapter, started = Adapter(), time.perf_counter()
    optimize(
        seed_candidate={"program": SEED},
        trainset=[f"t{i}" for i in range(6)],
        valset=[f"v{i}" for i in range(6)],
        adapter=adapter,
        reflection_minibatch_size=3,
        max_metric_calls=6 + 6 * n,
        run_dir=str(place),
        logger=Quiet(),
    )
    seconds = time.perf_counter() - started
    assert adapter.n_proposals >= n, f"GEPA made {adapter.n_proposals} of {n}"
    return adapter.n_proposals / seconds


def in_a_place(bench: Callable[[Path], T]) -> T:
    with tempfile.TemporaryDirectory() as place:
        return bench(Path(place))


def compare(n: int, n_rounds: int, beside: bool) -> dict[int, float]:
    """Prints the rates at `n` proposals; our medians by candidates a round."""
    own: dict[int, list[float]] = {k: [] for k in CANDIDATES}
    commits: dict[int, list[float]] = {k: [] for k in CANDIDATES}
    other: list[float] = []
    for _ in range(n_rounds):
        for k in CANDIDATES:
            rate, n_commits = in_a_place(lambda place, k=k: asyncio.run(ours(n, k, place)))
            own[k].append(rate)
            commits[k].append(n_commits)
        if beside:
            other.append(in_a_place(lambda place: gepa(n, place)))
    if beside:
        print(f"{n:6,} proposals, GEPA:           {statistics.median(other):7.1f}/s")
    for k, rates in own.items():
        print(
            f"{n:6,} proposals, {k} a round:      {statistics.median(rates):7.1f}/s, "
            f"{statistics.median(commits[k]):.2f} commits a round",
            end="",
        )
        if beside:
            ratio = statistics.median(a / b for a, b in zip(rates, other, strict=True))
            bar = TIMES.get((k, n), 1.0)
            print(f", {ratio:.1f} times GEPA ({_against(bar, ratio >= bar)})", end="")
        print(flush=True)
    return {k: statistics.median(rates) for k, rates in own.items()}


def verdict(bar: str, found: float, most: bool = False) -> str:
    return _against(BARS[bar], found <= BARS[bar] if most else found >= BARS[bar])


def _against(bar: float, met: bool) -> str:
    return f"bar {bar:g} {'met' if met else 'MISSED'}"


def help_s() -> float:
    """The best of five `loriner --help`."""
    taken = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "loriner", "--help"], capture_output=True, check=True)
        taken.append(time.perf_counter() - started)
    return min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--proposals", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    rounds = [asyncio.run(trials_a_second(given.trials)) for _ in range(given.rounds)]
    rate, cpu = (statistics.median(each[i] for each in rounds) for i in (0, 1))
    level = rounds[0][2]
    print(
        f"{given.trials:6,} trials: {rate:.1f}/s at sandbox level {level}, {cpu:.1f} ms CPU of the host each"
    )
    beside = importlib.util.find_spec("gepa") is not None
    found = [compare(n, given.rounds, beside) for n in sorted(given.proposals)]
    for k in CANDIDATES if len(found) > 1 else ():
        flat = found[-1][k] / found[0][k]
        print(f"{k} a round, rate at the most / at the fewest: {flat:.2f} ({verdict('flat', flat)})")
    seconds = help_s()
    print(f"loriner --help: {seconds:.2f} s ({verdict('help s', seconds, most=True)})")


if __name__ == "__main__":
    main()
