"""The checkpoint that reinforcement learning starts from: the last with room to learn, by what it samples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from sums import CRASH, EMPTY, GOOD, HALF, edit, exercise

from loriner.errors import ConfigError
from loriner.train.choosing import Variety, best, choose, look, without_held_out
from loriner.train.exercise import Exercise
from loriner.train.settings import SftTable

EXERCISES = [exercise(number=0), exercise(number=1)]
FOUR = (edit(GOOD), edit(HALF), edit(EMPTY), edit(CRASH))
WRITES = {1: FOUR[:1] * 4, 2: FOUR, 3: (*FOUR[:2], edit(GOOD), edit(GOOD)), 4: ("prose",) * 4}
"""What the checkpoint of an update writes in each context."""
TABLE = SftTable(samples=4, min_distinct=2, min_valid=0.6)


def variety(update: int, distinct: float, valid: float) -> Variety:
    return Variety(update=update, n_contexts=2, n_samples=8, valid=valid, distinct=distinct, invalid={})


def scripted(checkpoint: Path, exercises: Sequence[Exercise], n: int) -> list[list[str]]:
    return [list(WRITES[int(checkpoint.name)][:n])] * len(exercises)


@pytest.mark.parametrize(
    ("found", "update", "why"),
    [
        ([(1, 6.0, 0.7), (2, 4.0, 0.6), (3, 3.9, 0.9)], 2, "the last with at least 4 programs and 60% valid"),
        ([(1, 5.0, 0.5), (2, 3.0, 0.9)], 1, "none of 2 has 4 programs and 60% valid; this has the most"),
        ([(1, 2.0, 0.5), (2, 2.0, 0.5)], 2, "none of 2"),
    ],
)
def test_the_last_with_enough_of_both_or_the_one_with_most_programs(
    found: list[tuple[int, float, float]], update: int, why: str
) -> None:
    chosen, words = best([variety(*each) for each in found], SftTable())
    assert chosen.update == update
    assert words.startswith(f"update {update}: {chosen.distinct:.1f} different programs of 8, ")
    assert why in words


def test_a_checkpoint_is_known_by_the_different_valid_programs_of_a_context() -> None:
    found, lines = look(7, EXERCISES, [[*FOUR, "prose"], [FOUR[0]] * 4 + ["<<<<<<< SEARCH\n"]])
    assert (found.update, found.n_contexts, found.n_samples) == (7, 2, 5)
    assert found.valid == 0.8 and found.distinct == 2.5
    assert sum(found.invalid.values()) == 2
    assert [each["code"] == "" for each in lines] == [True] * 4 + [False] + [True] * 4 + [False]
    assert len({each["candidate"] for each in lines if each["candidate"]}) == 4


def test_every_checkpoint_is_in_the_table_with_what_it_wrote(tmp_path: Path) -> None:
    said: list[str] = []
    saved = [(update, tmp_path / str(update)) for update in WRITES]
    assert choose(saved, EXERCISES, scripted, TABLE, tmp_path, said.append).name == "3"
    rows = [json.loads(line) for line in (tmp_path / "checkpoints.jsonl").read_text().splitlines()]
    assert [(each["update"], each["distinct"], each["valid"]) for each in rows] == [
        (1, 1, 1), (2, 4, 1), (3, 2, 1), (4, 0, 0),
    ]  # fmt: skip
    assert [each["chosen"] for each in rows] == [False, False, True, False]
    assert len((tmp_path / "samples.jsonl").read_text().splitlines()) == 4 * 2 * 4
    assert said[-1].startswith("the model is that of update 3: 2.0 different programs of 4, 100% valid")


def test_no_checkpoint_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no checkpoint in .*run train sft first"):
        choose([], EXERCISES, scripted, TABLE, tmp_path, print)


def test_rows_of_held_out_families_are_left_out_in_both_settings() -> None:
    rows = [{"task": "sums"}, {"task": "sums+varied"}, {"task": "rg:gcd"}, {}]
    assert without_held_out(rows, EXERCISES) == ([{"task": "rg:gcd"}, {}], 2)
