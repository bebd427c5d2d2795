"""`evaluate`, `propose` and `tasks` from the command line, with bad input."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from command import Command, started
from loriner.store.database import Store
from stub_server import Stub


def test_evaluate_prints_one_document_with_every_trial(loriner: Command, folder: Path) -> None:
    done = loriner("evaluate", str(folder), "--solver", "scripted:echo", "--limit", "5", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["score"]["n"] == 5
    assert document["harness"]
    assert {"question", "status", "detail", "score", "seconds", "calls"} <= document["trials"][0].keys()


def test_one_harness_on_one_task_has_one_document_whatever_else_is_written(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    asked = ("evaluate", str(folder), "--solver", stub.url, "--limit", "4", "--samples", "2")
    document = json.loads(loriner(*asked, "--json").stdout)
    keys = {"run", "task", "harness", "solver", "level", "score", "infra_errors", "trials", "usage"}
    assert keys <= document.keys() and document["task"] == "sums"
    assert len(document["trials"]) == 8
    assert document["usage"]["calls"] == len(stub.calls) == 4  # the second sample comes from the cache
    assert document["usage"]["seconds"] > 0 and "model_seconds" not in document["usage"]
    written = json.loads(loriner(*asked, "--json", "-o", "table.md").stdout)
    assert written.keys() == document.keys()
    lines = (tmp_path / "table.md").read_text().splitlines()
    assert lines[0].startswith("sums, grade questions") and lines[-1].startswith("| sums |")


def test_a_person_reads_the_statuses_the_bill_and_the_level(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    asked = ("evaluate", str(folder), "--solver", stub.url, "--limit", "4")
    told = " ".join(loriner(*asked).stdout.split())
    run = json.loads(loriner("runs", "list", "--json").stdout)[0]
    assert "Trials: wrong 4" in told
    assert "Spent: 4 model calls" in told
    assert "Sandbox level " in told and f"loriner runs show {run['run']}" in told
    assert f"harness seed ({run['summary']['harness'][:12]})" in told
    assert "mean of the tasks" not in told
    assert (run["summary"]["task"], run["summary"]["score"]) == ("sums", 0.0)


def test_a_mistyped_name_leaves_no_run_behind(loriner: Command, folder: Path) -> None:
    for line in (["nowhere"], [str(folder), "--harness", "nowhere"], [str(folder), "--harness", "gone.py"]):
        done = loriner("evaluate", *line, "--solver", "scripted:echo")
        assert done.returncode == 2 and done.stderr.count("error: ") == 1, done.stderr
    assert json.loads(loriner("runs", "list", "--json").stdout) == []


def as_once_stored(home: Path, run: str, folder: Path, harness: str) -> None:
    """Makes the run one of an earlier release, which named the task and the harness of a single evaluation
    where `adapt` does, and kept no event for its program.
    """
    with closing(sqlite3.connect(home / "loriner.db")) as base, base:
        ((text,),) = base.execute("SELECT config FROM runs WHERE id = ?", (run,)).fetchall()
        config = json.loads(text)
        config["evaluate"] |= {"suite": None, "harnesses": []}
        config["adapt"] |= {"task": str(folder), "harness": harness}
        base.execute("UPDATE runs SET config = ? WHERE id = ?", (json.dumps(config), run))
        base.execute("DELETE FROM events WHERE kind = 'harness'")


def test_a_single_evaluation_of_an_earlier_release_goes_on_and_is_read(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text("def solve(model, question):\n    return model(question)\n")
    asked = ("evaluate", str(folder), "--solver", stub.url, "--harness", "mine.py", "--limit", "6")
    assert loriner(*asked, "--max-trials", "3").returncode == 4
    (run,) = json.loads(loriner("runs", "list", "--json").stdout)
    trials = json.loads(loriner("runs", "show", run["run"], "--json").stdout)["trials"]
    assert len(trials) == 3
    with closing(Store.open(tmp_path / "home")) as store:
        (harness,) = {each.harness_id for each in store.trials(run["run"])}
    as_once_stored(tmp_path / "home", run["run"], folder, harness)
    (tmp_path / "mine.py").unlink()
    before = len(stub.calls)
    done = loriner("evaluate", str(folder), "--resume", run["run"], "--json")
    assert done.returncode == 0 and "note:" not in done.stderr, done.stderr
    document = json.loads(done.stdout)
    assert (document["run"], document["harness"]) == (run["run"], harness)
    assert document["score"]["n"] == 6 and len(stub.calls) - before == 3
    done = loriner("evaluate", "--replay", run["run"], "--json")
    assert json.loads(done.stdout)["score"] == document["score"], done.stderr
    found = json.loads(loriner("diagnose", run["run"], "--json").stdout)
    assert len(found) == sum(each["score"] == 0.0 for each in document["trials"])


def test_global_options_may_stand_anywhere(loriner: Command, folder: Path) -> None:
    first = loriner("--json", "--seed", "3", "evaluate", str(folder), "--solver", "scripted:echo")
    last = loriner("evaluate", str(folder), "--solver", "scripted:echo", "--seed", "3", "--json")
    assert json.loads(first.stdout)["score"] == json.loads(last.stdout)["score"]


def test_fail_under_ends_with_1(loriner: Command, folder: Path) -> None:
    done = loriner(
        "evaluate", str(folder), "--solver", "scripted:echo", "--fail-under", "0.5", "--limit", "3"
    )
    assert done.returncode == 1


def test_a_harness_without_solve_is_named_and_spends_nothing(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    (tmp_path / "bad.py").write_text("def answer(model, question):\n    return '1'\n")
    done = loriner("evaluate", str(folder), "--solver", stub.url, "--harness", "bad.py")
    assert done.returncode == 2
    assert "bad.py" in done.stderr
    assert "solve" in done.stderr
    assert stub.calls == []


def statuses(
    loriner: Command, folder: Path, stub: Stub, harness: str, source: str
) -> tuple[list[str], dict[str, Any]]:
    """The status of each of ten trials, and the score."""
    (folder.parent / harness).write_text(source)
    asked = ("--solver", stub.url, "--harness", harness, "--limit", "10", "--json")
    done = loriner("evaluate", str(folder), *asked)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return [each["status"] for each in told["trials"]], told["score"]


def test_a_harness_that_cannot_be_loaded_is_run_three_times_only(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    source = "limit = undefined\n\n\ndef solve(model, question):\n    return '1'\n"
    found, score = statuses(loriner, folder, stub, "bad.py", source)
    assert found.count("crashed") == 3
    assert found.count("skipped_after_crash") == 7
    assert score["score"] == 0.0


def test_a_harness_that_crashes_on_a_question_is_run_on_the_others(
    loriner: Command, folder: Path, stub: Stub
) -> None:
    """Three crashes alike say nothing of a fourth question: one that is not run would count as wrong."""
    source = "def solve(model, question):\n    raise ValueError(question)\n"
    assert statuses(loriner, folder, stub, "picky.py", source)[0] == ["crashed"] * 10


@pytest.mark.parametrize(("file", "part"), [("score.py", "scorer"), ("items.jsonl", "items")])
@pytest.mark.parametrize(("command", "most"), [("evaluate", "10"), ("adapt", "160")])
def test_a_run_is_not_taken_up_with_a_task_that_changed(
    loriner: Command, folder: Path, command: str, most: str, file: str, part: str
) -> None:
    """Trials scored by the old scorer and by the new one would give a mean of neither."""
    stopped = loriner(command, str(folder), "--solver", "scripted:echo", "--max-trials", most, "--json")
    assert stopped.returncode == 4, stopped.stderr
    (run,) = json.loads(loriner("runs", "list", "--json").stdout)
    was = (folder / file).read_text()
    (folder / file).write_text(was.replace("return", "return 0.5 *", 1).replace("plus", "and", 1))
    refused = loriner(command, "--resume", run["run"], "--max-trials", "2000")
    assert refused.returncode == 2, refused.stderr
    assert f"the {part} of sums changed since run {run['run']} began" in refused.stderr
    (folder / file).write_text(was)
    resumed = loriner(command, "--resume", run["run"], "--max-trials", "2000")
    assert resumed.returncode == 0, resumed.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"id": "x", "question": "q"}', "answer"),
        ("not json", "JSON"),
        ('{"id": "q101", "question": "q", "answer": "a"}', "q101"),
        ("[1, 2]", "object"),
    ],
)
def test_a_bad_line_of_a_task_is_named(loriner: Command, folder: Path, line: str, told: str) -> None:
    with (folder / "items.jsonl").open("a") as items:
        items.write(line + "\n")
    done = loriner("tasks", "check", str(folder))
    assert done.returncode == 2
    assert "items.jsonl, line 91" in done.stderr
    assert told in done.stderr


def test_tasks_check_passes_a_sound_task_and_fails_a_broken_scorer(loriner: Command, folder: Path) -> None:
    assert loriner("tasks", "check", str(folder)).returncode == 0
    (folder / "score.py").write_text("def score(item, answer):\n    return 0.0\n")
    assert loriner("tasks", "check", str(folder)).returncode == 1


def test_a_scorer_that_hangs_on_a_right_answer_stops_the_run_in_words(loriner: Command, folder: Path) -> None:
    (folder / "score.py").write_text("def score(item, answer):\n    while True:\n        pass\n")
    done = loriner("evaluate", str(folder), "--solver", "scripted:echo", "--limit", "4")
    assert done.returncode == 2
    assert "the scorer of sums fails on the right answer of item" in done.stderr
    assert done.stderr.count("the scorer of sums fails") == 1 and "scorer_timeout" in done.stderr
    assert "[0.00" not in done.stdout
    checked = loriner("tasks", "check", str(folder))
    assert checked.returncode == 1, checked.stderr
    assert "check sums: " in checked.stderr  # it takes longer than 5 s, so it is told how far it is
    assert "0 of 3 tried; stopped there (90 in all)" in checked.stdout
    assert "NOT SOUND" in checked.stdout


def test_the_tally_counts_the_answers_on_which_the_scorer_failed(loriner: Command, folder: Path) -> None:
    score = "def score(item, answer):\n    return float(int(answer) == int(item['answer']))\n"
    (folder / "score.py").write_text(score)
    done = loriner("evaluate", str(folder), "--solver", "scripted:echo", "--limit", "4")
    assert done.returncode == 0, done.stderr
    assert "Trials: scorer_error 4" in done.stdout
    run = json.loads(loriner("runs", "list", "--json").stdout)[0]["run"]
    assert "scorer_error" in loriner("runs", "show", run).stdout


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('seed_harness = "nope"', "the library has no harness 'nope'"),
        ('seed_harness = "gone/seed.py"', "the library has no harness 'gone/seed.py'"),
        ("split = { feedback = 0.5, grade = 0.5 }", "no test question"),
    ],
)
def test_tasks_check_refuses_what_no_command_would_adapt(
    loriner: Command, folder: Path, line: str, told: str
) -> None:
    with (folder / "task.toml").open("a") as settings:
        settings.write(line + "\n")
    done = loriner("tasks", "check", str(folder))
    assert done.returncode == 1, done.stderr
    assert "NOT SOUND" in done.stdout and told in done.stdout
    document = json.loads(loriner("tasks", "check", str(folder), "--json").stdout)
    assert document["passed"] is False
    assert told in document["faults"][0]
    adapted = loriner("adapt", str(folder), "--solver", "scripted:echo")
    assert adapted.returncode == 2 and told in adapted.stderr


def test_stopping_a_check_speaks_of_no_run(loriner: Command, folder: Path, tmp_path: Path) -> None:
    (folder / "score.py").write_text(
        "import time\ndef score(item, answer):\n    open('begun', 'w').close()\n    time.sleep(60)\n"
    )
    process = started(tmp_path, tmp_path / "home", "tasks", "check", str(folder))
    for _ in range(600):
        if (folder / "begun").exists():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 5, told
    assert told.strip() == "error: interrupted"


def test_a_new_task_runs_as_it_is(loriner: Command, tmp_path: Path) -> None:
    assert loriner("tasks", "new", "mine").returncode == 0
    assert loriner("tasks", "check", "tasks/mine").returncode == 0
    done = loriner("evaluate", "tasks/mine", "--solver", "scripted:echo", "--json")
    assert done.returncode == 0, done.stderr


def test_propose_shows_candidates_and_grades_nothing(loriner: Command, folder: Path, stub: Stub) -> None:
    done = loriner("propose", str(folder), "--solver", stub.url, "-k", "2", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [each["code"] for each in document["candidates"]] == [None, None]
    trials = json.loads(loriner("runs", "show", document["run"], "--json").stdout)["trials"]
    assert len(trials) == 16


def test_a_completion_that_does_not_parse_has_a_code(loriner: Command, folder: Path, stub: Stub) -> None:
    done = loriner("propose", str(folder), "--solver", stub.url, "--proposer", "scripted:echo", "--json")
    assert json.loads(done.stdout)["candidates"][0]["code"] == "no_edit_block"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["evaluate", "rg:no_such_family", "--solver", "scripted:echo"], "no_such_family"),
        (["evaluate", "nowhere", "--solver", "scripted:echo"], "nowhere"),
        (["adapt", "--set", "adapt.round=3"], "did you mean rounds"),
        (["adapt", "--set", "adapt"], "KEY=VALUE"),
        (["evaluate", "sums", "--solver", "nothing"], "nothing"),
        (["adapt", "sums"], "--solver"),
        (["runs", "show", "20200101"], "20200101"),
        (["show", "abcdef123"], "abcdef123"),
    ],
)
def test_wrong_names_end_with_2_and_say_what_is_wrong(
    loriner: Command, folder: Path, tmp_path: Path, arguments: list[str], told: str
) -> None:
    Store.open(tmp_path / "home").close()
    done = loriner(*[str(folder) if each == "sums" else each for each in arguments])
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_comment_does_not_make_another_task_but_a_module_of_the_scorer_does(
    loriner: Command, folder: Path
) -> None:
    (folder / "helper.py").write_text("def same(a, b):\n    return a == b\n")
    source = "def score(item, answer):\n    return float(same(answer, item['answer']))\n"
    (folder / "score.py").write_text(f"from helper import same\n\n\n{source}")
    stopped = loriner("evaluate", str(folder), "--solver", "scripted:echo", "--max-trials", "5")
    assert stopped.returncode == 4, stopped.stderr
    (run,) = json.loads(loriner("runs", "list", "--json").stdout)
    (folder / "score.py").write_text("# what it is for\n" + (folder / "score.py").read_text())
    further = loriner("evaluate", "--resume", run["run"], "--max-trials", "10")
    assert further.returncode == 4, further.stderr
    (folder / "helper.py").write_text("def same(a, b):\n    return True\n")
    refused = loriner("evaluate", "--resume", run["run"], "--max-trials", "2000")
    assert refused.returncode == 2
    assert "the scorer of sums changed" in refused.stderr
