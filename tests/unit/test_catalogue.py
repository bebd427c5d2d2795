"""Every known revision makes a valid candidate of every library harness, and is chosen by the faults."""

from __future__ import annotations

from typing import Any

import pytest

from loriner.harness.contract import from_library, library_names
from loriner.harness.edits import revise
from loriner.propose.catalogue import catalogue_proposer, completion, ranked
from loriner.propose.proposer import propose
from loriner.propose.revisions import ENTRIES
from loriner.propose.revisions.reading import facts_of, shape_of
from loriner.records import Fault, PastRevision
from makers import context, feedback


def names(*shown: object, **facts: object) -> list[str]:
    seen = context(*shown, **facts)  # type: ignore[arg-type]
    return [entry.name for entry in ranked(seen, facts_of(seen))]


@pytest.mark.parametrize("library", library_names())
async def test_every_completion_on_every_harness_is_a_candidate(library: str) -> None:
    harness = from_library(library)
    seen = context(harness=harness, tools=("run_python", "search"))
    made = set()
    for index in range(len(ENTRIES)):
        rollout = await propose(catalogue_proposer(), seen, index)
        if rollout.candidate is None:
            assert rollout.failure is not None
            assert rollout.failure.code == "no_edit_block"
            break
        compile(rollout.candidate.source, library, "exec")
        made.add(rollout.candidate.id)
    assert len(made) >= 3


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
