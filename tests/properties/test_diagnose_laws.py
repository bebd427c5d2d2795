"""Whatever a model writes, the diagnosis is one of the taxonomy, quick, and claims only what is there."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loriner.diagnosis.answer_formats import forms, same, states
from loriner.diagnosis.faults import diagnose
from loriner.records import Call, Fault, Status, Trial

texts = st.text(st.sampled_from("abcA 12.0,-\n'\"*`{}[]()<>/\\=:#answer"), max_size=80) | st.text(max_size=30)
calls = st.builds(
    Call,
    kind=st.sampled_from(["model", "run_python", "search"]),
    request=st.dictionaries(st.just("prompt"), texts),
    reply=texts,
    finish_reason=st.sampled_from(["stop", "length", ""]),
    error=st.sampled_from(["", "timed out", "refused: this run may make 3 calls"]),
)
trials = st.builds(
    Trial,
    harness_id=st.just("h"),
    question_id=st.just("q"),
    status=st.sampled_from(Status),
    answer=texts,
    score=st.just(0.0),
    calls=st.lists(calls, max_size=4).map(tuple),
    error=texts,
)


@settings(deadline=None)
@given(trials, texts, texts)
def test_every_wrong_trial_has_one_fault_and_evidence(trial: Trial, target: str, question: str) -> None:
    found = diagnose(trial, target, question)
    right = trial.status in (Status.OK, Status.INFRA_ERROR)
    assert (found is None) == right
    if found:
        assert found.evidence and found.where and "\n" not in found.where


@settings(deadline=None)
@given(trials, texts)
def test_extraction_and_format_need_the_target_to_be_there(trial: Trial, question: str) -> None:
    found = diagnose(trial, "Q7 unheard of 90210", question)
    assert found is None or found.fault not in (Fault.EXTRACTION, Fault.FORMAT)


def in_signs(text: str) -> bool:
    return 2 * sum(not each.isalnum() for each in text) > len(text)


@settings(deadline=None)
@given(texts, texts)
def test_sameness_is_mutual_and_survives_wrapping(left: str, right: str) -> None:
    if len(left) < 50 and len(right) < 50 and not (in_signs(left) or in_signs(right)):
        assert same(left, right) == same(right, left)
    assert same(left, left)


@pytest.mark.parametrize("dress", ["{3}", "\\{3\\}", "|3|", "==> 3", "<<3>>", "(3)", "3 !!", "3\x1b\x08"])
def test_signs_around_an_answer_are_wrapping(dress: str) -> None:
    assert same(dress, "3")


def test_a_target_written_in_signs_is_taken_at_its_signs() -> None:
    assert same(" #.#3#.# ", "#.#3#.#")
    assert not same("#..3..#", "#.#3#.#")
    assert not same("3", "==> 3")


@settings(deadline=None)
@given(st.integers(-(10**9), 10**9))
def test_numbers_are_the_same_in_every_dress(number: int) -> None:
    for dress in (f"{number:,}", f"{number}.0", f"**{number}**", f"Answer: {number}.", f"```\n{number}\n```"):
        assert same(dress, str(number)), dress
    assert not same(str(number + 1), str(number))
    assert states(f"So, in the end, the answer is {number}.", str(number))


@settings(deadline=None)
@given(texts)
def test_forms_do_not_depend_on_case_or_blanks(text: str) -> None:
    assert forms(f"  {text}  ") == forms(text)
    if text.isascii():
        assert forms(text.upper()) == forms(text.lower())


@pytest.mark.parametrize(
    "piece",
    [
        "111,",
        "<a>",
        "```python ",
        "answer is ",
        "**",
        "\\boxed{",
        "\n= ",
        "1.",
        "a ",
        "- ",
        '"answer": ',
        "12 ",
    ],
)
def test_a_hostile_reply_of_64_kilobytes_is_read_quickly(piece: str) -> None:
    reply = (piece * (2**16 // len(piece) + 1))[: 2**16]
    call = Call(kind="model", request={}, reply=reply, finish_reason="stop")
    trial = Trial(
        task="t",
        harness_id="h",
        question_id="q",
        status=Status.WRONG,
        answer=reply,
        score=0.0,
        calls=(call, call),
    )
    started = time.process_time()
    diagnose(trial, ["12", "answer"], "How many?")
    assert time.process_time() - started < 30
