"""The store beside a JSONL file and, where installed, DuckDB: rows in, resume look-up, one run counted.

    python bench/store.py [--rows 1000000] [--workers 500]

Each takes the same trials with a 150-byte answer, durably: the store acknowledges each of them to the worker
that waits for it; JSONL is flushed to the disk every 500 rows, DuckDB commits every 5,000. Look-ups and
queries are medians of 20 (of 1 where the whole file is read). Rates depend on what else the machine does,
CPU a row less so.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loriner.records import Status, Trial
from loriner.store.database import Store

N_QUESTIONS, N_HARNESSES = 200, 50
"""Trials of one harness, and harnesses of one run: 10,000 trials a run."""


@dataclass(frozen=True)
class Result:
    name: str
    rows_s: float
    cpu_us: float
    look_up_ms: float
    run_ms: float
    megabytes: float


def trials(n_rows: int) -> Iterator[tuple[int, Trial]]:
    """(number of the run, trial): run after run, harness after harness."""
    chance = random.Random(0)
    for n in range(n_rows):
        score = float(chance.random() < 0.4)
        yield (
            n // (N_QUESTIONS * N_HARNESSES),
            Trial(
                task="t",
                harness_id=f"{n // N_QUESTIONS:064x}",
                question_id=f"q{n % N_QUESTIONS}",
                status=Status.OK if score else Status.WRONG,
                answer="".join(chance.choices("0123456789abcdef ", k=150)),
                score=score,
                seconds=1.5,
                cpu_s=0.1,
            ),
        )


def median_ms(ask: Callable[[int], Any], n_things: int, n_asked: int = 20) -> float:
    """The median time to ask about one of `n_things`, drawn at random."""
    chance, taken = random.Random(1), []
    for _ in range(n_asked):
        thing = chance.randrange(n_things)
        start = time.perf_counter()
        assert ask(thing)
        taken.append((time.perf_counter() - start) * 1e3)
    return statistics.median(taken)


class Clock:
    """Wall and CPU time of the writing alone: what makes the rows is stopped out."""

    def __init__(self, rows: Iterator[tuple[int, Trial]], at_once: int) -> None:
        self.wall = self.cpu = 0.0
        self._rows = rows
        self._at_once = at_once

    def batches(self) -> Iterator[list[tuple[int, Trial]]]:
        while batch := [row for _, row in zip(range(self._at_once), self._rows, strict=False)]:
            wall, cpu = time.perf_counter(), time.process_time()
            yield batch
            self.wall += time.perf_counter() - wall
            self.cpu += time.process_time() - cpu


def result(name: str, clock: Clock, n_rows: int, look_up: float, run: float, place: Path) -> Result:
    size = sum(path.stat().st_size for path in place.iterdir()) / 1e6
    return Result(name, n_rows / clock.wall, clock.cpu / n_rows * 1e6, look_up, run, size)


def bench_store(place: Path, n_rows: int, n_workers: int) -> Result:
    store = Store.open(place)
    n_runs = -(-n_rows // (N_QUESTIONS * N_HARNESSES))
    runs = [store.start_run("evaluate", config={}, seed=0) for _ in range(n_runs)]
    clock = Clock(trials(n_rows), 20_000)

    async def worker(mine: list[tuple[int, Trial]]) -> None:
        for run, trial in mine:
            await store.add_trial(runs[run], "grade", trial)

    async def write() -> None:
        for batch in clock.batches():
            await asyncio.gather(*(worker(batch[start::n_workers]) for start in range(n_workers)))

    asyncio.run(write())

    def resume(harness: int) -> int:
        run = runs[harness // N_HARNESSES]
        return len(store.trials(run, harness_id=f"{harness:064x}", with_calls=True))

    look_up = median_ms(resume, n_rows // N_QUESTIONS)
    one_run = median_ms(lambda run: store.tallies(runs[run]), n_runs)
    store.close()
    return result(f"store, {n_workers} waiting workers", clock, n_rows, look_up, one_run, place)


def bench_jsonl(place: Path, n_rows: int) -> Result:
    path, clock = place / "trials.jsonl", Clock(trials(n_rows), 500)
    with path.open("a") as file:
        for batch in clock.batches():
            for run, trial in batch:
                file.write(json.dumps(as_row(run, trial)) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def scan(key: str, value: object) -> list[Any]:
        with path.open() as lines:
            return [row for row in map(json.loads, lines) if row[key] == value]

    look_up = median_ms(lambda n: scan("harness", f"{n:064x}"), n_rows // N_QUESTIONS, 1)
    one_run = median_ms(lambda n: scan("run", n), -(-n_rows // (N_QUESTIONS * N_HARNESSES)), 1)
    return result("JSONL, fsync every 500", clock, n_rows, look_up, one_run, place)


def as_row(run: int, trial: Trial) -> dict[str, Any]:
    return {
        "run": run,
        "harness": trial.harness_id,
        "purpose": "grade",
        "question": trial.question_id,
        "status": str(trial.status),
        "score": trial.score,
        "seconds": trial.seconds,
        "cpu_s": trial.cpu_s,
        "answer": trial.answer,
    }


def bench_duckdb(place: Path, n_rows: int) -> Result:
    import duckdb
    import pyarrow

    connection = duckdb.connect(str(place / "trials.duckdb"), config={"threads": 2})
    connection.execute(
        "CREATE TABLE trials (run INTEGER, harness VARCHAR, purpose VARCHAR, question VARCHAR, "
        "status VARCHAR, score DOUBLE, seconds DOUBLE, cpu_s DOUBLE, answer VARCHAR)"
    )
    clock = Clock(trials(n_rows), 5_000)
    for batch in clock.batches():
        part = pyarrow.Table.from_pylist([as_row(*row) for row in batch])
        connection.register("part", part)
        connection.execute("INSERT INTO trials SELECT * FROM part")
    look_up = median_ms(
        lambda n: connection.execute("SELECT * FROM trials WHERE harness = ?", [f"{n:064x}"]).fetchall(),
        n_rows // N_QUESTIONS,
    )
    one_run = median_ms(
        lambda n: connection.execute(
            "SELECT harness, status, count(*), sum(score) FROM trials WHERE run = ? GROUP BY ALL", [n]
        ).fetchall(),
        -(-n_rows // (N_QUESTIONS * N_HARNESSES)),
    )
    connection.close()
    return result("DuckDB, Arrow batches of 5,000", clock, n_rows, look_up, one_run, place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=500)
    given = parser.parse_args()
    benches: list[Callable[[Path], Result]] = [
        lambda place: bench_store(place, given.rows, given.workers),
        lambda place: bench_jsonl(place, given.rows),
    ]
    if all(importlib.util.find_spec(name) for name in ("duckdb", "pyarrow")):
        benches.append(lambda place: bench_duckdb(place, given.rows))
    print(f"{given.rows:,} trials, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':32} {'rows/s':>9} {'CPU us/row':>11} {'resume ms':>10} {'one run ms':>11} {'MB':>7}")
    for bench in benches:
        with tempfile.TemporaryDirectory() as place:
            got = bench(Path(place))
        print(
            f"{got.name:32} {got.rows_s:9,.0f} {got.cpu_us:11.1f} {got.look_up_ms:10.2f} "
            f"{got.run_ms:11.2f} {got.megabytes:7,.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
