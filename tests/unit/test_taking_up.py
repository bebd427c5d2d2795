"""What a run leaves for a later one: who holds it, its recorded calls, and the bill of a trial cut off."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from guessing import SEED, Words, guesser, opened
from loriner.errors import BudgetReached, ConfigError, NotOnRecord, PromptRefused
from loriner.models.base import Message, ModelRequest, facts_of, request_of
from loriner.models.recorded import RecordedCalls, RecordedModel
from loriner.records import Call, Harness
from loriner.store.run_lock import FOLDER, Hold, is_held

HOLDER = """
import sys
from pathlib import Path
from loriner.store.run_lock import Hold
Hold.take(Path(sys.argv[1]), "run")
print("held", flush=True)
sys.stdin.read()
"""
ASKED = ModelRequest(messages=(Message("user", "q"),), temperature=0.5, max_tokens=9, stop=("x",), seed=3)
TWICE = Harness(
    "def solve(model, question):\n"
    "    first = model(question, temperature=1.0)\n"
    "    return model(first + question, temperature=1.0)\n"
)


def holder(home: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, str(home)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_a_run_is_held_by_one_process_until_it_ends_however_it_ends(tmp_path: Path) -> None:
    assert not is_held(tmp_path, "run")
    process = holder(tmp_path)
    assert is_held(tmp_path, "run") and not is_held(tmp_path, "other")
    with pytest.raises(ConfigError, match="another process works on run run"):
        Hold.take(tmp_path, "run")
    Hold.take(tmp_path, "other").release()
    process.kill()
    process.communicate()
    assert not is_held(tmp_path, "run")
    Hold.take(tmp_path, "run").release()
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_a_call_is_recorded_with_all_that_its_reply_depends_on() -> None:
    assert request_of(facts_of(ASKED)) == ASKED


async def test_a_recorded_model_answers_from_the_record_and_from_nothing_else() -> None:
    refused = ModelRequest(messages=(Message("user", "long"),))
    known = [
        Call(kind="model", request=facts_of(ASKED), reply="a", finish_reason="length", prompt_tokens=2),
        Call(kind="model", request=facts_of(ASKED), reply="b"),
        Call(kind="model", request=facts_of(refused), reply="", error="too long"),
        Call(kind="search", request={"query": "q"}, reply="r"),
    ]
    model = RecordedModel("small", RecordedCalls("20261129-182403-k3f9", known))
    reply = await model.complete(ASKED)
    assert (reply.text, reply.finish_reason, reply.prompt_tokens) == ("a", "length", 2)
    assert reply.cached and reply.usd == 0.0
    with pytest.raises(PromptRefused, match="too long"):
        await model.complete(refused)
    other = ModelRequest(messages=(Message("user", "another question"),), seed=4)
    with pytest.raises(NotOnRecord, match=r"k3f9 holds no reply of small .*seed 4.*another question"):
        await model.complete(other)


@pytest.mark.parametrize("cache", [True, False])
async def test_a_stopped_run_knows_what_its_unfinished_trials_cost(tmp_path: Path, cache: bool) -> None:
    place = opened(tmp_path, guesser(0.5), cache=cache, budget={"calls": 7})
    with pytest.raises(BudgetReached), place.run("evaluate") as (run, _):
        lab = place.evaluator(run, place.model("solver"))
        await lab.evaluate(Words(5), TWICE, Words(5).questions("grade"), purpose="grade")
    in_flight = 5 if cache else 0  # a reply that is on its way into the cache has not come back yet
    assert 7 - in_flight <= place.store.usage(run).calls <= 7
    again = opened(tmp_path, guesser(0.5), cache=cache)
    with again.run("evaluate", resume=run) as (_, _):
        lab = again.evaluator(run, again.model("solver"))
        done = await lab.evaluate(Words(5), TWICE, Words(5).questions("grade"), purpose="grade")
    assert len(done.scores) == 5 and done.n_infra_errors == 0
    assert again.store.usage(run).calls == again.meter.usage.calls
    assert (again.store.usage(run).calls <= 10) is cache
    again.store.close()
    place.store.close()


async def test_a_cancelled_evaluation_has_recorded_its_bill_when_it_returns(tmp_path: Path) -> None:
    enough = asyncio.Event()
    n_calls = itertools.count(1)

    def counting(request: ModelRequest) -> str:
        if next(n_calls) == 20:
            enough.set()
        return "yes"

    place = opened(tmp_path, counting, cache=False)
    run = place.store.start_run("evaluate", config={}, seed=0)
    lab = place.evaluator(run, place.model("solver"))
    questions = Words(200).questions("grade")
    task = asyncio.create_task(lab.evaluate(Words(200), SEED, questions, purpose="grade"))
    await enough.wait()
    task.cancel()
    await asyncio.wait([task])
    assert 20 <= place.store.usage(run).calls < 200
    place.store.close()
