"""What a scorer or an answer may do to its worker, and what must not come of it."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from loriner.errors import TaskError
from loriner.tasks.scorer import InWorker, WorkerSpec

ITEM = {"id": "a", "question": "q", "answer": "x"}


def scorer(path: Path, body: str, **limits: float) -> InWorker:
    file = path / "score.py"
    file.write_text(body)
    return InWorker(WorkerSpec(file=file, function="score", **limits))


@pytest.mark.parametrize(
    ("attack", "detail"),
    [
        ("while True: pass", "scorer_timeout"),
        ("9**9**9", "scorer_timeout"),
        ("import time; time.sleep(60)", "scorer_timeout"),
        ("'x' * 10**11", "scorer_error"),
        ("import os; os._exit(0)", "scorer_error"),
        ("exit()", "scorer_error"),
        ("import os; os.kill(os.getpid(), 11)", "scorer_error"),
        ("import os; os.closerange(0, 100)", "scorer_error"),
        ("f = lambda: f(); f()", "scorer_error"),
        ("raise KeyboardInterrupt", "scorer_error"),
        ("raise ValueError('\\ud800')", "scorer_error"),
    ],
)
async def test_a_hostile_answer_scores_nothing_and_the_next_is_unharmed(tmp_path, attack, detail):
    body = "def score(item, answer):\n    answer == 'x' or exec(answer, {})\n    return answer == 'x'\n"
    # a busy machine may need long for two seconds of CPU; only what sleeps must meet the limit of the wall
    worker = scorer(tmp_path, body, wall_s=8.0 if "sleep" in attack else 120.0)
    begun = time.monotonic()
    score = await worker.score(ITEM, attack)
    assert (score.value, score.detail) == (0.0, detail)
    assert (await worker.score(ITEM, "x")).value == 1.0
    assert time.monotonic() - begun < 180
    await worker.close()


async def test_nothing_an_answer_does_outlives_it(tmp_path):
    worker = scorer(
        tmp_path,
        "import builtins\ncount = 0\ndef score(item, answer):\n    global count\n    count += 1\n"
        "    print('noise'); builtins.len = lambda x: 0\n    return 1.0 if count == 1 else 0.0\n",
    )
    assert [(await worker.score(ITEM, "x")).value for _ in range(3)] == [1.0, 1.0, 1.0]
    await worker.close()


async def test_a_worker_that_dies_is_replaced(tmp_path):
    body = "import os, signal\ndef score(item, answer):\n    os.kill(os.getppid(), signal.SIGKILL)\n"
    worker = scorer(tmp_path, body)
    score = await worker.score(ITEM, "x")
    assert (score.value, score.detail) == (0.0, "scorer_error")
    (tmp_path / "score.py").write_text("def score(item, answer):\n    return 1\n")
    assert (await worker.score(ITEM, "x")).value == 1.0
    await worker.close()


async def test_a_scorer_knows_no_key_of_the_host(tmp_path):
    os.environ["SOME_API_KEY"] = "secret"
    try:
        worker = scorer(
            tmp_path, "import os\ndef score(item, answer):\n    return 'SOME_API_KEY' in os.environ\n"
        )
        assert (await worker.score(ITEM, "x")).value == 0.0
        await worker.close()
    finally:
        del os.environ["SOME_API_KEY"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("def score(item, answer)\n", "SyntaxError"),
        ("def grade(item, answer):\n    return 1\n", "defines no function 'score'"),
        ("import nowhere_to_be_found\n", "No module named 'nowhere_to_be_found'"),
        ("import os\nos._exit(3)\n", "its process died"),
        ("raise SystemExit\n", "SystemExit"),
    ],
)
async def test_a_scorer_that_does_not_load(tmp_path, body, words):
    worker = scorer(tmp_path, body)
    with pytest.raises(TaskError, match=words):
        await worker.score(ITEM, "x")
    await worker.close()


@pytest.mark.parametrize("returned", ["2", "-1", "float('nan')", "'1'", "None", "object()", "{1}"])
async def test_the_contract_is_kept_in_a_worker_too(tmp_path, returned):
    worker = scorer(tmp_path, f"def score(item, answer):\n    return {returned}\n")
    with pytest.raises(TaskError, match=r"score\.py:score on item 'a' returned .*expected"):
        await worker.score(ITEM, "x")
    await worker.close()


async def test_siblings_numbers_and_scores_pass(tmp_path):
    (tmp_path / "sibling.py").write_text("HALF = 0.5\n")
    body = (
        "from sibling import HALF\nfrom fractions import Fraction\nfrom loriner.records import Score\n"
        "def score(item, answer):\n"
        "    return {'f': Fraction(1, 4), 's': Score(HALF, 'near', {'n': 1})}[answer]\n"
    )
    worker = scorer(tmp_path, body)
    assert (await worker.score(ITEM, "f")).value == 0.25
    score = await worker.score(ITEM, "s")
    assert (score.value, score.detail, score.extra) == (0.5, "near", {"n": 1})
    await worker.close()


async def test_a_cancelled_call_does_not_answer_the_next_one(tmp_path):
    body = "import time\ndef score(item, answer):\n    time.sleep(float(answer)); return float(answer) > 0\n"
    worker = scorer(tmp_path, body)
    assert (await worker.score(ITEM, "0")).value == 0.0
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(worker.score(ITEM, "30"), 0.2)
    assert (await worker.score(ITEM, "0")).value == 0.0
    await worker.close()


async def test_many_at_once_are_kept_apart(tmp_path):
    worker = scorer(tmp_path, "def score(item, answer):\n    return float(answer)\n")
    values = [i / 50 for i in range(50)]
    scores = await asyncio.gather(*(worker.score(ITEM, str(value)) for value in values))
    assert [score.value for score in scores] == values
    await worker.close()


def test_a_closed_worker_serves_another_event_loop(tmp_path):
    worker = scorer(tmp_path, "def score(item, answer):\n    return 1\n")

    async def once() -> float:
        value = (await worker.score(ITEM, "x")).value
        await worker.close()
        return value

    assert [asyncio.run(once()), asyncio.run(once())] == [1.0, 1.0]
