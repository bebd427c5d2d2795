"""Reasoning Gym families: frozen alike everywhere, split without overlap, scored without trust."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import pytest

from loriner.errors import TaskError
from loriner.tasks.base import SPLITS, Task
from loriner.tasks.by_name import known_tasks, open_task
from loriner.tasks.check import check
from loriner.tasks.reasoning_gym.families import FAMILIES, RUNS_ANSWERS, WITHOUT_GOLD, WON_BY_WRONG_ANSWERS
from loriner.tasks.reasoning_gym.frozen import FROZEN_SPLITS, first_seed, freeze, read_frozen
from loriner.tasks.reasoning_gym.task import ADAPTING, TRAINING, open_family
from loriner.train.suites import in_settings, open_suite

pytest.importorskip("reasoning_gym")


UNSTEADY = ("codeio", "list_functions", "maze", "isomorphic_strings", "gsm_symbolic", "acre")
"""Items vary with global generators, threads, the hash seed or the size asked for."""

JUNK = {
    "prime_factorization": "the primes are many",
    "game_of_life": "{}",
    "coin_flip": "1e400",
    "pool_matrix": "[[1, 2], [3]]",
    "tsumego": "Z99",
    "color_cube_rotation": "\x00",
    "polynomial_equations": "inf",
    "word_sorting": "x" * 30_000,
}

RUN = sorted(RUNS_ANSWERS)[:3]

pytestmark = pytest.mark.xdist_group("reasoning-gym")


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A home where the families of this file are frozen, all by one process."""
    home = tmp_path_factory.mktemp("home")
    freeze([*JUNK, *RUN, "count_primes", "mini_sudoku"], home, splits=ADAPTING.values(), n=4)
    return home


def questions(home: Path, family: str, n: int) -> dict[str, list[str]]:
    frozen = freeze([family], home, n=n)
    return {each.split: [item["question"] for item in read_frozen(each)] for each in frozen}


async def test_a_family_is_a_task(home):
    task: Task = open_family("count_primes", home=home, n=4)
    assert task.name == "rg:count_primes"
    assert [len(task.questions(split)) for split in SPLITS] == [4, 4, 4]
    question = task.questions("test")[0]
    assert (await task.score(question, f" {question.target}\r\n")).value == 1.0
    near = await task.score(question, f"{question.target}.")
    assert 0 < near.value < 1
    assert near.extra == {"partial": near.value, "strict": 0.0}
    report = await check(task, limit=4)
    assert report.passed
    assert (report.n_checked, report.empty_score) == (12, 0.0)
    await task.close()


async def test_strict_pays_for_right_answers_only(home):
    task = open_family("count_primes", home=home, n=4, strict=True)
    question = task.questions("test")[0]
    assert (await task.score(question, question.target)).value == 1.0
    near = await task.score(question, f"{question.target}.")
    assert near.value == 0.0
    assert near.extra["partial"] > 0
    await task.close()


def test_no_question_is_in_two_splits_where_the_space_is_small(home):
    """openai/procgen 100: disjoint seeds do not make disjoint levels."""
    splits = questions(home, "coin_flip", 50)
    everything = [text for texts in splits.values() for text in texts]
    assert len(set(everything)) == len(everything)
    assert [len(splits[split]) for split in FROZEN_SPLITS[:4]] == [50, 50, 50, 50]
    assert len(splits["sft"]) < 50


def test_tower_of_hanoi_has_enough_questions_for_training(home):
    assert {len(texts) for texts in questions(home, "tower_of_hanoi", 40).values()} == {40}


def test_seeds_are_far_apart_and_fit_numpy():
    for family in FAMILIES:
        seeds = sorted(first_seed(family, split) for split in FROZEN_SPLITS)
        assert {b - a for a, b in itertools.pairwise(seeds)} == {100_000_000}
        assert seeds[-1] + 1000 < 2**32
    assert len(FAMILIES) == 105
    assert list(FAMILIES) == sorted(FAMILIES)


def test_a_function_of_codeio_is_in_one_split_only(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = {
        split: {text.rpartition("Here is a reference code snippet")[2] for text in texts}
        for split, texts in questions(home, "codeio", 8).items()
    }
    assert sum(len(each) for each in code.values()) == len(set.union(*code.values()))
    assert not list(tmp_path.iterdir()), "code samples write files: not here"


def test_items_are_the_same_when_made_again(tmp_path, monkeypatch):
    """open-thought/reasoning-gym 58: the same items for the same seed, on any hash seed, in any company."""
    first = freeze(UNSTEADY, tmp_path / "a", splits=["test", "tt_grade"], n=5)
    monkeypatch.setenv("PYTHONHASHSEED", "77")
    again = freeze(reversed(UNSTEADY), tmp_path / "b", splits=["test", "tt_grade"], n=5)
    content = [{(f.family, f.split): f.file.read_bytes() for f in made} for made in (first, again)]
    assert len(content[0]) == 12
    assert content[0] == content[1]


def test_items_do_not_depend_on_what_else_is_installed(tmp_path, monkeypatch):
    """Some code samples of codeio import scipy: with it they run, without it they do not."""
    scipy = tmp_path / "packages" / "scipy"
    scipy.mkdir(parents=True)
    (scipy / "__init__.py").touch()
    (scipy / "special.py").write_text("from math import comb\n", encoding="utf-8")
    (scipy / "constants.py").write_text("c, g, pi, G, R = 3e8, 9.8, 3.14, 6.7e-11, 8.3\n", encoding="utf-8")
    without = freeze(["codeio"], tmp_path / "without", splits=["tt_grade"], n=5)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"), prepend=os.pathsep)
    with_it = freeze(["codeio"], tmp_path / "with", splits=["tt_grade"], n=5)
    assert with_it[0].file.read_bytes() == without[0].file.read_bytes()


def test_splits_made_later_are_those_made_at_once(home, tmp_path):
    freeze(["number_sequence"], tmp_path, splits=["test"], n=10)
    later = freeze(["number_sequence"], tmp_path, n=10)
    at_once = freeze(["number_sequence"], home, n=10)
    assert [(f.split, f.digest) for f in later] == [(f.split, f.digest) for f in at_once]


def test_changed_items_are_refused(tmp_path):
    (frozen,) = freeze(["gcd"], tmp_path, splits=["test"], n=4)
    frozen.file.write_text(frozen.file.read_text().replace('"answer": "', '"answer": "9'))
    with pytest.raises(TaskError, match="is not what was frozen; delete"):
        open_family("gcd", home=tmp_path, n=4)


def test_training_uses_other_splits_than_adapting(home):
    adapting = open_family("count_primes", home=home, n=4)
    training = open_family("count_primes", home=home, n=4, roles=TRAINING)
    texts = [{q.text for q in task.questions(split)} for task in (adapting, training) for split in SPLITS]
    assert len(set.union(*texts)) == 24


def test_a_training_suite_opens_its_own_splits_whatever_marks_a_name_has(home):
    names, settings = ["rg:gcd:strict", "rg:gcd+varied:strict", "rg:gcd"], ["canonical", "varied"]
    opened = open_suite(names, settings, home=home, training=True)
    assert sorted(opened) == ["rg:gcd", "rg:gcd+varied", "rg:gcd+varied:strict", "rg:gcd:strict"]
    assert {task.questions("grade")[0].id for task in opened.values()} == {"gcd/rl_grade/0000"}
    compared = open_suite(names, settings, home=home, training=False)
    assert {task.questions("grade")[0].id for task in compared.values()} == {"gcd/tt_grade/0000"}


def test_only_families_have_a_varied_setting():
    assert in_settings(["rg:gcd:strict"], ["varied"]) == ("rg:gcd+varied:strict",)
    assert in_settings(["rg:gcd+varied", "rg:gcd"], ["canonical", "varied"]) == ("rg:gcd+varied", "rg:gcd")
    with pytest.raises(TaskError, match="sums: only Reasoning Gym families"):
        in_settings(["sums"], ["canonical", "varied"])


@pytest.mark.parametrize("family", sorted(WITHOUT_GOLD))
def test_families_without_right_answers_are_refused(home, family):
    with pytest.raises(TaskError, match="hold no right answer"):
        open_task(f"rg:{family}:anyway", home=home)


async def test_families_won_by_wrong_answers_are_refused_unless_asked_for(home):
    for family, reason in WON_BY_WRONG_ANSWERS.items():
        with pytest.raises(TaskError, match=reason):
            open_task(f"rg:{family}", home=home)
    task = open_family("spell_backward", home=home, anyway=True, n=20)
    for question in task.questions("test"):
        assert (await task.score(question, question.target + "zzz")).extra["strict"] == 0.0
    await task.close()


@pytest.mark.parametrize("family", RUN)
async def test_an_answer_that_is_run_touches_nothing(home, tmp_path, family):
    """scitix/sieval 77: a scorer evaluated the model's answer."""
    task = open_family(family, home=home, n=4)
    question = task.questions("test")[0]
    target = tmp_path / "made_by_the_answer"
    attacks = [
        f"__import__('pathlib').Path({str(target)!r}).write_text('x')",
        f"__import__('os').system('touch {target}')",
        f"[__import__('subprocess').run(['touch', {str(target)!r}])]",
        "9**9**9",
    ]
    for attack in attacks:
        assert (await task.score(question, attack)).value < 1.0
    assert not target.exists()
    assert (await task.score(question, question.target)).value == 1.0
    await task.close()


@pytest.mark.parametrize(("family", "junk"), JUNK.items())
async def test_junk_scores_little_and_stops_nothing(home, family, junk):
    """open-thought/reasoning-gym PR 420, PR 215, PR 232, PR 219: scorers that raise or break on replies."""
    task = open_family(family, home=home, n=4)
    question = task.questions("test")[0]
    assert (await task.score(question, junk)).value <= 0.1
    assert (await task.score(question, "   ")).value == 0.0
    assert (await task.score(question, question.target)).value == 1.0
    await task.close()


async def test_a_line_break_costs_nothing(home):
    """open-thought/reasoning-gym PR 129: a right grid with a trailing line break got half."""
    task = open_family("mini_sudoku", home=home, n=4)
    for question in task.questions("test"):
        assert (await task.score(question, f"\n{question.target}\r\n")).value == 1.0
    await task.close()


async def test_all_dead_boards_are_told_apart_by_the_strict_score(home):
    task = open_family("game_of_life", home=home, n=4)
    question = task.questions("test")[0]
    board = json.loads(question.target)
    score = await task.score(question, json.dumps([[0] * len(row) for row in board]))
    assert score.value < 1.0
    assert score.extra["strict"] == 0.0
    await task.close()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rg:count_prime", "count_primes"),
        ("count_primes", "did you mean rg:count_primes"),
        ("rg:count_primes:lenient", "no mark is called 'lenient'"),
        ("no_such_thing_at_all", "tasks list"),
        ("rg:composite", "no Reasoning Gym family"),
    ],
)
def test_unknown_names_get_the_nearest(home, name, words):
    with pytest.raises(TaskError, match=words):
        open_task(name, home=home)


def test_every_known_name_is_a_usable_family():
    names = [name for name in known_tasks() if name.startswith("rg:")]
    assert len(names) == len(FAMILIES) - len(WITHOUT_GOLD) == 100
