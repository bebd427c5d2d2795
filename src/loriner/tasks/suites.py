"""Named sets of tasks: the Reasoning Gym suites, each in the canonical and the format-varied setting, and a
person's own."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from loriner.errors import TaskError
from loriner.tasks.multihop.answer_match import DATASETS
from loriner.tasks.varied.task import VARIED

TRAIN = ("codeio", "maze", "rotten_oranges", "simple_geometry", "tower_of_hanoi")
"""The five training families of arXiv 2609.35738."""

HARD = ("ab", "knight_swap", "letter_jumble", "modulo_grid", "sokoban")
"""Its five hard families."""

UNSEEN = (
    "acre",
    "advanced_geometry",
    "arc_1d",
    "bf",
    "caesar_cipher",
    "calendar_arithmetic",
    "coin_flip",
    "color_cube_rotation",
    "cryptarithm",
    "family_relationships",
    "gsm_symbolic",
    "kakurasu",
    "knights_knaves",
    "manipulate_matrix",
    "mini_sudoku",
    "number_sequence",
    "palindrome_partitioning",
    "shortest_path",
    "simple_equations",
    "string_manipulation",
    "zebra_puzzles",
)
"""Our choice of 21: every category, no scorer that runs or overpays answers, none of the families above."""

TRAIN_ROOM = (
    "base_conversion",
    "basic_arithmetic",
    "chain_sum",
    "count_bits",
    "count_primes",
    "decimal_arithmetic",
    "gcd",
    "lcm",
    "leg_counting",
    "letter_counting",
    "number_filtering",
    "number_sorting",
    "products",
    "word_sorting",
)
"""Training families with more room for a small solver, disjoint from all of the above."""

TRAIN_BROAD = (
    "aiw",
    "base_conversion",
    "basic_arithmetic",
    "binary_alternation",
    "bitwise_arithmetic",
    "chain_sum",
    "circuit_logic",
    "count_bits",
    "count_primes",
    "course_schedule",
    "decimal_arithmetic",
    "decimal_chain_sum",
    "emoji_mystery",
    "fraction_simplification",
    "futoshiki",
    "game_of_life",
    "gcd",
    "group_anagrams",
    "isomorphic_strings",
    "lcm",
    "leg_counting",
    "letter_counting",
    "list_functions",
    "mahjong_puzzle",
    "needle_haystack",
    "number_filtering",
    "number_format",
    "number_sorting",
    "palindrome_generation",
    "path_star",
    "polynomial_equations",
    "pool_matrix",
    "power_function",
    "prime_factorization",
    "products",
    "quantum_lock",
    "ransom_note",
    "rearc",
    "rotate_matrix",
    "sentence_reordering",
    "sudoku",
    "survo",
    "syllogism",
    "tsumego",
    "word_ladder",
    "word_sequence_reversal",
    "word_sorting",
)
"""All training families, `TRAIN_ROOM` among them: every usable one that no other suite holds, but for
`RESERVED`, for arc_agi, whose questions are too long for a small solver, and for string_splitting and
string_synthesis, which have too few distinct questions to fill the training splits.
"""

RESERVED = (
    "dice",
    "figlet_font",
    "jugs",
    "largest_island",
    "rectangle_count",
    "self_reference",
    "time_intervals",
)
"""Held back for a later check of what was trained: no suite holds one, and nothing is tuned on them."""

FAMILY_SUITES: Mapping[str, tuple[str, ...]] = {
    "rg-train": TRAIN,
    "rg-train-room": TRAIN_ROOM,
    "rg-train-broad": TRAIN_BROAD,
    "rg-unseen": UNSEEN,
    "rg-hard": HARD,
}

SUITES: Mapping[str, tuple[str, ...]] = {
    f"{suite}{setting}": tuple(f"rg:{family}{setting}" for family in families)
    for suite, families in FAMILY_SUITES.items()
    for setting in ("", VARIED)
}
"""Task names of each suite."""


Own = Mapping[str, Sequence[str]]
"""A person's own suites: names of tasks, or of the suites above, by the suite's name."""


def task_names(name: str, own: Own = MappingProxyType({})) -> tuple[str, ...]:
    """The tasks of a suite, an own one or one of the above; a name that is no suite stands for itself.

    Raises:
        TaskError: a name that reads like a suite's (`rg-...`) but is none.
    """
    if name in own:  # a suite that holds itself ends here, as a name that no task has
        return spelt_out(own[name], {each: own[each] for each in own if each != name})
    if name in SUITES:
        return SUITES[name]
    if name.startswith("rg-"):
        near = difflib.get_close_matches(name, [*own, *SUITES], 1)
        raise TaskError(
            f"no suite is called {name!r}; "
            + (f"did you mean {near[0]}?" if near else f"expected one of {', '.join([*own, *SUITES])}")
        )
    return (name,)


def spelt_out(names: Iterable[str], own: Own = MappingProxyType({})) -> tuple[str, ...]:
    """The tasks that the names stand for, suites spelt out, each once.

    Raises:
        TaskError: as `task_names`.
    """
    return tuple(dict.fromkeys(task for name in names for task in task_names(name, own)))


def families_of(tasks: Iterable[str]) -> tuple[str, ...]:
    """The Reasoning Gym families that the tasks take their questions from, each once."""
    names = (task.removeprefix("rg:") for task in tasks if task.startswith("rg:"))
    return tuple(dict.fromkeys(name.partition(":")[0].partition("+")[0] for name in names))


def split_names(text: str) -> tuple[str, ...]:
    """The names in a text with commas between them. The comma of `musique:FILE,CORPUS` parts no names."""
    names: list[str] = []
    for part in filter(None, map(str.strip, text.split(","))):
        if names and _wants_corpus(names[-1]) and Path(part.partition(":")[0]).is_file():
            names[-1] += f",{part}"
        else:
            names.append(part)
    return tuple(names)


def _wants_corpus(name: str) -> bool:
    return name.partition(":")[0] in DATASETS and "," not in name
