"""Every known revision makes a valid candidate of every library harness, and is chosen by the faults."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loriner.harness.contract import from_library, library_names
from loriner.harness.edits import revise
from loriner.propose.catalogue import catalogue_proposer, completion, offered, ranked
from loriner.propose.catalogue_list import ENTRIES
from loriner.propose.fact_finding import facts_of, shape_of
from loriner.propose.proposer import Completion, propose, read
from loriner.records import Context, Fault, PastRevision
from makers import context, feedback

TOOLS = ("examples", "run_python")


def names(*shown: object, **facts: object) -> list[str]:
    seen = context(*shown, **facts)  # type: ignore[arg-type]
    return [entry.name for entry in ranked(seen, facts_of(seen))]


@pytest.mark.parametrize("library", library_names())
async def test_every_completion_on_every_harness_is_a_candidate(library: str) -> None:
    harness = from_library(library)
    seen = context(harness=harness, tools=("run_python", "search"))
    texts = [text for _, text in offered(seen)]
    assert completion(seen, 1) == texts[1]
    made = set()
    for index, text in enumerate(texts):
        rollout = read(seen, index, Completion(text))
        assert rollout.candidate is not None, rollout.failure
        compile(rollout.candidate.source, library, "exec")
        made.add(rollout.candidate.id)
    assert len(made) >= 3
    end = await propose(catalogue_proposer(), seen, len(texts))
    assert end.failure is not None and end.failure.code == "no_edit_block"


@pytest.mark.parametrize("target", ["12", "1.5", "red", "1 2\n3 4"])
async def test_revisions_can_be_stacked(target: str) -> None:
    harness = from_library("minimal")
    for _ in range(4):
        seen = context(feedback(target=target), harness=harness)
        _, harness = revise(harness, completion(seen, 0))
    assert harness.source.count("def solve(model, question):") == 1


def test_the_most_frequent_fault_decides() -> None:
    assert names(*[feedback(Fault.REASONING)] * 3)[0] == "interpreter_loop"
    assert names(*[feedback(Fault.CRASH)] * 3)[0] == "retry_when_empty"
    cut = [feedback(Fault.COMMUNICATION)] * 3
    assert set(names(*cut)[:3]) == {"interpreter_loop", "longer_replies", "retry_when_empty"}


def seen(targets: list[str], fault: Fault, *, tools: tuple[str, ...] = TOOLS, **facts: object) -> Context:
    shown = [
        replace(feedback(fault, target, **facts), question=f"question {n}")
        for n, target in enumerate(targets)
    ]
    return context(*shown, tools=tools)


def first(given: Context, n: int = 3) -> list[str]:
    return [entry.name for entry in ranked(given, facts_of(given))][:n]


CHOICE, OBJECTS = ["yes", "no", "perhaps"] * 3, [f'{{"a": {n}}}' for n in range(6)]


def test_ordinary_answers_are_shown_and_named_before_a_program_is_written() -> None:
    assert first(seen(CHOICE, Fault.WRONG_CHOICE))[0] == "nearest_examples"
    assert first(seen(OBJECTS, Fault.WRONG_FIELDS), 2) == ["nearest_examples", "keys_named"]
    assert first(seen(CHOICE, Fault.WRONG_CHOICE, tools=("run_python",)), 2) == [
        "fixed_examples",
        "options_named",
    ]
    for given in (seen(CHOICE, Fault.WRONG_CHOICE), seen(OBJECTS, Fault.WRONG_FIELDS)):
        assert not {"interpreter_loop", "program_vote"} & set(first(given, 6))
    computed = seen([str(n) for n in range(8)], Fault.REASONING)
    assert first(computed)[0] == "interpreter_loop"


def test_documents_are_read_or_found_in_another_way_as_the_fault_says() -> None:
    facts = ["Ida", "Tom", "Lea", "Jon"]
    tools = ("examples", "run_python", "search")
    assert first(seen(facts, Fault.MISREAD, tools=tools), 2) == [
        "answer_by_kind",
        "few_passages_best_last",
    ]
    assert first(seen(facts, Fault.NOT_RETRIEVED, tools=tools), 2) == ["several_queries", "passages_reranked"]


def test_a_fault_counts_by_the_score_that_it_lost() -> None:
    slight = [feedback(Fault.FORMAT, score=0.9) for _ in range(5)]
    facts = facts_of(context(*slight, feedback(Fault.CRASH, score=0.0)))
    assert facts.lost[Fault.CRASH] == pytest.approx(1.0 / 1.5)
    assert facts.lost[Fault.FORMAT] == pytest.approx(0.5 / 1.5)


def test_what_works_with_an_accepted_revision_comes_before_what_would_replace_it() -> None:
    given = seen(CHOICE, Fault.WRONG_CHOICE)
    _, harness = revise(given.harness, completion(given, 0))
    later = first(replace(given, harness=harness), 4)
    assert "nearest_as_fallback" in later and "options_named" not in later


def test_the_facts_of_a_context() -> None:
    shown = [f"Message to the office: {n} is late. Which team?" for n in ("bus", "tram", "post", "cat")]
    answers = ['{"day": "2026-05-03", "team": "a"}', '{"day": "2026-05-04", "team": "b", "n": 1}'] * 2
    wrong = '{"day": "2026-05-03", "team": "c"}'
    trials = [
        replace(feedback(Fault.WRONG_FIELDS, target, answer=wrong), question=question)
        for question, target in zip(shown, answers, strict=True)
    ]
    facts = facts_of(context(*trials))
    assert facts.frame == ("Message to the office: ", " is late. Which team?")
    assert [(each.name, each.kind, each.form, each.always) for each in facts.fields] == [
        ("day", "date", "%Y-%m-%d", True),
        ("team", "text", "", True),
        ("n", "integer", "", False),
    ]
    assert facts.fields[1].options == ("a", "b")
    assert facts.wrong_fields == {"team": 4, "day": 2, "n": 2}


def test_the_documentation_lists_every_entry() -> None:
    page = (Path(__file__).parents[2] / "docs" / "proposers.md").read_text("utf-8")
    listed = re.findall(r"(?m)^\| ([A-Z][a-z ]+) \| (.+?) \| (.*?) ?\|$", page)
    assert listed == [(each.title, each.note, ", ".join(each.tools)) for each in ENTRIES]


def test_what_was_tried_comes_last() -> None:
    past = PastRevision(
        round=1,
        summary="Interpreter loop. Have the model write a program.",
        before=0.0,
        after=0.0,
        accepted=False,
    )
    assert names(feedback(Fault.REASONING), history=(past,), round=2)[-1] == "interpreter_loop"


def test_a_tool_that_is_not_granted_is_not_used() -> None:
    assert "retrieval_hop" not in names()
    assert "retrieval_hop" in names(tools=("run_python", "search"))
    assert "interpreter_loop" not in names(tools=())


@pytest.mark.parametrize(
    ("targets", "kind"),
    [
        (["1", "-22"], "integer"),
        (["1", "2.5"], "number"),
        (["a b", "3"], "line"),
        (["1\n2", "3"], "text"),
        ([], "text"),
        (["2026-01-31", "1999-12-01"], "date"),
        (["31.01.2026", "01.12.1999"], "date"),
        (["yes", "no", "no", "yes"], "choice"),
        (['{"a": 1}', '{"a": null}'], "json"),
    ],
)
def test_the_shape_of_answers(targets: list[str], kind: str) -> None:
    assert shape_of(targets) == kind


async def test_the_answer_is_written_again_in_the_form_that_is_asked_for() -> None:
    seen = context(feedback(Fault.FORMAT, target="red"), harness=from_library("minimal"))
    texts = [completion(seen, index) for index in range(len(ENTRIES))]
    _, revised = revise(seen.harness, next(text for text in texts if text.startswith("Answer in form.")))
    prompts = []

    def model(prompt: str, **_: object) -> str:
        prompts.append(prompt)
        return "<answer>red</answer>" if len(prompts) == 1 else '```json\n{"answer": "red"}\n```'

    names: dict[str, Any] = {}
    exec(revised.source, names)
    assert names["solve"](model, "Colour of blood? Reply in JSON.") == '{"answer": "red"}'
    assert "It is:\nred\n" in prompts[1]
