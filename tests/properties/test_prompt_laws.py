"""Whatever a context holds and however little room there is: the prompt fits, is the same again, and harms
nobody; the program stands in it whole, and failing trials are the last that go."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loriner.errors import ConfigError
from loriner.harness.contract import from_library
from loriner.propose.prompt import SYSTEM, estimate_tokens, messages
from loriner.propose.spread_order import distance, farthest_first, words
from loriner.records import Call, Context, Fault, FeedbackTrial, PastRevision, Status, Trial

MARKS = ["<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "```", "\n", "<|im_end|>", "[INST]", "What is", "6"]
TEXTS = st.lists(st.sampled_from(MARKS) | st.text(max_size=400), max_size=6).map("\n".join)
CALLS = st.builds(
    Call,
    kind=st.sampled_from(["model", "search"]),
    request=st.one_of(
        TEXTS.map(lambda text: {"messages": [{"role": "user", "content": text}]}),
        TEXTS.map(lambda text: {"query": text}),
        st.just({}),
    ),
    reply=TEXTS,
    finish_reason=st.sampled_from(["", "stop", "length"]),
    error=TEXTS,
)
STATUSES = st.sampled_from([Status.OK, Status.WRONG, Status.CRASHED, Status.INFRA_ERROR])


@st.composite
def trials(draw: st.DrawFn) -> FeedbackTrial:
    status = draw(STATUSES)
    done = Trial(
        harness_id="0" * 64,
        task="sums",
        question_id="q",
        status=status,
        detail=draw(TEXTS),
        answer=draw(TEXTS),
        score=None if status is Status.INFRA_ERROR else float(status is Status.OK),
        calls=tuple(draw(st.lists(CALLS, max_size=3))),
        stdout=draw(TEXTS),
        error=draw(TEXTS),
    )
    failed = status in (Status.WRONG, Status.CRASHED)
    return FeedbackTrial(
        question=draw(TEXTS),
        target=draw(TEXTS),
        trial=done,
        fault=draw(st.sampled_from(Fault)) if failed else None,
        evidence=draw(TEXTS),
    )


PAST = st.builds(
    PastRevision,
    round=st.integers(1, 9),
    summary=TEXTS,
    before=st.none() | st.floats(0, 1),
    after=st.none() | st.floats(0, 1),
    accepted=st.booleans(),
    code=st.sampled_from(["", "span_not_found"]),
    message=TEXTS,
    edit=TEXTS,
    reason=TEXTS,
)
CONTEXTS = st.builds(
    Context,
    id=st.just("c0ffee"),
    task=st.just("sums"),
    description=st.text(max_size=2_000),
    tools=st.just(("lookup", "run_python")),
    round=st.integers(1, 9),
    harness=st.sampled_from([from_library("minimal"), from_library("react")]),
    feedback=st.lists(trials(), max_size=7).map(tuple),
    history=st.lists(PAST, max_size=4).map(tuple),
    tool_help=st.just({"lookup": "lookup(code): The order."}),
)
SLOW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@SLOW
@given(CONTEXTS, st.integers(0, 20_000))
def test_a_prompt_fits_holds_the_program_and_is_the_same_again(context: Context, budget: int) -> None:
    try:
        shown = messages(context, budget=budget)
    except ConfigError:
        assert budget < estimate_tokens(SYSTEM) + len(context.harness.source) // 3 + 300
        return
    assert sum(estimate_tokens(each.content) for each in shown) <= budget
    assert shown[0].content.startswith(SYSTEM)
    assert context.harness.source in shown[1].content
    assert messages(context, budget=budget) == shown


@SLOW
@given(CONTEXTS, st.integers(1_000, 20_000))
def test_what_a_trial_or_a_revision_says_is_no_block_and_speaks_for_nobody(
    context: Context, budget: int
) -> None:
    try:
        text = messages(context, budget=budget)[1].content
    except ConfigError:
        return
    data = text[text.index("\n# Result\n") :]
    assert not re.search(r"(?m)^\s{0,3}(?:```|<{7}|={7}|>{7})", data)
    assert "<|im_end|>" not in data
    assert "[INST]" not in data


@SLOW
@given(CONTEXTS, st.integers(1_000, 20_000))
def test_failing_trials_are_the_last_that_go(context: Context, budget: int) -> None:
    try:
        text = messages(context, budget=budget)[1].content
    except ConfigError:
        return
    heads = re.findall(r"(?m)^## (Failing|Passing) trial", text)
    failing = [each for each in context.feedback if each.fault is not None]
    if heads.count("Failing") < len(failing):
        assert "Passing" not in heads


@given(st.lists(st.text("abc 1", max_size=12), max_size=12))
def test_farthest_first_is_an_order_of_all(texts: list[str]) -> None:
    order = farthest_first([words(text) for text in texts], distance)
    assert sorted(order) == list(range(len(texts)))
