"""The Python face, as the README shows it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import loriner as lo
from loriner.store.database import Store
from stub_server import Stub


def _model(stub: Stub) -> lo.Model:
    url, _, name = stub.url.partition("::")
    return lo.Model(url, name)


def test_a_task_of_ones_own_in_few_lines(folder: Path, stub: Stub, tmp_path: Path) -> None:
    task = lo.Task.from_jsonl(
        folder / "items.jsonl", scorer=lambda item, answer: float(answer == item["answer"])
    )
    run = lo.adapt(
        task, _model(stub), rounds=2, grade=12, test=12, budget=lo.Budget(calls=500), home=tmp_path
    )
    assert run.seed.test is not None and run.best.test is not None
    assert (run.seed.test.mean, run.best.test.mean) == (0.0, 1.0)
    assert "+from tools import run_python" in run.best.diff(run.seed)
    assert [each.accepted is not None for each in run.history] == [True]
    run.best.save(tmp_path / "harness.py")
    again = lo.evaluate(
        lo.Task.named(str(folder)), tmp_path / "harness.py", _model(stub), limit=5, home=tmp_path
    )
    assert again.mean_score == 1.0
    assert str(run.best).count("[") == 2


def test_errors_are_the_command_lines(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(lo.LorinerError, match="no model is called 'nothing'"):
        lo.evaluate(lo.Task.named(str(folder)), "library:minimal", "nothing", home=tmp_path)
    with pytest.raises(lo.LorinerError, match="nowhere"):
        lo.Task.named("nowhere", home=tmp_path)


def _adapted(folder: Path, stub: Stub, home: Path) -> lo.Run:
    return lo.adapt(
        lo.Task.named(str(folder)), _model(stub), rounds=1, grade=12, test=12, candidates=1, home=home
    )


def test_it_works_where_an_event_loop_runs(folder: Path, stub: Stub, tmp_path: Path) -> None:
    async def notebook() -> tuple[lo.Run, float | None]:
        run = _adapted(folder, stub, tmp_path)
        again = lo.evaluate(lo.Task.named(str(folder)), run.best, _model(stub), limit=5, home=tmp_path)
        with pytest.raises(lo.LorinerError, match="no model is called 'nothing'"):
            lo.evaluate(lo.Task.named(str(folder)), "library:minimal", "nothing", home=tmp_path)
        return run, again.mean_score

    run, score = asyncio.run(notebook())
    assert run.best.test is not None and (run.best.test.mean, score) == (1.0, 1.0)


SMALL = {"rounds": 3, "candidates": 1, "feedback": 4, "grade": 12, "test": 8, "accept": "mean"}


def test_a_run_that_a_cap_stopped_returns_what_it_found_and_can_be_resumed(
    folder: Path, stub: Stub, tmp_path: Path
) -> None:
    task, model = lo.Task.named(str(folder)), _model(stub)
    stub.mind = lambda prompt: "no"
    whole = lo.adapt(task, model, **SMALL, home=tmp_path / "whole")
    assert (whole.stopped, whole.why, whole.missing) == ("rounds", "", ())
    found = lo.adapt(task, model, **SMALL, budget=lo.Budget(trials=12 + 4 + 12 + 16 + 3), home=tmp_path)
    assert found.stopped == "budget" and "trials is reached" in found.why and found.missing == ()
    assert [each.test.n for each in (found.seed, found.best) if each.test] == [8, 8]
    assert len(found.history) < len(whole.history)
    with pytest.raises(lo.LorinerError, match="has the proposer catalogue, not scripted:echo"):
        lo.adapt(task, model, "scripted:echo", home=tmp_path, resume=found.id)
    again = lo.adapt(task, model, home=tmp_path, resume=found.id)
    assert (again.id, again.stopped) == (found.id, "rounds")
    assert _told(again) == _told(whole)
    store = Store.open(tmp_path)
    (run,) = store.runs()
    store.close()
    assert (run.status, run.summary["task"]) == ("done", "sums")


def _told(run: lo.Run) -> list[object]:
    tried = [(one.harness_id, one.reason) for made in run.history for one in made.attempts]
    return [(each.harness.id, each.grade, each.test) for each in (run.seed, run.best)] + [tried]


def test_a_run_that_stopped_on_an_error_says_how_the_api_goes_on(
    folder: Path, stub: Stub, tmp_path: Path
) -> None:
    stub.status = lambda number, prompt: 400
    with pytest.raises(lo.LorinerError, match=r'adapt\(…, resume="\d{8}-\d{6}-'):
        lo.adapt(lo.Task.named(str(folder)), _model(stub), **SMALL, home=tmp_path)


INSIDE = """
import asyncio, sys
import loriner as lo

def adapt():
    url, _, name = sys.argv[2].partition("::")
    task, sizes = lo.Task.named(sys.argv[1]), {"grade": 12, "test": 12}
    lo.adapt(task, lo.Model(url, name), rounds=2, **sizes, home=sys.argv[3])

async def main():
    adapt()

STARTS = {
    "none": adapt,
    "asyncio": lambda: asyncio.run(main()),
    "notebook": lambda: asyncio.new_event_loop().run_until_complete(main()),
}
STARTS[sys.argv[4]]()
"""


@pytest.mark.parametrize("start", ["none", "asyncio", "notebook"])
def test_an_interrupt_keeps_what_was_paid_for_wherever_it_runs(
    folder: Path, stub: Stub, tmp_path: Path, start: str
) -> None:
    stub.delay_s = 0.4
    process = subprocess.Popen(
        [sys.executable, "-c", INSIDE, str(folder), stub.url, str(tmp_path / "home"), start],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while stub.n_answered < 20 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert told.strip().splitlines()[-1].startswith("KeyboardInterrupt"), told
    store = Store.open(tmp_path / "home")
    try:
        (run,) = store.runs()
        assert run.status == "interrupted"
        assert len([each for each in store.trials(run.id) if each.score is not None]) >= 12
    finally:
        store.close()
