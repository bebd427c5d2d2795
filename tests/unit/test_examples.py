"""The tool `examples`: what it shows, what it never shows, and what a hostile program gets from it."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from loriner.errors import TaskError
from loriner.evaluation.baselines import baselines
from loriner.evaluation.evaluator import Evaluator
from loriner.evaluation.examples import feedback_examples
from loriner.models.scripted import ScriptedModel
from loriner.records import Harness, Question, Score, Status, Trial
from loriner.runtime.base import Limits
from loriner.runtime.host import LocalRuntime
from loriner.store.database import Store
from loriner.store.exported.nearest import MAX_CHARACTERS, MAX_K, Examples
from loriner.tasks.base import Split, Tool

ANIMALS = [
    ("The cat sleeps on the mat", "cat"),
    ("A dog barks at night", "dog"),
    ("The cat chases a mouse", "cat"),
    ("Two dogs run in the park", "dog"),
    ("An owl hunts at night", "owl"),
]


def answers(found: Sequence[Mapping[str, str]]) -> list[str]:
    return [each["answer"] for each in found]


def test_with_a_query_the_nearest_come_first() -> None:
    index = Examples(ANIMALS)
    assert index.find("Which cat caught the mouse?", 1) == [
        {"question": "The cat chases a mouse", "answer": "cat"}
    ]
    assert [each["question"] for each in index.find("who hunts at night", 2)] == [
        "An owl hunts at night",
        "A dog barks at night",
    ]


def test_without_one_unlike_answers_come_first() -> None:
    assert answers(Examples(ANIMALS).find(k=4)) == ["cat", "dog", "owl", "cat"]


def test_a_query_that_is_near_few_is_filled_up() -> None:
    assert answers(Examples(ANIMALS).find("mouse", 4)) == ["cat", "cat", "dog", "owl"]


def test_words_without_blanks_between_them_are_told_apart() -> None:
    index = Examples([("天気がいい", "weather"), ("猫が好き", "cat")])
    assert answers(index.find("黒猫だ", 1)) == ["cat"]


@pytest.mark.parametrize("query", [7, ["a"], {"a": 1}, b"a", True])
def test_a_query_that_is_no_text_is_refused(query: Any) -> None:
    with pytest.raises(ValueError, match="query must be text or None"):
        Examples(ANIMALS).find(query)


@pytest.mark.parametrize("k", [0, -1, 2.0, "3", None, True])
def test_k_is_a_whole_number_from_1(k: Any) -> None:
    with pytest.raises(ValueError, match="k must be a whole number from 1"):
        Examples(ANIMALS).find("cat", k)


def test_what_one_call_returns_is_bounded() -> None:
    assert len(Examples([(f"question {n}", str(n)) for n in range(200)]).find("question", 10**9)) == MAX_K
    long = Examples([(f"{n} " + "x" * 30_000, "y") for n in range(20)]).find("x", 20)
    assert 0 < sum(len(each["question"]) + 1 for each in long) <= MAX_CHARACTERS


def test_a_query_of_a_million_characters_takes_no_time() -> None:
    index = Examples([(f"question {n} about word{n % 7}", str(n)) for n in range(2_000)])
    began = time.monotonic()
    assert len(index.find("word3 " * 170_000, 5)) == 5
    assert time.monotonic() - began < 2


class Kinds:
    """A task whose splits hold different questions; its answers are of several kinds."""

    name = "kinds"
    description = "Say the kind."
    seed_harness = "minimal"
    tools: Mapping[str, Tool] = {}

    def __init__(self, feedback: Sequence[tuple[str, Any]] = ANIMALS) -> None:
        self.feedback = feedback

    def questions(self, split: Split) -> Sequence[Question]:
        known = {"feedback": self.feedback, "grade": [("A  CAT, asleep!", "sealed")]}.get(split, [])
        if not known:
            raise TaskError(f"task kinds has no {split} question")
        return [
            Question(task="kinds", id=f"{split}{n}", text=text, target=target)
            for n, (text, target) in enumerate(known)
        ]

    async def score(self, question: Question, answer: str) -> Score:
        return Score(float(answer == question.target))

    async def close(self) -> None:
        return None


def test_an_answer_is_text() -> None:
    index = feedback_examples(
        Kinds([("a", {"b": 1}), ("c", ["d", "e"]), ("f", 7), ("g", " "), ("h", None), ("i", [])])
    )
    assert answers(index.find()) == ['{"b": 1}', "d", "7"]


def test_a_task_without_feedback_grants_none() -> None:
    assert feedback_examples(Kinds([])).find("cat") == []


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Evaluator]:
    runtime = LocalRuntime("process")
    await runtime.start()
    store = Store.open(tmp_path)
    yield Evaluator(
        runtime=runtime,
        solver=ScriptedModel("s", lambda request: "a"),
        store=store,
        run_id=store.start_run("test", config={}, seed=0),
        limits=Limits(cpu_s=2, wall_s=20),
    )
    await runtime.close()
    store.close()


async def trials(lab: Evaluator, body: str, split: Split, task: Kinds | None = None) -> tuple[Trial, ...]:
    task = task or Kinds()
    source = "import json\nfrom tools import examples\ndef solve(model, question):\n"
    harness = Harness(source + "".join(f"    {line}\n" for line in body.splitlines()))
    return (await lab.evaluate(task, harness, task.questions(split), purpose=split)).trials


async def test_a_program_sees_all_feedback_items_but_the_present_one(lab: Evaluator) -> None:
    found = await trials(lab, "return json.dumps(examples(question, k=50))", "feedback")
    for trial, present in zip(found, ANIMALS, strict=True):
        shown = [(each["question"], each["answer"]) for each in json.loads(trial.answer)]
        assert sorted(shown) == sorted(each for each in ANIMALS if each != present)


async def test_the_present_question_is_left_out_by_its_words(lab: Evaluator) -> None:
    again = Kinds([("a cat asleep", "copy"), ("an owl", "owl")])
    (found,) = await trials(lab, "return json.dumps(examples('cat'))", "grade", again)
    assert json.loads(found.answer) == [{"question": "an owl", "answer": "owl"}]


async def test_a_program_never_sees_a_grade_item(lab: Evaluator) -> None:
    (found,) = await trials(lab, "return json.dumps(examples('sealed asleep', 50))", "grade")
    assert "sealed" not in found.answer and len(json.loads(found.answer)) == len(ANIMALS)


async def test_it_counts_as_a_tool_call(lab: Evaluator) -> None:
    (found,) = await trials(lab, "examples()\nreturn examples('dog', 1)[0]['answer']", "grade")
    assert found.answer == "dog"
    assert [each.kind for each in found.calls] == ["examples", "examples"]
    assert found.calls[1].request == {"query": "dog", "k": 1} and "dog" in found.calls[1].reply


async def test_a_program_that_never_stops_asking_is_held_by_its_limits(lab: Evaluator) -> None:
    body = (
        "for _ in range(10_000):\n    try:\n        examples('cat')\n    except Exception: pass\nreturn 'x'"
    )
    (found,) = await trials(lab, body, "grade")
    assert found.status is Status.BUDGET_EXCEEDED
    assert len(found.calls) == lab.limits.n_tool_calls


@pytest.mark.parametrize(
    "call", ["examples('cat', k=-1)", "examples(7)", "examples(q='cat')", "examples(k='5')"]
)
async def test_a_wrong_call_is_raised_in_the_program_in_words(lab: Evaluator, call: str) -> None:
    body = f"try:\n    {call}\nexcept Exception as error:\n    return 'said: ' + str(error)"
    (found,) = await trials(lab, body, "grade")
    assert found.answer.startswith("said: examples"), found


async def test_a_query_of_a_megabyte_harms_nobody(lab: Evaluator) -> None:
    body = (
        "try:\n    examples('cat ' * 2**18)\nexcept Exception: pass\nreturn examples('cat', 1)[0]['answer']"
    )
    (found,) = await trials(lab, body, "grade")
    assert found.answer == "cat" or found.status is Status.OUTPUT_LIMIT, found


async def test_a_tool_of_that_name_of_the_tasks_own_stays(lab: Evaluator) -> None:
    class Own(Kinds):
        name = "own"

        async def _own(self) -> str:
            return "mine"

        @property
        def tools(self) -> Mapping[str, Tool]:  # type: ignore[override]
            return {"examples": self._own}

    (found,) = await trials(lab, "return examples()", "grade", Own())
    assert found.answer == "mine"


async def test_copying_the_nearest_item_is_a_baseline_without_a_model() -> None:
    task = Kinds()
    asked = [
        Question(task="kinds", id="near", text="A cat that sleeps", target="cat"),
        Question(task="kinds", id="far", text="Which bird hunts mice?", target="bird"),
    ]
    found = await baselines(task, task.questions("feedback"), asked)
    assert (found.constant, found.constant_scores) == ("cat", {"near": 1.0, "far": 0.0})
    assert found.copied_scores == {"near": 1.0, "far": 0.0}
    itself = await baselines(task, [], task.questions("feedback"))
    assert itself.copied_scores["feedback4"] == 0.0, "an item is not its own nearest"
    assert (await baselines(Kinds([]), [], asked)).copied_scores == {}
