"""A scoreboard's figures: partial and strict scores, means over tasks, what is left out."""

from __future__ import annotations

import pytest

from loriner.cli.scoreboard import LONGEST, WIDEST, markdown, tables
from loriner.errors import TaskError
from loriner.records import Call, Evaluation, Status, Trial
from loriner.verbs.board import Board
from loriner.verbs.scoreboard import Baseline, Cell, Scoreboard


def cell(task: str, scores: list[float | None], harness: str = "a") -> Cell:
    call = Call(kind="model", request={}, reply="", prompt_tokens=3, usd=0.5)
    trials = tuple(
        Trial(
            task="t",
            harness_id="0" * 64,
            question_id=str(number),
            status=Status.WRONG,
            score=score,
            calls=(call, Call(kind="search", request={}, reply="")),
        )
        for number, score in enumerate(scores)
    )
    evaluation = Evaluation(harness_id="0" * 64, task="t", purpose="grade", trials=trials)
    return Cell(asked=task, task=task, harness=harness, evaluation=evaluation)


def scoreboard(*cells: Cell) -> Scoreboard:
    board = Board(suite="mine", tasks=tuple(each.asked for each in cells), harnesses=("a",))
    return Scoreboard(run_id="r", solver="s", board=board, cells=cells)


def test_strict_leaves_partial_credit_out_and_unscored_trials_too():
    found = cell("x", [1.0, 0.5, 0.0, None])
    assert found.score.mean == pytest.approx(0.5)
    assert found.strict.mean == pytest.approx(1 / 3)
    assert found.score.n == found.strict.n == 3
    baseline = Baseline(answer="7", scores=(1.0, 0.2))
    assert (baseline.score.mean, baseline.strict.mean) == (0.6, 0.5)


def test_each_task_weighs_the_same_however_many_questions_it_has():
    made = scoreboard(cell("x", [1.0]), cell("y", [0.0] * 9))
    assert made.mean("a").mean == 0.5
    assert made.mean("a").n == 10


def test_what_was_not_scored_is_in_no_mean_and_is_named():
    broken = Cell(asked="z", task="z", harness="a", error=TaskError("it is broken"))
    made = scoreboard(cell("x", [1.0, 1.0]), broken, cell("y", [None]))
    assert made.mean("a").mean == 1.0
    assert {task: str(error) for task, error in made.errors.items()} == {"z": "it is broken"}
    assert broken.score is broken.strict is None
    assert scoreboard(broken).mean("a") is None


def test_usage_counts_model_calls_only():
    used = cell("x", [1.0, 0.0]).usage
    assert (used.calls, used.prompt_tokens, used.usd) == (2, 6, 1.0)


def test_a_task_asked_for_by_its_name_is_a_single_one_and_a_suite_is_not():
    assert Board(suite="x", tasks=("x",)).single
    assert not Board(suite="mine", tasks=("x",)).single
    assert not Board(suite="x", tasks=("x",), harnesses=("a", "b")).single


def test_the_bar_is_for_every_harness_and_nan_is_above_nothing():
    made = scoreboard(cell("x", [1.0]), cell("y", [0.0]))
    assert made.reaches(0.5) and not made.reaches(0.51) and not made.reaches(float("nan"))
    assert not scoreboard(cell("x", [None])).reaches(0.0)


def test_several_harnesses_on_many_tasks_stand_in_tables_of_a_few_tasks_each():
    tasks = [f"task{number}" for number in range(WIDEST + 1)]
    cells = tuple(cell(task, [score], name) for task in tasks for name, score in (("a", 0.0), ("b", 1.0)))
    board = Board(suite=",".join(tasks * 9), tasks=tuple(tasks), harnesses=("a", "b"))
    made = Scoreboard(run_id="r", solver="s", board=board, cells=cells)
    first, second = tables(made)
    assert first.columns == ["harness", *(f"{task} (n = 1)" for task in tasks[:WIDEST]), "calls a trial"]
    assert second.columns == ["harness", f"{tasks[-1]} (n = 1)", f"mean of {len(tasks)}", "calls a trial"]
    assert [row[0] for row in second.rows] == ["(constant answer)", "(nearest item copied)", "a", "b"]
    assert second.rows[3][2].startswith("1.00 [")
    assert first.title == f"{len(tasks)} tasks, grade questions, solver s"
    assert max(map(len, (first.title, second.title))) < LONGEST
    assert markdown(made).count("| harness |") == 2
