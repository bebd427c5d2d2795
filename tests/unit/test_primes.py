"""The task of the demo: it ships with the package, needs no further library, and its answers are right."""

from __future__ import annotations

import re
from pathlib import Path

from loriner.tasks.base import SPLITS
from loriner.tasks.by_name import known_tasks, open_task
from loriner.tasks.check import check


def is_prime(n: int) -> bool:
    return n > 1 and all(n % k for k in range(2, int(n**0.5) + 1))


async def test_it_is_sound(tmp_path: Path) -> None:
    assert "primes" in known_tasks()
    found = await check(open_task("primes", home=tmp_path))
    assert found.passed and found.warnings == ()
    assert found.n == {"feedback": 32, "grade": 48, "test": 48}


async def test_its_answers_are_the_numbers_of_primes(tmp_path: Path) -> None:
    task = open_task("primes", home=tmp_path)
    for split in SPLITS:
        for question in task.questions(split)[::8]:
            first, last = map(int, re.findall(r"\d+", question.text))
            assert question.target == str(sum(map(is_prime, range(first, last + 1))))
    await task.close()
