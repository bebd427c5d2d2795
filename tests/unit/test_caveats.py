"""What is said beside the scores of an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from loriner.events import End, Standing, Start
from loriner.records import Harness
from loriner.search.caveats import between, remarks
from loriner.search.history import Adaptation
from loriner.statistics import interval

PROGRAM = Harness("def solve(model, question):\n    return model(question)\n")


def scores_of(purpose: str, scores: Sequence[float]) -> dict[str, float]:
    return {f"{purpose}{n}": score for n, score in enumerate(scores)}


def episode(
    grade: Sequence[float], test: Sequence[float], *, asks: bool = True, always: float = 0.0
) -> Adaptation:
    standing = Standing(
        name="best",
        harness_id=PROGRAM.id,
        grade=scores_of("grade", grade),
        test=scores_of("test", test),
        asks_model=asks,
    )
    start = Start(
        run_id="",
        task="t",
        solver="s",
        proposer="p",
        mode="sequential",
        seed=0,
        harness_id=PROGRAM.id,
        plan={},
        n_questions={},
        constant="yes",
        constant_scores={f"test{n}": always for n in range(len(test))},
    )
    return Adaptation(
        start=start,
        seed=standing,
        best=standing,
        candidate=None,
        programs={"best": PROGRAM},
        rounds=(),
        stopped=End(reason="rounds"),
    )


def test_scores_that_agree_and_beat_the_constant_answer_need_no_word() -> None:
    assert remarks(episode([1, 1, 0, 1], [1, 0, 1, 1])) == []


def test_a_sealed_score_far_below_the_grade_is_said() -> None:
    (said,) = remarks(episode([1.0] * 60, [1.0] * 40 + [0.0] * 24))
    assert said.startswith("The sealed score of the best program (0.62) is below its grade score (1.00)")


def test_few_questions_that_differ_by_chance_are_not_said_to_disagree() -> None:
    assert remarks(episode([1, 1, 1, 0], [1, 0, 1, 0])) == []


def test_a_program_that_asks_the_model_nothing_is_said_to_be_one() -> None:
    (said,) = remarks(episode([1, 0, 1], [1, 1, 0], asks=False))
    assert said == "The best program asked the model nothing in 6 trials: its answers are its own code's."


def test_a_program_that_scores_no_more_than_one_answer_is_said_to() -> None:
    (said,) = remarks(episode([0.5, 0.5], [0.5, 0.5], always=0.5))
    assert "0.50 on the sealed questions, no more than the answer 'yes' given always (0.50)" in said


def test_without_sealed_questions_only_the_calls_are_spoken_of() -> None:
    bare = episode([1, 0, 1], [], asks=False)
    assert len(remarks(replace(bare, best=replace(bare.best, test={})))) == 1


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=30))
def test_equal_samples_are_never_told_apart(scores: list[float]) -> None:
    found = interval(scores)
    low, high = between(found, found)
    assert low <= 0 <= high
