"""Majority votes, and what a search has used."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from loriner.evaluation.voting import votes
from loriner.models.meter import Allowance
from loriner.records import Call, Evaluation, Status, Trial
from loriner.search.allowance import Bill


def trial(answer: str, score: float | None, sample: int, question: str = "q") -> Trial:
    status = Status.INFRA_ERROR if score is None else Status.OK if score == 1 else Status.WRONG
    if not answer and score is not None:
        status = Status.NO_ANSWER
    return Trial(
        task="t",
        harness_id="h",
        question_id=question,
        sample=sample,
        status=status,
        answer=answer,
        score=score,
    )


def test_the_commonest_answer_scores_and_the_earliest_breaks_a_tie() -> None:
    assert votes([trial("5", 0, 0), trial("7", 1, 1), trial(" 7 ", 1, 2)]) == {"q": 1.0}
    assert votes([trial("7", 1, 1), trial("5", 0, 0)]) == {"q": 0.0}
    assert votes([trial("Paris", 0.5, 0), trial("paris", 0.5, 1), trial("Rome", 1, 2)]) == {"q": 0.5}


def test_an_empty_answer_has_no_vote_and_our_failure_no_score() -> None:
    assert votes([trial("", 0, 0), trial("", 0, 1), trial("7", 1, 2)]) == {"q": 1.0}
    assert votes([trial("", 0, 0)]) == {"q": 0.0}
    assert votes([trial("", None, 0)]) == {}


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), min_size=1), st.randoms())
def test_the_order_of_trials_does_not_matter(drawn: list[tuple[str, int]], random: object) -> None:
    trials = [trial(answer, float(answer == "a"), n, f"q{q}") for n, (answer, q) in enumerate(drawn)]
    shuffled = list(trials)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert votes(shuffled) == votes(trials)


def call(*, usd: float | None = 0.5, cached: bool = False, kind: str = "model") -> Call:
    return Call(
        kind=kind, request={}, reply="", prompt_tokens=10, completion_tokens=5, usd=usd, cached=cached
    )


def test_a_bill_counts_each_evaluation_once_and_cached_replies_as_paid() -> None:
    bill = Bill()
    asked = replace(trial("5", 1.0, 0), calls=(call(), call(cached=True), call(kind="search")))
    for _ in range(2):
        bill.add_trials(Evaluation(harness_id="h", task="t", purpose="grade", trials=(asked,)))
        bill.add_completion("c", 0, [call()])
    assert (bill.used("calls"), bill.used("tokens"), bill.used("usd")) == (2, 45, 1.5)
    assert bill.reaches(Allowance("calls", 2)) and not bill.exceeds(Allowance("calls", 2))
    assert bill.exceeds(Allowance("tokens", 44)) and not bill.reaches(None)


def test_an_unknown_price_is_more_than_any_allowance() -> None:
    bill = Bill()
    asked = replace(trial("5", 1.0, 0), calls=(call(usd=None),))
    bill.add_trials(Evaluation(harness_id="h", task="t", purpose="grade", trials=(asked,)))
    assert bill.exceeds(Allowance("usd", 1e9))
