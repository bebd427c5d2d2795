"""Named sets of tasks: the Reasoning Gym suites, each in the canonical and the format-varied setting."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from loriner.errors import TaskError

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

FAMILY_SUITES: Mapping[str, tuple[str, ...]] = {
    "rg-train": TRAIN,
    "rg-train-room": TRAIN_ROOM,
    "rg-unseen": UNSEEN,
    "rg-hard": HARD,
}

SUITES: Mapping[str, tuple[str, ...]] = {
    f"{suite}{setting}": tuple(f"rg:{family}{setting}" for family in families)
    for suite, families in FAMILY_SUITES.items()
    for setting in ("", "+varied")
}
"""Task names of each suite."""


def task_names(name: str) -> tuple[str, ...]:
    """The tasks of a suite; a name that is no suite stands for itself.

    Raises:
        TaskError: a name that reads like a suite's (`rg-...`) but is none.
    """
    if name in SUITES:
        return SUITES[name]
    if name.startswith("rg-"):
        near = difflib.get_close_matches(name, SUITES, 1)
        raise TaskError(
            f"no suite is called {name!r}; "
            + (f"did you mean {near[0]}?" if near else f"expected one of {', '.join(SUITES)}")
        )
    return (name,)
