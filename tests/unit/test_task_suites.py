"""Suites and the scaffold of a new task."""

from __future__ import annotations

import itertools

import pytest

from loriner.errors import TaskError
from loriner.tasks.base import SPLITS
from loriner.tasks.check import check
from loriner.tasks.families import FAMILIES, RUNS_ANSWERS, WITHOUT_GOLD, WON_BY_WRONG_ANSWERS
from loriner.tasks.named import open_task
from loriner.tasks.scaffold import scaffold
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


async def test_a_scaffold_runs_as_it_is(tmp_path):
    folder = scaffold(tmp_path / "tasks" / "mine", "mine")
    task = open_task(str(folder), home=tmp_path)
    assert task.name == "mine"
    assert all(len(task.questions(split)) >= 2 for split in SPLITS)
    report = await check(task)
    assert report.passed
    assert report.n_checked == 16


def test_a_scaffold_overwrites_nothing(tmp_path):
    folder = scaffold(tmp_path / "mine", "mine")
    for taken in (folder, folder / "score.py"):
        with pytest.raises(TaskError, match="is there already"):
            scaffold(taken, "mine")
    for name in ("", "a b", "../x", '"', "-x"):
        with pytest.raises(TaskError, match="cannot name a task"):
            scaffold(tmp_path / "other", name)
