"""What is known of the Reasoning Gym families (0.1.25) without importing the library.

Measured on 100 items a family; docs/tasks.md says how each fact is handled.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from loriner.errors import TaskError

_NAMES = """
ab acre advanced_geometry aiw arc_1d arc_agi base_conversion basic_arithmetic bf binary_alternation
binary_matrix bitwise_arithmetic boxnet caesar_cipher calendar_arithmetic chain_sum circuit_logic codeio
coin_flip color_cube_rotation complex_arithmetic count_bits count_primes countdown course_schedule
cryptarithm decimal_arithmetic decimal_chain_sum dice emoji_mystery family_relationships figlet_font
fraction_simplification futoshiki game_of_life game_of_life_halting gcd graph_color group_anagrams
gsm_symbolic intermediate_integration isomorphic_strings jugs kakurasu knight_swap knights_knaves
largest_island lcm leg_counting letter_counting letter_jumble list_functions mahjong_puzzle
manipulate_matrix maze mini_sudoku modulo_grid n_queens needle_haystack number_filtering number_format
number_sequence number_sorting palindrome_generation palindrome_partitioning path_star
polynomial_equations polynomial_multiplication pool_matrix power_function prime_factorization products
propositional_logic puzzle24 quantum_lock ransom_note rearc rectangle_count rotate_matrix rotten_oranges
rubiks_cube rush_hour self_reference sentence_reordering shortest_path simple_equations simple_geometry
simple_integration sokoban spell_backward spiral_matrix string_insertion string_manipulation
string_splitting string_synthesis sudoku survo syllogism time_intervals tower_of_hanoi tsumego
word_ladder word_sequence_reversal word_sorting zebra_puzzles
"""


FAMILIES = tuple(_NAMES.split())
"""Sorted. A family's place here enters its seeds, so the order is fixed for good."""

WITHOUT_GOLD = frozenset({"boxnet", "graph_color", "propositional_logic", "rubiks_cube", "rush_hour"})
"""Their items hold no right answer, so neither `tasks check` nor a proposer's feedback is possible."""

WON_BY_WRONG_ANSWERS: Mapping[str, str] = {
    "complex_arithmetic": "the answer 'nan' scores 1.0",
    "game_of_life_halting": "any non-empty answer scores 1.0",
    "spell_backward": "a right beginning with any ending can score 1.0",
}

RUNS_ANSWERS = frozenset(
    {
        "binary_matrix",
        "countdown",
        "intermediate_integration",
        "n_queens",
        "polynomial_multiplication",
        "puzzle24",
        "simple_integration",
        "spiral_matrix",
        "string_insertion",
    }
)
"""Their scorers run the answer as Python code (`eval`, or sympy's parser)."""

SETTINGS: Mapping[str, Mapping[str, int]] = {"tower_of_hanoi": {"max_pegs": 7}}
"""Wider than the library's defaults where those allow too few questions: 90 for tower_of_hanoi, here 550."""

_FEW = {"futoshiki": 20, "knight_swap": 20}
"""Items take a quarter of a second each."""

DEFAULT_N = 64


def default_n(family: str) -> int:
    """How many questions a split of the family has, unless told otherwise."""
    return _FEW.get(family, DEFAULT_N)


def check_family(family: str, *, anyway: bool = False) -> None:
    """Passes a family that can be used.

    Raises:
        TaskError: it is unknown, has no right answers, or is won by wrong ones (`anyway` lets the last pass).
    """
    if family not in FAMILIES:
        near = difflib.get_close_matches(family, FAMILIES, 3)
        hint = f"did you mean {', '.join(near)}?" if near else "`loriner tasks list` names them"
        raise TaskError(f"no Reasoning Gym family is called {family!r}; {hint}")
    if family in WITHOUT_GOLD:
        raise TaskError(f"rg:{family} cannot be used: its items hold no right answer to check against")
    if family in WON_BY_WRONG_ANSWERS and not anyway:
        reason = WON_BY_WRONG_ANSWERS[family]
        raise TaskError(f"rg:{family} is not used: {reason}; rg:{family}:anyway uses it all the same")
