"""The registry's verbs at many versions, each with a freshly opened registry.

python bench/registry.py [--versions 1000]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from loriner.records import Harness, Version
from loriner.store.blame import blame
from loriner.store.commit_message import Evidence
from loriner.store.registry import Registry

TASK = "rg:count_primes"
N_LINES = 150


def fill(home: Path, n_versions: int) -> None:
    """One line of 150 changes from version to version; 50 versions a run."""
    registry, parent = Registry.open(home), None
    lines = [f"    x{n} = model(question + 'first {n}')" for n in range(N_LINES)]
    for n in range(n_versions):
        lines[n * 7 % N_LINES] = f"    x{n} = model(question + 'version {n}')"
        harness = Harness("def solve(model, question):\n" + "\n".join(lines) + "\n")
        version = Version(
            harness_id=harness.id,
            parent_id=parent,
            episode_id=f"run-{n // 50}",
            round=n,
            revision=None,
            mean_score=n / n_versions,
            accepted=True,
        )
        registry.commit(version, harness, task=TASK, evidence=Evidence(n_trials=24))
        parent = harness.id


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--versions", type=int, default=1_000)
    given = parser.parse_args()
    number = count()
    middle = f"accepted/{TASK}/{given.versions // 2:04d}"
    verbs: dict[str, Callable[[Registry], object]] = {
        "log": lambda registry: registry.log(TASK),
        "show": lambda registry: registry.harness(f"best/{TASK}"),
        "show by id": lambda registry: registry.harness(registry.log(TASK)[0].harness_id[:10]),
        "diff": lambda registry: registry.diff(middle, f"best/{TASK}"),
        "blame": lambda registry: blame(registry, f"best/{TASK}"),
        "tag": lambda registry: registry.tag(f"name-{next(number)}", middle),
        "revert": lambda registry: registry.revert(TASK, middle),
    }
    with tempfile.TemporaryDirectory() as place:
        start, cpu = time.perf_counter(), time.process_time()
        fill(Path(place), given.versions)
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        print(f"{given.versions:,} versions, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print(f"commit      {wall / given.versions:8.4f} s  CPU {cpu / given.versions:8.4f} s")
        for name, verb in verbs.items():
            taken = [measure(lambda verb=verb: verb(Registry.open(Path(place)))) for _ in range(5)]
            wall, cpu = (statistics.median(each) for each in zip(*taken, strict=True))
            print(f"{name:11} {wall:8.4f} s  CPU {cpu:8.4f} s")


def measure(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of wall time and of CPU that the work took."""
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


if __name__ == "__main__":
    main()
