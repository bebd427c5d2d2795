"""A model as scorer: its verdicts, what they cost, and how far it agrees with answers that are known."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

import loriner as lo
from command import command
from endpoint import completion, running
from loriner.errors import TaskError
from loriner.propose.context import brief_of, make_context
from loriner.propose.wording import asked_in
from loriner.records import Status
from loriner.store.database import Store
from loriner.tasks.jsonl import load_folder
from loriner.tasks.judge import Judge, JudgeScorer, verdict

RUBRIC = "The answer is the right number."
ROWS = [{"id": n, "question": f"What is {n} plus {n}?", "answer": str(2 * n)} for n in range(60)]


@dataclass
class Court:
    """A solver that is right about even numbers, and a judge that compares numbers, behind one address."""

    says: str = ""
    """What the judge says instead."""
    status: int = 200
    asked: list[dict[str, Any]] = field(default_factory=list)
    """What the judge was asked."""

    async def mind(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        text = body["messages"][-1]["content"]
        if body["model"] == "solver":
            n = int(re.findall(r"\d+", text)[0])
            return web.json_response(completion(str(2 * n if n % 2 == 0 else 0)))
        self.asked.append(body)
        if self.status != 200:
            return web.json_response({"error": {"message": "no"}}, status=self.status)
        right, answer = (re.search(rf"<<< {name}\n(.*?)\n>>>", text, re.DOTALL) for name in NAMES)
        assert right is not None and answer is not None
        same = right[1] == answer[1]
        reply = self.says or f"It is {answer[1]!r}, not {right[1]!r}.\n\n**SCORE: {10 if same else 2}**"
        return web.json_response(completion(reply))


NAMES = ("A RIGHT ANSWER", "ANSWER TO JUDGE")


@pytest.fixture
def court() -> Court:
    return Court()


@pytest.fixture
def url(court: Court) -> Iterator[str]:
    with running(court.mind) as address:
        yield address


def judged(url: str) -> Any:
    return lo.Task.from_data(ROWS, lo.Judge(lo.Model(url, "judge"), RUBRIC), name="sums")


PROGRAM = lo.Harness.from_text("def solve(model, question):\n    return model(question)\n")


def test_its_verdicts_are_scores_and_its_calls_are_recorded(court: Court, url: str, tmp_path: Path) -> None:
    found = lo.evaluate(judged(url), PROGRAM, lo.Model(url, "solver"), limit=8, home=tmp_path)
    assert {trial.score for trial in found.trials} == {1.0, 0.2}
    for trial in found.trials:
        assert [call.kind for call in trial.calls] == ["model", "judge"]
        assert [call.kind for call in trial.program_calls] == ["model"]
        assert (trial.status is Status.OK) == (trial.score == 1.0) == (int(trial.question_id) % 2 == 0)
        assert trial.detail.startswith("It is ")
    with closing(Store.open(tmp_path)) as store:
        (run,) = store.runs()
        assert (store.usage(run.id).calls, store.usage(run.id, "solver").calls) == (16, 8)
    n = len(court.asked)
    again = lo.evaluate(judged(url), PROGRAM, lo.Model(url, "solver"), limit=8, home=tmp_path)
    assert (again.scores, len(court.asked)) == (found.scores, n)
    assert all(call.cached for trial in again.trials for call in trial.calls)


def test_an_adaptation_with_a_judge_is_shown_counted_and_replayed(
    court: Court, url: str, tmp_path: Path
) -> None:
    solver = lo.Model(url, "solver")
    with lo.open(tmp_path) as lab:
        run = lab.adapt(judged(url), solver, rounds=1, grade=8, test=8, harness=PROGRAM)
        lab.report(run.id, tmp_path / "report.html")
        n = len(court.asked)
        again = lab.adapt(judged(url), solver, replay=run.id)
    assert n > 0 and len(court.asked) == n
    assert (again.best.grade, again.best.test) == (run.best.grade, run.best.test)
    page = (tmp_path / "report.html").read_text()
    assert re.search(r">\s*judge\s*<", page)


def test_a_cap_holds_for_judge_and_solver_together(court: Court, url: str, tmp_path: Path) -> None:
    with pytest.raises(lo.LorinerError, match="budget of 7 calls is reached"):
        lo.evaluate(
            judged(url),
            PROGRAM,
            lo.Model(url, "solver"),
            limit=8,
            budget=lo.Budget(calls=7),
            home=tmp_path,
        )
    with closing(Store.open(tmp_path)) as store:
        (run,) = store.runs()
        assert store.usage(run.id).calls <= 7


def test_a_judge_that_is_down_makes_no_zeros(court: Court, url: str, tmp_path: Path) -> None:
    court.status = 401
    with pytest.raises(lo.LorinerError, match="failed through no fault of the harness"):
        lo.evaluate(judged(url), PROGRAM, lo.Model(url, "solver"), limit=8, home=tmp_path)


def test_a_verdict_that_cannot_be_read_is_asked_for_again(court: Court, url: str, tmp_path: Path) -> None:
    court.says = "Good, I think."
    found = lo.evaluate(judged(url), PROGRAM, lo.Model(url, "solver"), limit=1, home=tmp_path)
    (trial,) = found.trials
    assert (trial.score, trial.detail) == (0.0, "scorer_error")
    assert [call.kind for call in trial.calls] == ["model", "judge", "judge", "judge"]
    assert len({body["seed"] for body in court.asked}) == 3


def test_a_proposer_is_not_shown_what_the_judge_was(url: str, tmp_path: Path) -> None:
    found = lo.evaluate(
        judged(url), PROGRAM, lo.Model(url, "solver"), split="feedback", limit=4, home=tmp_path
    )
    task = judged(url)
    context = make_context(brief_of("sums", "", ()), PROGRAM, found, task.questions("feedback"), round=1)
    for each in context.feedback:
        assert len(asked_in(each)) == 1 and RUBRIC not in str(asked_in(each))


def test_a_function_can_be_the_judge(url: str, tmp_path: Path) -> None:
    def strict(prompt: str) -> str:
        return "Never. SCORE: 0/10"

    task = lo.Task.from_data(ROWS, lo.Judge(strict, RUBRIC), name="sums")
    found = lo.evaluate(task, PROGRAM, lo.Model(url, "solver"), limit=2, home=tmp_path)
    assert [trial.score for trial in found.trials] == [0.0, 0.0]
    with lo.open(tmp_path) as lab:
        report = lab.check(task)
    assert report.agreement is not None and (report.agreement.n_taken, report.agreement.share) == (0, 0.5)
    assert not report.passed and "agrees with known answers at 0.50" in report.faults[0]


def folder_of(path: Path, judge: str, more: str = "") -> Path:
    path.mkdir()
    (path / "items.jsonl").write_text("".join(json.dumps(each) + "\n" for each in ROWS))
    (path / "task.toml").write_text(f'name = "sums"\nitems = "items.jsonl"\n{more}\n{judge}\n')
    return path


def test_tasks_check_measures_its_agreement(court: Court, url: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "sums", f'[judge]\nmodel = "{url}::judge"\nrubric = "{RUBRIC}"')
    loriner = command(tmp_path, tmp_path / "home")
    found = loriner("tasks", "check", str(folder), "--json")
    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    assert document["agreement"] == {"n_right": 20, "n_taken": 20, "n_wrong": 20, "n_refused": 20}
    assert document["usage"]["calls"] == len(court.asked) == 40
    court.says = "SCORE: 10"
    lenient = command(tmp_path, tmp_path / "other")("tasks", "check", str(folder))
    assert lenient.returncode == 1
    assert "0.50" in lenient.stdout and "took 20 of 20" in lenient.stdout and "NOT SOUND" in lenient.stdout


@pytest.mark.parametrize(
    ("judge", "more", "said"),
    [
        ('[judge]\nmodel = "m"', "", "expected model and rubric"),
        ('[judge]\nmodel = "m"\nrubric = " "', "", "has no rubric"),
        ('[judge]\nmodel = "m"\nrubric = "r"', 'scorer = "a.py:b"', "both; expected scorer"),
        ("", "", "no 'scorer'; expected scorer"),
        ("", 'judge = "m"', "expected 'judge' as a table"),
    ],
)
def test_a_judge_that_is_wrong_is_named(tmp_path: Path, judge: str, more: str, said: str) -> None:
    with pytest.raises(TaskError, match=said):
        load_folder(folder_of(tmp_path / "sums", judge, more))


async def test_it_judges_only_where_it_has_a_model() -> None:
    with pytest.raises(TaskError, match="only within a run or `tasks check`"):
        await JudgeScorer(Judge("m", RUBRIC)).score(ROWS[0], "2")


@given(
    st.integers(0, 10),
    st.sampled_from(["SCORE: {}", "score = {}/10", "**Score:** {}", "Score: 3\nSCORE: {}."]),
)
def test_a_score_is_read_as_it_is_written(n: int, form: str) -> None:
    assert verdict(form.format(n)) == n / 10


@pytest.mark.parametrize("reply", ["", "SCORE:", "SCORE: 11", "score: high", "SCORE: 100", "7", "SCORE: -3"])
def test_a_score_that_is_none_is_not_guessed(reply: str) -> None:
    assert verdict(reply) is None
