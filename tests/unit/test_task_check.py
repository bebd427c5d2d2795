"""What a check finds, and what opens by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from loriner.errors import TaskError
from loriner.tasks.by_name import open_task
from loriner.tasks.check import check, gold_text
from loriner.tasks.items import Card, ItemTask
from loriner.tasks.jsonl import from_jsonl
from loriner.tasks.scorer import InWorker, WorkerSpec
from loriner.tasks.splits import DEFAULT_SHARES, by_hash


def written(file, items):
    file.write_text("\n".join(map(json.dumps, items)))
    return file


def task(tmp_path, scorer, answers=("yes", "no", "yes", "yes")):
    items = [{"id": i, "question": f"question {i}", "answer": answers[i % len(answers)]} for i in range(60)]
    return from_jsonl(written(tmp_path / "t.jsonl", items), scorer)


def asked_again(tmp_path, *answers, scorer=lambda item, answer: answer == item["answer"]):
    """60 questions of their own, and one more that is asked once for each of the answers."""
    items = [{"id": i, "question": f"question {i}", "answer": str(i)} for i in range(60)]
    items += [
        {"id": f"again{i}", "question": "the  same" if i else "the same", "answer": answer}
        for i, answer in enumerate(answers)
    ]
    return from_jsonl(written(tmp_path / "t.jsonl", items), scorer)


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


async def test_objects_are_tried_as_json(tmp_path):
    def same(item, answer):
        return float(json.loads(answer or "null") == item["answer"])

    report = await check(task(tmp_path, same, answers=[{"rows": 2}, {"rows": 3}]))
    assert (report.n_checked, report.passed, report.constant_answer) == (60, True, '{"rows": 3}')
    assert not any("JSON" in each for each in report.warnings)

    def half(item, answer):
        return same(item, answer) * (item["answer"]["rows"] == 2)

    wrong = await check(task(tmp_path, half, answers=[{"rows": 2}, {"rows": 3}]))
    assert "30 of 60 right answers do not score 1" in wrong.faults[0]


async def test_objects_that_no_reply_could_be_tried_for_are_a_warning(tmp_path):
    report = await check(task(tmp_path, lambda item, answer: 0.0, answers=[{"rows": 2}, [["a"], ["b"]]]))
    assert report.passed
    assert "none of them scores 1 as JSON text" in report.warnings[0]


async def test_a_constant_that_wins_is_a_warning(tmp_path):
    report = await check(task(tmp_path, lambda item, answer: item["answer"] == answer))
    assert "always answering 'yes' scores 0.75" in report.warnings[0]
    even = await check(task(tmp_path, lambda item, answer: item["answer"] == answer, answers="abcd"))
    assert not any("always answering" in each for each in even.warnings)


async def test_a_scorer_that_a_list_of_all_answers_wins_is_a_warning(tmp_path):
    report = await check(
        task(tmp_path, lambda item, answer: item["answer"] in answer.split(), answers="abcd")
    )
    assert report.listed_score == 1.0
    assert "lists all right answers scores 1.00" in report.warnings[0]
    whole = await check(task(tmp_path, lambda item, answer: item["answer"] == answer, answers="abcd"))
    assert whole.listed_score == 0.0 and not any("lists all" in each for each in whole.warnings)


async def test_splits_that_are_too_small_are_a_warning(tmp_path):
    items = [{"id": i, "question": f"question {i}", "answer": "abc"[i % 3]} for i in range(20)]
    report = await check(
        from_jsonl(written(tmp_path / "t.jsonl", items), lambda item, answer: answer == item["answer"])
    )
    assert report.passed and report.n == {"feedback": 6, "grade": 6, "test": 8}
    assert [each.split(",")[0] for each in report.warnings] == [
        "6 feedback questions",
        "6 grade questions",
        "8 test questions",
    ]


async def test_lists_and_numbers_have_a_text(tmp_path):
    several = task(tmp_path, lambda item, answer: answer in item["answer"], answers=[["a", "b"]])
    assert {gold_text(question) for question in several.questions("test")} == {"a"}
    assert {gold_text(q) for q in task(tmp_path, max, answers=[4]).questions("test")} == {"4"}


async def test_each_split_without_a_question_is_told_with_what_to_change(tmp_path):
    items = [{"id": i, "question": f"question {i}", "answer": "x"} for i in range(40)]
    file = written(tmp_path / "t.jsonl", items)
    halves = from_jsonl(
        file, lambda item, answer: answer == "x", split={"feedback": 0.5, "grade": 0.5}, name="halves"
    )
    report = await check(halves)
    assert not report.passed
    (fault,) = report.faults
    assert "no test question (found: feedback" in fault and "change its split" in fault
    written(file, items[:1])
    alone = await check(from_jsonl(file, lambda item, answer: answer == "x"))
    assert not alone.passed and len(alone.empty_splits) == 2


async def test_a_seed_that_cannot_be_used_speaks_against_a_task(tmp_path):
    report = await check(task(tmp_path, lambda item, answer: item["answer"] == answer), seed_fault="no nope")
    assert (report.passed, report.faults) == (False, ("no nope",))


async def test_the_same_question_with_different_answers_is_a_contradiction(tmp_path):
    report = await check(asked_again(tmp_path, "a", "b", "a"))
    assert not report.passed
    ((found,), (fault,)) = report.contradictions, report.faults
    assert found.first_id != found.second_id
    assert found.first_id in fault and found.second_id in fault
    assert (await check(asked_again(tmp_path, *map(str, range(30))))).contradictions[1:] == ()


@pytest.mark.parametrize("answers", [("4", "4"), ("4", "4.0"), ("04", "4", "4.00")])
async def test_answers_that_the_scorer_takes_for_each_other_do_not_contradict(tmp_path, answers):
    def scorer(item, answer):
        return answer != "" and float(answer) == float(item["answer"])

    report = await check(asked_again(tmp_path, *answers, scorer=scorer))
    assert report.passed, report.faults


async def test_several_right_answers_do_not_contradict_where_one_is_right_for_all(tmp_path):
    def scorer(item, answer):
        return answer == item["answer"] or answer in list(item["answer"])

    assert (await check(asked_again(tmp_path, ["a", "b"], ["b", "c"], scorer=scorer))).passed
    assert not (await check(asked_again(tmp_path, ["a", "b"], ["a"], ["b"], scorer=scorer))).passed
    assert not (await check(asked_again(tmp_path, ["a", "b"], ["c"], scorer=scorer))).passed


async def test_copies_are_counted_and_do_no_harm(tmp_path):
    report = await check(asked_again(tmp_path, "a", "a", "a"))
    assert (report.passed, report.n_copies) == (True, 2)
    assert "2 questions repeat" in report.warnings[0] and "independent" in report.warnings[0]
    none = await check(task(tmp_path, lambda item, answer: item["answer"] == answer, answers="abcd"))
    assert not any("repeat" in each for each in none.warnings)


def in_worker(tmp_path, body):
    """The task with a scorer that may take 0.3 s."""
    (tmp_path / "s.py").write_text(f"import time\n{body}")
    items = [{"id": str(i), "question": f"question {i}", "answer": str(i)} for i in range(60)]
    spec = WorkerSpec(file=tmp_path / "s.py", function="score", wall_s=0.3)
    card = Card(name="slow", description="")
    return ItemTask(card, by_hash(items, DEFAULT_SHARES), InWorker(spec))


@pytest.mark.parametrize(
    ("does", "detail"),
    [("time.sleep(60)", "scorer_timeout: ran longer"), ("raise KeyError('gold')", "scorer_error: KeyError")],
)
async def test_a_scorer_that_fails_on_right_answers_is_soon_asked_no_more(tmp_path, does, detail):
    told = []
    slow = in_worker(tmp_path, f"def score(item, answer):\n    {does}\n")
    report = await check(slow, told=lambda done, n: told.append((done, n)))
    assert (report.passed, report.n_checked, report.n_right) == (False, 3, 60)
    assert len({wrong.question_id for wrong in report.wrong_gold}) == 3
    assert all(wrong.detail.startswith(detail) for wrong in report.wrong_gold)
    assert "3 of the first 3 right answers" in report.faults[0] and "stopped there" in report.faults[0]
    assert (report.empty_score, report.constant_score) == (None, None)
    assert told == [(1, 121), (2, 121), (3, 121)]


async def test_a_scorer_that_hangs_on_wrong_answers_is_soon_asked_no_more(tmp_path):
    body = "def score(item, answer):\n    answer == item['answer'] or time.sleep(60)\n    return 1.0\n"
    report = await check(in_worker(tmp_path, body))
    assert (report.passed, report.n_checked, report.constant_score) == (True, 60, None)
    assert "the check stopped" in report.warnings[0]


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
        "from loriner.errors import MissingExtra\nfrom loriner.tasks.by_name import open_task\n"
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
        "from loriner.tasks.by_name import known_tasks, open_task\n"
        "print({'broken', 'tiny'} <= set(known_tasks()), open_task('tiny', home=Path()).name)\n"
        "try:\n    open_task('broken', home=Path())\nexcept TaskError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    first, second = done.stdout.splitlines()
    assert first == "True fictional:40:0"
    assert second.startswith("the registered task broken (plugin:broken) does not open: ZeroDivisionError")
