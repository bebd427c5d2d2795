"""Whose fault a trial is, what it costs, and what is never paid for twice; in the real sandbox and store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from loriner.errors import BudgetReached, InfrastructureError, ModelUnavailable, PromptRefused
from loriner.evaluation.evaluator import Evaluator
from loriner.models.base import ModelReply, ModelRequest
from loriner.models.meter import Budget, Meter
from loriner.models.scripted import ScriptedModel
from loriner.records import Harness, Question, Score, Status
from loriner.runtime.base import Limits
from loriner.runtime.host import LocalRuntime
from loriner.store.database import Store
from loriner.tasks.base import Split, Tool

SOLVE = "def solve(model, question):\n"


class Letters:
    """A task: say the letter again. Its scorer counts how often it is asked."""

    name = "letters"
    description = "Say the letter again."
    seed_harness = "minimal"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.tools: Mapping[str, Tool] = {"search": self._search}

    async def _search(self, query: str, k: int = 5) -> list[dict[str, str]]:
        if not query:
            raise ValueError("search(query) needs some words")
        return [{"title": query, "text": "about " + query}] * k

    def questions(self, split: Split) -> Sequence[Question]:
        return [Question(task="letters", id=each, text=each, target=each) for each in "abcdefgh"]

    async def score(self, question: Question, answer: str) -> Score:
        self.asked.append(answer)
        return Score(float(answer == question.target))

    async def close(self) -> None:
        return None


Make = Callable[..., Evaluator]


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    runtime = LocalRuntime("process")
    await runtime.start()
    store = Store.open(tmp_path)

    def lab(say: Callable[[ModelRequest], str] = lambda request: "a", **facts: Any) -> Evaluator:
        run_id = facts.pop("run_id", None) or store.start_run("test", config={}, seed=0)
        limits = Limits(cpu_s=1, wall_s=5)
        return Evaluator(
            runtime=runtime,
            solver=ScriptedModel("s", say),
            store=store,
            run_id=run_id,
            limits=limits,
            **facts,
        )

    yield lab
    await runtime.close()
    store.close()


async def run(lab: Evaluator, body: str, task: Letters | None = None, **how: Any) -> Any:
    task = task or Letters()
    harness = Harness(SOLVE + "".join(f"    {line}\n" for line in body.splitlines()))
    return await lab.evaluate(task, harness, task.questions("grade"), purpose="grade", **how)


async def test_an_answer_is_scored_by_the_task(make: Make) -> None:
    result = await run(make(), "return model(question)")
    assert result.mean_score == 1 / 8
    assert [each.status for each in result.trials] == [Status.OK] + [Status.WRONG] * 7
    assert result.trials[0].calls[0].reply == "a"
    assert result.completion_rate == 1.0


async def test_trials_and_calls_say_when_they_began(make: Make) -> None:
    lab, before = make(), time.time()
    body = "from tools import search, run_python\nsearch(query='x')\nrun_python('1')\nreturn model('a')"
    result = await run(lab, body)
    first = lab.store.trials(lab.run_id, with_calls=True)[0]
    kinds = [each.kind for each in first.calls]
    moments = [first.started, *(each.started for each in first.calls), time.time()]
    assert kinds == ["search", "run_python", "model"] and result.trials[0].started is not None
    known = [each for each in moments if each is not None]
    assert len(known) == len(moments)
    assert before <= known[0] and known == sorted(known)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("return ''", Status.NO_ANSWER),
        ("return '  '", Status.NO_ANSWER),
        ("return None", Status.NO_ANSWER),
        ("return [1]", Status.BAD_ANSWER),
        ("1 / 0", Status.CRASHED),
        ("while True: pass", Status.TIMEOUT),
    ],
)
async def test_the_programs_fault_scores_0_without_asking_the_scorer(
    make: Make, body: str, status: Status
) -> None:
    task = Letters()
    result = await run(make(), body, task)
    assert result.mean_score == 0.0
    assert result.trials[0].status is status
    assert task.asked == []


async def test_a_dead_model_is_our_fault_and_stops_at_once(make: Make) -> None:
    n_asked = 0

    def down(request: ModelRequest) -> str:
        nonlocal n_asked
        n_asked += 1
        raise ModelUnavailable("nobody answers at 127.0.0.1:9")

    lab = make(down)
    with pytest.raises(InfrastructureError, match=r"3 of 3 trials .* nobody answers at 127.0.0.1:9"):
        await run(lab, "return model(question)")
    assert n_asked == 3
    assert all(each.score is None for each in lab.store.trials(lab.run_id))


async def test_a_few_lost_trials_are_left_out_of_the_mean(make: Make) -> None:
    def shaky(request: ModelRequest) -> str:
        if request.messages[-1].content == "h":
            raise ModelUnavailable("busy")
        return request.messages[-1].content

    result = await run(make(shaky), "return model(question)")
    assert result.mean_score == 1.0
    assert (len(result.scores), result.n_infra_errors) == (7, 1)


async def test_a_prompt_that_does_not_fit_is_raised_in_the_program(make: Make) -> None:
    def small(request: ModelRequest) -> str:
        raise PromptRefused("the prompt has 9,000 tokens")

    caught = "try:\n    return model(question)\nexcept Exception as error:\n    return str(error)"
    result = await run(make(small), caught)
    assert "9,000 tokens" in result.trials[0].answer
    assert result.trials[0].status is Status.WRONG


async def test_a_misused_tool_is_the_programs_fault_with_the_tools_words(make: Make) -> None:
    result = await run(make(), "from tools import search\nreturn str(search(''))")
    assert result.trials[0].status is Status.CRASHED
    assert "needs some words" in result.trials[0].error
    result = await run(make(), "from tools import search\nreturn search('x', k=2)[1]['text']")
    assert result.trials[0].answer == "about x"
    assert result.trials[0].calls[0].kind == "search"


async def test_what_the_sandbox_ran_stands_in_the_transcript(make: Make) -> None:
    result = await run(make(), "from tools import run_python\nreturn run_python('print(6 * 7)')")
    call = result.trials[0].calls[0]
    assert (call.kind, call.request["code"], call.reply.strip()) == ("run_python", "print(6 * 7)", "42")


async def test_sampling_seeds_depend_on_the_question_not_on_the_harness(make: Make) -> None:
    seeds: list[tuple[str, int]] = []

    def note(request: ModelRequest) -> str:
        seeds.append((request.messages[-1].content, request.seed))
        return "a"

    await run(make(note), "return model(question, temperature=1.0, n=2)[0]")
    first, seeds = sorted(seeds), []
    await run(make(note), "x = 1\nreturn model(question, temperature=1.0, n=2)[1]")
    assert sorted(seeds) == first
    assert len({seed for _, seed in first}) == 16
    seeds = []
    await run(make(note), "return model(question)")
    assert {seed for _, seed in seeds} == {0}


async def test_a_finished_trial_is_never_paid_for_twice(make: Make) -> None:
    asked: list[str] = []

    def note(request: ModelRequest) -> str:
        asked.append(request.messages[-1].content)
        return "a"

    first = make(note)
    before = await run(first, "return model(question)")
    again = await run(make(note, run_id=first.run_id), "return model(question)")
    assert len(asked) == 8
    assert again.trials == before.trials


async def test_equal_harnesses_at_once_share_one_evaluation(make: Make) -> None:
    asked: list[str] = []

    def note(request: ModelRequest) -> str:
        asked.append(request.messages[-1].content)
        return "a"

    lab = make(note)
    await asyncio.gather(*(run(lab, "return model(question)") for _ in range(4)))
    assert len(asked) == 8


async def test_a_cap_on_trials_stops_with_what_is_done_in_the_store(make: Make) -> None:
    lab = make(meter=Meter(Budget(trials=5)))
    with pytest.raises(BudgetReached, match="5 trials"):
        await run(lab, "return model(question)")
    assert 3 <= len(lab.store.trials(lab.run_id)) <= 5


async def test_the_level_is_kept_with_the_evaluation(make: Make) -> None:
    lab = make()
    result = await run(lab, "return model(question)")
    assert result.level == 1
    lab.store.finish_run(lab.run_id, "done", {})
    (event,) = lab.store.events(lab.run_id, "evaluated")
    assert (event.data["level"], event.data["harness"]) == (1, result.harness_id)


class Slow:
    """A model that holds many calls at once."""

    name = "slow"

    def __init__(self) -> None:
        self.n_now = self.most = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.n_now += 1
        self.most = max(self.most, self.n_now)
        await asyncio.sleep(0.5)
        self.n_now -= 1
        return ModelReply(text="a", usd=0.0)

    async def close(self) -> None:
        return None


async def test_trials_wait_for_the_model_together(make: Make) -> None:
    lab = make()
    lab.solver = slow = Slow()
    await run(lab, "return model(question)", samples=8)
    assert slow.most > 30
