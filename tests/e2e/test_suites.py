"""Many tasks and harnesses in one `evaluate`, and what `tasks` says of suites."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from command import Command
from stub_server import Stub, adder

BOTH = ("--harness", "library:minimal", "--harness", "library:program_of_thought")


@pytest.fixture
def two(folder: Path) -> tuple[str, str]:
    """Two tasks that share the ids of their questions, though no question: sums and more sums."""
    other = folder.with_name("more")
    shutil.copytree(folder, other)
    lines = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    for item in lines:
        item["question"] = item["question"].replace("What is", "How much is")
    (other / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in lines))
    (other / "task.toml").write_text((folder / "task.toml").read_text().replace('"sums"', '"more"'))
    (folder.parent / "loriner.toml").write_text('[suites]\npair = ["sums", "more"]\n')
    return str(folder), str(other)


def test_a_suite_is_one_run_with_a_score_for_each_task(
    loriner: Command, two: tuple[str, str], stub: Stub
) -> None:
    done = loriner("evaluate", "pair", "--solver", stub.url, *BOTH[2:], "--limit", "6", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [document[key] for key in ("suite", "harness", "split")] == [
        "pair",
        "library:program_of_thought",
        "grade",
    ]
    assert [each["task"] for each in document["tasks"]] == ["sums", "more"]
    assert all(
        each["score"] == {"score": 1.0, "low": pytest.approx(0.54, abs=0.03), "high": 1.0, "n": 6}
        for each in document["tasks"]
    )
    assert document["mean"]["score"] == 1.0
    assert document["mean"]["n"] == 12
    assert all(each["strict"] == each["score"] for each in document["tasks"])
    assert all(each["constant"]["score"] == 0.0 for each in document["tasks"])
    assert all(each["usage"]["calls"] == 6 and "trials" not in each for each in document["tasks"])
    assert all(
        "seconds" not in each["usage"] and each["usage"]["model_seconds"] > 0 for each in document["tasks"]
    )
    assert len(stub.calls) == document["usage"]["calls"] == 12
    (row,) = json.loads(loriner("runs", "list", "--json").stdout)
    assert (row["run"], row["status"]) == (document["run"], "done")


def test_harnesses_stand_beside_each_other_and_the_table_is_written(
    loriner: Command, two: tuple[str, str], stub: Stub, tmp_path: Path
) -> None:
    done = loriner("evaluate", ",".join(two), "--solver", stub.url, *BOTH, "--limit", "3", "-o", "table.md")
    assert done.returncode == 0, done.stderr
    for name in ("sums (n = 3)", "more (n = 3)", "minimal", "(constant answer)", "Run "):
        assert name in " ".join(done.stdout.split()), name
    lines = (tmp_path / "table.md").read_text().splitlines()
    assert lines[2] == "| harness | sums (n = 3) | more (n = 3) | mean of 2 | calls a trial |"
    row = next(line for line in lines if "program_of_thought" in line)
    assert row.count("1.00 [") == 3
    done = loriner("evaluate", "pair", "--solver", stub.url, *BOTH, "--limit", "3", "--json", "-v")
    document = json.loads(done.stdout)
    first, second = document["harnesses"]
    assert (first["mean"]["score"], second["mean"]["score"]) == (0.0, 1.0)
    assert [len(each["trials"]) for each in second["tasks"]] == [3, 3]
    assert "--task" in loriner("diagnose", document["run"]).stderr
    done = loriner("diagnose", document["run"], "--task", "more", "--json")
    assert [each["harness"] for each in json.loads(done.stdout)] == [first["tasks"][1]["harness"]] * 3


def test_a_task_that_does_not_open_is_told_and_costs_the_others_nothing(
    loriner: Command, two: tuple[str, str], stub: Stub
) -> None:
    line = ("evaluate", f"nowhere,{two[0]}", "--solver", stub.url, "--limit", "3")
    done = loriner(*line, "--json")
    assert done.returncode == 2
    document = json.loads(done.stdout)
    missing, scored = document["tasks"]
    assert missing["task"] == "nowhere"
    assert "no task is called 'nowhere'" in missing["error"]
    assert scored["score"]["n"] == document["mean"]["n"] == 3
    done = loriner(*line)
    assert "not scored" in done.stdout
    assert "nowhere is not in the means" in done.stdout
    (row, _) = json.loads(loriner("runs", "list", "--json").stdout)
    assert row["summary"]["not scored"] == ["nowhere"]


def test_wrong_names_spend_nothing(loriner: Command, two: tuple[str, str], stub: Stub) -> None:
    for arguments, told in (
        (["rg-unsen"], "did you mean rg-unseen"),
        (["nowhere,elsewhere"], "no task is called 'nowhere'"),
        (["pair", "--harness", "library:react", "--harness", "library:reakt"], "reakt"),
    ):
        done = loriner("evaluate", *arguments, "--solver", stub.url)
        assert done.returncode == 2
        assert told in done.stderr
        assert "Traceback" not in done.stderr
    assert stub.calls == []


def test_a_suite_that_was_stopped_goes_on_where_it_was(
    loriner: Command, two: tuple[str, str], stub: Stub
) -> None:
    stub.mind = lambda prompt: adder(prompt) if "How much" not in prompt else "<answer>0</answer>"
    stub.status = lambda number, prompt: 200 if number < 4 else 400  # the second task meets a broken endpoint
    line = ("--solver", stub.url, "--limit", "4", "--set", "cache=false")
    broken = loriner("evaluate", "pair", *line)
    assert broken.returncode == 3
    assert "can be resumed" in broken.stderr
    stub.status, before = (lambda number, prompt: 200), len(stub.calls)
    (row,) = json.loads(loriner("runs", "list", "--json").stdout)
    done = loriner("evaluate", "--resume", row["run"], "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["run"] == row["run"]
    assert [each["score"]["n"] for each in document["tasks"]] == [4, 4]
    assert len(stub.calls) - before == 4


def test_a_run_goes_on_with_the_programs_that_it_began_with(
    loriner: Command, two: tuple[str, str], stub: Stub, tmp_path: Path
) -> None:
    """Also on a task that was not reached before it stopped; and a replay asks for the same."""
    source = "def solve(model, question):\n    return model(question)\n"
    (tmp_path / "mine.py").write_text(source)
    line = ("evaluate", "pair", "--solver", stub.url, "--harness", "mine.py", "--limit", "4")
    assert loriner(*line, "--max-trials", "2").returncode == 4
    (row,) = json.loads(loriner("runs", "list", "--json").stdout)
    (tmp_path / "mine.py").write_text(source.replace("model(question)", "'7'"))
    done = loriner("evaluate", "--resume", row["run"], "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["harness"] == "mine.py"
    (program,) = {each["harness"] for each in document["tasks"]}
    assert [each["usage"]["calls"] for each in document["tasks"]] == [4, 4]
    (tmp_path / "mine.py").unlink()
    again = json.loads(loriner("evaluate", "--replay", row["run"], "--json").stdout)
    assert {each["harness"] for each in again["tasks"]} == {program}
    (tmp_path / "mine.py").write_text(f"# Another program, which asks the same.\n{source}")
    other = json.loads(loriner("evaluate", "--replay", row["run"], "--harness", "mine.py", "--json").stdout)
    assert program not in {each["harness"] for each in other["tasks"]}
    assert other["usage"]["calls"] == 0


def test_a_suite_of_one_task_has_the_document_of_a_suite(
    loriner: Command, two: tuple[str, str], stub: Stub
) -> None:
    line = ("--set", 'suites.one=["sums"]', "--solver", stub.url, "--limit", "2", "--json")
    document = json.loads(loriner("evaluate", "one", *line).stdout)
    assert document["suite"] == "one"
    assert [each["task"] for each in document["tasks"]] == ["sums"]
    assert loriner("diagnose", document["run"]).returncode == 0


def test_a_mean_below_the_bar_ends_with_1(loriner: Command, two: tuple[str, str], stub: Stub) -> None:
    line = ("evaluate", "pair", "--solver", stub.url, "--limit", "2", "--fail-under", "0.5")
    assert loriner(*line, *BOTH[2:]).returncode == 0
    assert loriner(*line, *BOTH).returncode == 1


def test_tasks_list_has_groups_and_show_opens_a_suite(loriner: Command, two: tuple[str, str]) -> None:
    listed = json.loads(loriner("tasks", "list", "--json").stdout)
    assert listed["suites"]["pair"] == ["sums", "more"]
    assert len(listed["suites"]["rg-unseen"]) == 21
    assert "fictional" in listed["questions over documents"]
    assert "rg:count_primes" in listed["families"]
    shown = json.loads(loriner("tasks", "show", "rg-hard", "--json").stdout)
    assert shown["tasks"][1]["questions"] == {"feedback": 20, "grade": 20, "test": 20}
    assert {each["frozen"] for each in shown["tasks"]} == {False}
    assert "rg:sokoban" in loriner("tasks", "show", "rg-hard").stdout


def test_one_command_makes_the_splits_and_says_how_long_it_took(loriner: Command) -> None:
    pytest.importorskip("reasoning_gym")
    done = loriner("tasks", "freeze", "rg:gcd,rg:lcm+varied", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert sorted(each["family"] for each in document["families"]) == ["gcd", "lcm"]
    assert document["splits"] == 14
    assert document["questions"] == 14 * 64
    assert document["seconds"] > 0
    again = loriner("tasks", "freeze", "rg:gcd")
    assert "1 families, 7 splits" in again.stdout
    done = loriner("tasks", "freeze", "fictional")
    assert done.returncode == 2
    assert "nothing to freeze" in done.stderr


def test_a_suite_can_be_estimated_capped_and_replayed(
    loriner: Command, two: tuple[str, str], stub: Stub
) -> None:
    line = ("evaluate", "pair", "--solver", stub.url, *BOTH, "--limit", "3")
    estimate = json.loads(loriner(*line, "--dry-run", "--json").stdout)
    assert estimate["trials"] == {"low": 12, "high": 12}
    assert stub.calls == []
    capped = loriner(*line, "--max-calls", "4")
    assert capped.returncode == 4
    assert len(stub.calls) <= 4
    (row,) = json.loads(loriner("runs", "list", "--json").stdout)
    done = loriner("evaluate", "--resume", row["run"], "--json")
    assert done.returncode == 0, done.stderr
    before = len(stub.calls)
    again = loriner("evaluate", "--replay", row["run"], "--json")
    assert again.returncode == 0, again.stderr
    assert len(stub.calls) == before
    first, second = (
        [each["mean"] for each in json.loads(found.stdout)["harnesses"]] for found in (done, again)
    )
    assert first == second
