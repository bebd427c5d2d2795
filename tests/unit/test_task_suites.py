"""Suites and the scaffold of a new task."""

from __future__ import annotations

import itertools

import pytest

from loriner.errors import TaskError
from loriner.tasks.base import SPLITS
from loriner.tasks.by_name import open_task
from loriner.tasks.check import check
from loriner.tasks.reasoning_gym.families import FAMILIES, RUNS_ANSWERS, WITHOUT_GOLD, WON_BY_WRONG_ANSWERS
from loriner.tasks.scaffold import KINDS, scaffold
from loriner.tasks.suites import (
    FAMILY_SUITES,
    RESERVED,
    SUITES,
    families_of,
    spelt_out,
    split_names,
    task_names,
)


def test_suites_have_their_sizes_and_share_no_family():
    assert {name: len(families) for name, families in FAMILY_SUITES.items()} == {
        "rg-train": 5,
        "rg-train-room": 14,
        "rg-train-broad": 47,
        "rg-unseen": 21,
        "rg-hard": 5,
    }
    assert set(FAMILY_SUITES["rg-train-room"]) <= set(FAMILY_SUITES["rg-train-broad"])
    apart = [set(families) for name, families in FAMILY_SUITES.items() if name != "rg-train-room"]
    for one, other in itertools.combinations([*apart, set(RESERVED)], 2):
        assert not one & other


def test_no_suite_holds_a_family_with_a_scorer_that_cannot_be_trusted():
    held = {family for families in FAMILY_SUITES.values() for family in families}
    assert held <= set(FAMILIES)
    assert not held & (RUNS_ANSWERS | WITHOUT_GOLD | set(WON_BY_WRONG_ANSWERS))


def test_a_suite_stands_for_its_tasks_in_either_setting():
    assert task_names("rg-hard")[0] == "rg:ab"
    assert task_names("rg-hard+varied")[0] == "rg:ab+varied"
    assert task_names("rg:ab") == ("rg:ab",)
    assert len(SUITES) == 10
    with pytest.raises(TaskError, match="did you mean rg-unseen"):
        task_names("rg-unsen")


def test_own_suites_hold_tasks_and_suites():
    own = {"mine": ["rg-hard", "rg:ab", "tasks/x"], "round": ["round", "mine"], "rg-own": ["rg:gcd"]}
    assert spelt_out(["mine", "rg:gcd"], own) == (*SUITES["rg-hard"], "tasks/x", "rg:gcd")
    assert task_names("round", own) == ("round", *SUITES["rg-hard"], "tasks/x")
    assert task_names("rg-own", own) == ("rg:gcd",)
    with pytest.raises(TaskError, match="did you mean rg-own"):
        task_names("rg-ow", own)


def test_families_are_those_behind_settings_and_marks():
    assert families_of(["rg:ab+varied", "rg:ab:strict", "fictional", "rg:gcd"]) == ("ab", "gcd")


def test_a_corpus_stays_with_its_questions(tmp_path):
    file = tmp_path / "corpus.jsonl"
    file.write_text("{}")
    with_corpus = f"musique:q.jsonl,{file}:train"
    assert split_names(f"rg:ab, {with_corpus},fictional,") == ("rg:ab", with_corpus, "fictional")
    assert split_names("musique:a.jsonl,hotpotqa:b.jsonl") == ("musique:a.jsonl", "hotpotqa:b.jsonl")
    assert split_names("tasks/x,tasks/y") == ("tasks/x", "tasks/y")


def test_a_suite_is_no_task(tmp_path):
    with pytest.raises(TaskError, match="a suite of 21 tasks, not a task; one is rg:acre"):
        open_task("rg-unseen", home=tmp_path)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_scaffold_runs_as_it_is(tmp_path, kind):
    folder = scaffold(tmp_path / "tasks" / "mine", "mine", kind)
    task = open_task(str(folder), home=tmp_path)
    assert task.name == "mine"
    assert [len(task.questions(split)) for split in SPLITS] == [5, 6, 5]
    if kind == "search":
        found = await task.tools["search"](query="When does it open on Saturdays?", k=2)
        assert (len(found), found[0]["title"]) == (2, "Opening hours")
    report = await check(task)
    assert report.passed, report.faults
    assert report.n_checked == 16


async def test_a_table_becomes_a_task(tmp_path):
    rows = "Text,category,split\n" + "".join(f'"message {i}, really",{"ab"[i % 2]},\n' for i in range(20))
    (tmp_path / "t.csv").write_text(rows + '"sealed\none",a,test\n')
    folder = scaffold(tmp_path / "mine", "mine", "classify", tmp_path / "t.csv")
    task = open_task(str(folder), home=tmp_path)
    assert "one label: a, b" in task.description
    assert "sealed\none" in {question.text for question in task.questions("test")}
    assert sum(len(task.questions(split)) for split in SPLITS) == 21
    assert (await check(task)).passed


async def test_the_only_column_beside_the_question_is_the_answer_whatever_its_name(tmp_path):
    rows = "".join(f"r{i},m {i},d{i % 2}\n" for i in range(20))
    (tmp_path / "t.csv").write_text(f"id,message,desk\n{rows}")
    folder = scaffold(tmp_path / "mine", "mine", "classify", tmp_path / "t.csv")
    assert "one label: d0, d1" in open_task(str(folder), home=tmp_path).description


async def test_further_columns_are_the_fields_of_an_object(tmp_path):
    (tmp_path / "t.csv").write_text(
        "id;body;total;currency\n" + "".join(f"r{i};pay {i};{i};EUR\n" for i in range(20))
    )
    folder = scaffold(tmp_path / "mine", "mine", "extract", tmp_path / "t.csv")
    task = open_task(str(folder), home=tmp_path)
    assert {"total": "3", "currency": "EUR"} in [q.target for split in SPLITS for q in task.questions(split)]
    assert "keys total, currency" in task.description
    assert (await check(task)).passed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no row"),
        ("question,answer\n", "has no row"),
        ("a,b\n1,2\n", "no column for what is asked: expected one called question, text.*found a, b"),
        ("question,b,c\n1,2,3\n", "no column for the right answer.*found b, c"),
        ("question\n1\n", "no column for the right answer.*found none"),
        ("question,answer\nx,\n", "row 1: the column 'answer' is empty"),
        ("question,answer\n ,y\n", "row 1: the column 'question' is empty"),
        ("question,answer\nx\n", "row 1: the column 'answer' is empty"),
        ("question,answer\nHello, twice,a\n", "row 1 has 3 fields, the header 2: put quotes"),
        ("question,answer,answer\nx,y,z\n", "the column 'answer' more than once"),
    ],
)
def test_a_table_that_holds_no_items_is_refused(tmp_path, text, words):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(TaskError, match=words):
        scaffold(tmp_path / "mine", "mine", "qa", tmp_path / "t.csv")
    assert not (tmp_path / "mine").exists()


def test_a_scaffold_overwrites_nothing(tmp_path):
    folder = scaffold(tmp_path / "mine", "mine")
    for taken in (folder, folder / "score.py"):
        with pytest.raises(TaskError, match="is there already"):
            scaffold(taken, "mine")
    for name in ("", "a b", "../x", '"', "-x"):
        with pytest.raises(TaskError, match="cannot name a task"):
            scaffold(tmp_path / "other", name)
