"""Right answers of Reasoning Gym that can be decided, decided again by solvers of our own."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loriner.tasks.base import SPLITS
from loriner.tasks.reasoning_gym.task import open_family

pytest.importorskip("reasoning_gym")
pytestmark = pytest.mark.xdist_group("reasoning-gym")

Statement = tuple[str, str, str, str]
"""Quantifier, subject, `not ` or nothing, predicate."""
World = tuple[frozenset[str], ...]
"""The kinds of things that there are, each by the terms that it falls under."""
STATEMENT = re.compile(r"^(?:\d\. )?(All|No|Some) (\w+) are (not )?(\w+)\??$", re.MULTILINE)


def worlds(terms: set[str]) -> Iterator[World]:
    """All worlds in which there is something under each term."""
    kinds = [frozenset(each) for n in range(4) for each in itertools.combinations(sorted(terms), n)]
    for n in range(len(kinds) + 1):
        for world in itertools.combinations(kinds, n):
            if terms == frozenset().union(*world):
                yield world


def holds(statement: Statement, world: World) -> bool:
    quantifier, subject, denied, predicate = statement
    inside = any({subject, predicate} <= each for each in world)
    outside = any(subject in each and predicate not in each for each in world)
    return {"All": not outside, "No": not inside, "Some": outside if denied else inside}[quantifier]


def syllogism(text: str) -> str:
    """Whether the conclusion holds in every world in which both premises do."""
    first, second, conclusion = STATEMENT.findall(text)
    terms = {term for each in (first, second, conclusion) for term in (each[1], each[3])}
    follows = all(
        holds(conclusion, each) for each in worlds(terms) if holds(first, each) and holds(second, each)
    )
    return "Yes" if follows else "No"


def course_schedule(text: str) -> str:
    needed = set(re.findall(r"\((\d+), (\d+)\)", text))
    while free := {each for each in needed if each[1] not in {course for course, _ in needed}}:
        needed -= free
    return str(not needed)


def isomorphic_strings(text: str) -> str:
    first, second = text.strip().splitlines()[-1].split()
    pairs = set(zip(first, second, strict=True))
    return str(len(pairs) == len(set(first)) == len(set(second)))


def ransom_note(text: str) -> str:
    note, magazine = re.findall(r"^(?:Ransom note|Magazine): (\w*)", text, re.MULTILINE)
    return str(not Counter(note) - Counter(magazine))


def count_primes(text: str) -> str:
    first, last = map(int, re.findall(r"\d+", text))
    numbers = range(max(first, 2), last + 1)
    return str(sum(all(n % d for d in range(2, math.isqrt(n) + 1)) for n in numbers))


def binary_alternation(text: str) -> str:
    given = text.split()[-1]
    wanted = [("01" * len(given))[start : start + len(given)] for start in (0, 1)]
    fitting = [each for each in wanted if each.count("1") == given.count("1")]
    swaps = [sum(a != b for a, b in zip(given, each, strict=True)) // 2 for each in fitting]
    return str(min(swaps, default=-1))


NONE = {"feedback": 0, "grade": 0, "test": 0}
SOLVERS = (course_schedule, isomorphic_strings, ransom_note, count_primes, binary_alternation)


@pytest.mark.parametrize(
    ("solver", "wrong"),
    [(syllogism, {"feedback": 4, "grade": 12, "test": 4}), *((each, NONE) for each in SOLVERS)],
)
def test_wrong_right_answers_are_as_many_as_the_docs_say(
    tmp_path: Path, solver: Callable[[str], str], wrong: dict[str, int]
) -> None:
    task = open_family(solver.__name__, home=tmp_path)
    asked = {split: task.questions(split) for split in SPLITS}
    found = {split: [each for each in asked[split] if solver(each.text) != each.target] for split in SPLITS}
    assert {split: len(questions) for split, questions in found.items()} == wrong
    assert {each.target for questions in found.values() for each in questions} <= {"Yes"}


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        ("1. All dogs are animals\n2. All animals are mortals\nAll dogs are mortals?", "Yes"),
        ("1. All dogs are animals\n2. Some animals are cats\nSome dogs are cats?", "No"),
        ("1. All dogs are animals\n2. Some animals are cats\nSome animals are dogs?", "Yes"),
        ("1. No dogs are cats\n2. Some birds are cats\nSome birds are not dogs?", "Yes"),
        ("1. Some dogs are not cats\n2. All dogs are animals\nSome animals are not cats?", "Yes"),
        ("1. Some dogs are not cats\n2. All dogs are animals\nSome cats are not dogs?", "No"),
    ],
)
def test_the_solver_of_syllogisms(lines: str, answer: str) -> None:
    assert syllogism(lines) == answer
