"""What a check finds, and what opens by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from loriner.errors import TaskError
from loriner.tasks.check import check, gold_text
from loriner.tasks.jsonl import from_jsonl
from loriner.tasks.named import open_task


def task(tmp_path, scorer, answers=("yes", "no", "yes", "yes")):
    file = tmp_path / "t.jsonl"
    items = [{"id": i, "question": f"question {i}", "answer": answers[i % len(answers)]} for i in range(60)]
    file.write_text("\n".join(map(json.dumps, items)))
    return from_jsonl(file, scorer)


async def test_a_sound_task_passes(tmp_path):
    report = await check(task(tmp_path, lambda item, answer: item["answer"] == answer))
    assert report.passed
    assert sum(report.n.values()) == report.n_checked == 60
    assert report.empty_score == 0.0
    assert (report.constant_answer, report.constant_score) == ("yes", pytest.approx(0.75))
    assert report.median_question_length == len("question 10")


async def test_right_answers_that_do_not_score_are_listed(tmp_path):
    def half(item, answer):
        return 0.5 if answer == item["answer"] == "no" else float(answer == item["answer"])

    report = await check(task(tmp_path, half), limit=10)
    assert not report.passed
    assert {wrong.score for wrong in report.wrong_gold} == {0.5}


async def test_a_scorer_that_pays_for_nothing_is_told(tmp_path):
    report = await check(task(tmp_path, lambda item, answer: 1.0 if answer in item["answer"] else 0.0))
    assert report.empty_score == 1.0


async def test_targets_of_other_kinds_are_not_checked(tmp_path):
    report = await check(task(tmp_path, lambda item, answer: 0.0, answers=[{"rows": 2}]))
    assert (report.n_checked, report.passed, report.constant_answer) == (0, False, "")


async def test_lists_and_numbers_have_a_text(tmp_path):
    several = task(tmp_path, lambda item, answer: answer in item["answer"], answers=[["a", "b"]])
    assert {gold_text(question) for question in several.questions("test")} == {"a"}
    assert {gold_text(q) for q in task(tmp_path, max, answers=[4]).questions("test")} == {"4"}


async def test_a_folder_opens_by_its_path(tmp_path):
    (tmp_path / "task.toml").write_text('name = "t"\nitems = "t.jsonl"\nscorer = "s.py:score"\n')
    (tmp_path / "s.py").write_text("def score(item, answer):\n    return item['answer'] == answer\n")
    task(tmp_path, max)
    opened = open_task(str(tmp_path), home=tmp_path)
    assert (await check(opened, limit=3)).passed
    await opened.close()


def test_a_folder_without_a_task_says_so(tmp_path):
    with pytest.raises(TaskError, match=r"task\.toml"):
        open_task(str(tmp_path), home=tmp_path)


def test_a_missing_library_names_its_install_line(tmp_path):
    program = (
        "import sys; sys.modules['reasoning_gym'] = None\nfrom pathlib import Path\n"
        "from loriner.errors import MissingExtra\nfrom loriner.tasks.named import open_task\n"
        f"try:\n    open_task('rg:gcd', home=Path({str(tmp_path)!r}))\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "a Reasoning Gym task needs the extra [rg]: pip install 'loriner[rg]'\n"


def test_a_package_registers_its_tasks(tmp_path):
    (tmp_path / "plugin.py").write_text(
        "from loriner.tasks.fictional import open_fictional\n"
        "def tiny(home):\n    return open_fictional(40)\n"
        "def broken(home):\n    return 1 / 0\n"
    )
    metadata = tmp_path / "plugin-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        "[loriner.tasks]\ntiny = plugin:tiny\nbroken = plugin:broken\n"
    )
    program = (
        "from pathlib import Path\nfrom loriner.errors import TaskError\n"
        "from loriner.tasks.named import known_tasks, open_task\n"
        "print(known_tasks()[:2], open_task('tiny', home=Path()).name)\n"
        "try:\n    open_task('broken', home=Path())\nexcept TaskError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    first, second = done.stdout.splitlines()
    assert first == "('broken', 'tiny') fictional:40:0"
    assert second.startswith("the registered task broken (plugin:broken) does not open: ZeroDivisionError")
