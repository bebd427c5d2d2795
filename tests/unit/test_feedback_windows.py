"""Which feedback questions a round shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from loriner.records import Call, Evaluation, Question, Status, Trial
from loriner.search.feedback_windows import Windows

CALL = Call(kind="model", request={}, reply="no")


def questions(n: int) -> list[Question]:
    return [Question(task="t", id=str(i), text=f"Question {i}?", target="yes") for i in range(n)]


async def shown(windows: Windows, right: Callable[[int], bool], *, asks: bool = True) -> list[int]:
    """The questions that the next round shows, when the program is right on some."""

    async def evaluate(window: Sequence[Question]) -> Evaluation:
        trials = (
            Trial(
                harness_id="h",
                task="t",
                question_id=each.id,
                status=Status.OK if right(int(each.id)) else Status.WRONG,
                score=float(right(int(each.id))),
                calls=(CALL,) if asks else (),
            )
            for each in window
        )
        return Evaluation(harness_id="h", task="t", purpose="feedback", trials=tuple(trials))

    return [int(trial.question_id) for trial in (await windows.trials(evaluate)).trials]


async def test_each_round_shows_the_next_questions_and_then_the_first_again() -> None:
    windows = Windows(questions(5), 2)
    rounds = [await shown(windows, lambda _: False) for _ in range(4)]
    assert rounds == [[0, 1], [2, 3], [4, 0], [1, 2]]


async def test_right_ones_are_followed_by_more_until_one_fails() -> None:
    windows = Windows(questions(8), 2)
    assert await shown(windows, lambda n: n != 5) == [0, 1, 2, 3, 4, 5]
    assert await shown(windows, lambda n: n != 5) == [6, 7, 0, 1, 2, 3, 4, 5]


async def test_where_nothing_fails_the_whole_split_is_shown_once() -> None:
    assert await shown(Windows(questions(5), 2), lambda _: True) == [0, 1, 2, 3, 4]


async def test_a_program_that_asks_no_model_is_run_on_the_whole_split() -> None:
    assert await shown(Windows(questions(7), 2), lambda _: False, asks=False) == list(range(7))


@given(st.integers(1, 12), st.integers(1, 15), st.integers(0, 11))
def test_a_turn_through_the_split_takes_every_question_once(n: int, size: int, at: int) -> None:
    windows = Windows(questions(n), size, at % n)
    taken = [each.id for window in windows.around() for each in window]
    assert sorted(taken, key=int) == [str(i) for i in range(n)]
    assert windows.at == at % n
