"""Results as people use them in Python: they answer, show themselves, tell progress and can be awaited."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import loriner as lo
from loriner.api.lab import Comparing, Opening, Running, Searching
from loriner.config import AdaptSettings, CompareSettings, Settings
from loriner.events import Event
from stub_server import Stub

SMALL = {"rounds": 1, "grade": 12, "test": 12}


def model_of(stub: Stub) -> lo.Model:
    url, _, name = stub.url.partition("::")
    return lo.Model(url, name)


@pytest.fixture
def run(folder: Path, stub: Stub, tmp_path: Path) -> lo.Run:
    return lo.adapt(lo.Task.named(str(folder)), model_of(stub), **SMALL, home=tmp_path)


def test_the_best_program_answers_questions(run: lo.Run, stub: Stub, tmp_path: Path) -> None:
    assert run.best("What is 4 plus 31?") == run.best.solve("What is 4 plus 31?") == "35"
    assert asyncio.run(run.best.asolve("What is 7 plus 8?")) == "15"
    ran = run.best.run("What is 2 plus 2?")
    assert (ran.status, ran.answer) == ("ok", "4") and "run_python" in [each.kind for each in ran.calls]
    with lo.load("best/sums", model=model_of(stub), home=tmp_path) as ready:
        assert ready("What is 20 plus 22?") == "42"
        assert ready.harness.id == run.best.harness.id
    with pytest.raises(lo.LorinerError, match="best/other"):
        lo.load("best/other", model=model_of(stub), home=tmp_path)


def test_a_program_that_gives_no_answer_says_why(tmp_path: Path) -> None:
    harness = lo.Harness.from_text("def solve(model, question):\n    raise ValueError('no such thing')\n")
    with (
        lo.load(harness, "scripted:echo", home=tmp_path) as ready,
        pytest.raises(lo.LorinerError, match=r"'Q': crashed: ValueError: .*no such thing; `run`"),
    ):
        ready("Q")


def test_a_harness_has_the_tools_of_its_task(folder: Path, tmp_path: Path) -> None:
    harness = lo.Harness.from_text(
        "from tools import examples\n\ndef solve(model, question):\n    return str(len(examples(k=3)))\n"
    )
    with lo.load(harness, "scripted:echo", task=lo.Task.named(str(folder)), home=tmp_path) as ready:
        assert ready("What is 1 plus 1?") == "3"
        assert ready.run("again", tools={"more": lambda: 1}).status == "ok"


def test_results_show_themselves_shortly_and_as_tables(
    run: lo.Run, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    found = lo.evaluate(lo.Task.named(str(folder)), run.best, model_of(stub), limit=5, home=tmp_path)
    shown = [repr(each) for each in (run, run.best, found, run.best.run("What is 1 plus 1?"))]
    assert [each.split()[0] for each in shown] == ["<Run", "<Scored", "<Evaluated", "<Ran"]
    assert max(map(len, shown)) < 200
    assert f"<Run {run.id}: seed test 0.000, best test 1.000; 1 round, ended by rounds>" == shown[0]
    page = run._repr_html_()
    assert page.startswith("<table>") and "1.000 [" in page and "+from tools import run_python" in page
    assert "<td>ok</td>" in found._repr_html_()


def test_markup_in_a_program_stays_text(run: lo.Run) -> None:
    hostile = lo.Harness.from_text("def solve(model, question):\n    return '<script>alert(1)</script>'\n")
    scored = type(run.best)(hostile, run.best.grade, None, run.best.standing)
    assert "<script" not in scored._repr_html_() and "&lt;script&gt;" in scored._repr_html_()
    with pytest.raises(lo.LorinerError, match="has no solver to ask"):
        scored("a question")


def test_scores_have_one_vocabulary(run: lo.Run, folder: Path, stub: Stub, tmp_path: Path) -> None:
    found = lo.evaluate(
        lo.Task.named(str(folder)), run.best, model_of(stub), split="test", limit=12, home=tmp_path
    )
    assert found.score is not None and run.best.test is not None
    assert (found.score.mean, found.score.n) == (found.mean_score, 12)
    assert found.score == run.best.test and found.scores == run.best.scores


def test_the_twins_leave_the_loop_free(folder: Path, stub: Stub, tmp_path: Path) -> None:
    stub.delay_s = 0.02

    async def work() -> tuple[lo.Run, int]:
        task = asyncio.create_task(
            lo.aadapt(lo.Task.named(str(folder)), model_of(stub), **SMALL, home=tmp_path)
        )
        beats = 0
        while not task.done():
            await asyncio.sleep(0.01)
            beats += 1
        return await task, beats

    run, beats = asyncio.run(work())
    assert run.best.test is not None and run.best.test.mean == 1.0
    assert beats > 10


def test_a_twin_that_is_cancelled_ends_its_run(folder: Path, stub: Stub, tmp_path: Path) -> None:
    stub.delay_s = 0.3
    heard: list[Event] = []

    async def work() -> None:
        call = lo.aadapt(
            lo.Task.named(str(folder)), model_of(stub), **SMALL, home=tmp_path, observe=heard.append
        )
        task = asyncio.create_task(call)
        await asyncio.to_thread(_wait_for_an_answer, stub)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    told = len(heard)
    with lo.open(tmp_path) as lab:
        (kept,) = lab.door.inside.store.runs()
    assert (kept.status, len(heard)) == ("interrupted", told)


def _wait_for_an_answer(stub: Stub) -> None:
    while not stub.n_answered:
        time.sleep(0.01)


SHOWS = """
import sys
import loriner as lo
url, _, name = sys.argv[2].partition("::")
lo.adapt(lo.Task.named(sys.argv[1]), lo.Model(url, name), rounds=1, grade=12, test=12, home=sys.argv[3])
"""


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_on_a_terminal_and_nowhere_else(
    folder: Path, stub: Stub, tmp_path: Path, terminal: bool
) -> None:
    ours, theirs = pty.openpty()
    told = theirs if terminal else subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", SHOWS, str(folder), stub.url, str(tmp_path)],
        stderr=told,
        env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"},
    )
    os.close(theirs)
    shown = _all_of(ours) if terminal else process.communicate()[1].decode()
    assert process.wait() == 0
    assert ("search ended: rounds" in shown) == terminal
    os.close(ours)


def _all_of(descriptor: int) -> str:
    found = b""
    while True:
        try:
            part = os.read(descriptor, 2**16)
        except OSError:  # how a terminal says that nobody writes any more
            return found.decode(errors="replace")
        found += part
        if not part:
            return found.decode(errors="replace")


def _kinds(record: Any) -> dict[str, Any]:
    return {name: each.annotation for name, each in record.model_fields.items()}


@pytest.mark.parametrize(
    ("typed", "record", "own"),
    [
        (Searching, AdaptSettings, {"task", "solver", "proposer"}),
        (Comparing, CompareSettings, {"tasks"}),
    ],
)
def test_the_typed_arguments_are_the_settings(typed: Any, record: Any, own: set[str]) -> None:
    hints, kinds = get_type_hints(typed), _kinds(record)
    trying = set(get_type_hints(Running)) | (set() if typed is Searching else set(_kinds(AdaptSettings)))
    assert set(kinds) - own <= set(hints)
    assert set(hints) - trying <= set(kinds)
    for name in set(hints) & set(kinds) - {"harness"}:  # an object too, by its name in settings
        assert _plainly(hints[name]) == _plainly(kinds[name]), name


@pytest.mark.parametrize("typed", [Running, Opening])
def test_what_any_call_takes_are_settings(typed: Any) -> None:
    hints, kinds = get_type_hints(typed), _kinds(Settings)
    assert set(hints) <= set(kinds)
    for name in set(hints) - {"models_dir"}:  # a path may be a text too
        assert _plainly(hints[name]) == _plainly(kinds[name]), name


def _plainly(kind: Any) -> str:
    """A kind without whether it may be None, and lists as sequences."""
    parts = [str(each) for each in get_args(kind) if each is not type(None)]
    text = parts[0] if type(None) in get_args(kind) and len(parts) == 1 else str(kind)
    return text.replace("collections.abc.Sequence", "list").replace("<class '", "").replace("'>", "")


ROWS = [{"question": f"What is {n} plus {n}?", "answer": 2 * n} for n in range(40)]


def equal(item: Any, answer: str) -> float:
    return float(answer == str(item["answer"]))


def test_a_task_is_made_of_what_a_program_holds(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table, lines = tmp_path / "sums.csv", tmp_path / "sums.jsonl"
    table.write_text("text,label\n" + "".join(f"{each['question']},{each['answer']}\n" for each in ROWS))
    lines.write_text("".join(json.dumps({"id": n, **each}) + "\n" for n, each in enumerate(ROWS, 1)))
    frame = pandas.DataFrame(ROWS).rename(columns={"question": "Text"})
    frame["seen"] = pandas.to_datetime("2026-01-02")
    frame["gap"] = float("nan")
    named = [lo.Task.from_data(each, equal, name="sums") for each in (ROWS, frame, table, lines)]
    asked = [[(each.id, each.text) for each in task.questions("grade")] for task in named]
    assert asked[0] == asked[1] == asked[2] == asked[3]
    assert named[1].questions("test")[0].target == named[0].questions("test")[0].target
    scores = [
        lo.evaluate(task, "library:minimal", lambda prompt: "x", limit=2, home=tmp_path) for task in named[:2]
    ]
    assert [each.mean_score for each in scores] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "no row"),
        (["text"], "row 1 is str"),
        ({"question": ["a"]}, "row 1 is str .*'question'.*expected a list of dicts"),
        ([{"question": "a", "answer": object()}], "row 1: .*not JSON serializable"),
        ([{"id": 1, "question": "a", "answer": 1}] * 2, "row 2: the id '1' stands in row 1 already"),
        ([ROWS[0], {"question": "a"}], "row 2: no 'answer', which other rows have"),
        (3, "row 1 is int"),
    ],
)
def test_rows_that_are_wrong_are_named(rows: Any, said: str) -> None:
    with pytest.raises(lo.LorinerError, match=said):
        lo.Task.from_data(rows, equal).questions("grade")
