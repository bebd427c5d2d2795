"""Laws of the choice of the program that a round revises."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from loriner.records import Harness, PastRevision
from loriner.search.tree import Tree

SEED = Harness("def solve(model, question):\n    return ''\n")


def program(number: int) -> Harness:
    return Harness(f"VERSION = {number}\n\n{SEED.source}")


def step(number: int) -> PastRevision:
    return PastRevision(round=number, summary=f"step {number}", before=0.0, after=0.0, accepted=False)


def grown(parents: list[int]) -> Tree:
    """A tree in which program n + 1 revises the program of the number that stands at place n."""
    tree = Tree.of(SEED)
    programs = [SEED]
    for number, parent in enumerate(parents, 1):
        programs.append(program(number))
        tree.add(programs[parent % number].id, step(number), programs[number])
    return tree


parents = st.lists(st.integers(0, 5), max_size=6)


@given(parents, st.integers(1, 30))
def test_equal_programs_are_revised_in_turn(drawn: list[int], rounds: int) -> None:
    tree = grown(drawn)
    for _ in range(rounds):
        tree.revised(tree.pick(lambda harness: 0.5).harness.id)
    counts = [each.n_rounds for each in tree.nodes.values()]
    assert sum(counts) == rounds and max(counts) - min(counts) <= 1


@given(parents, st.lists(st.floats(0.3, 0.7), min_size=7, max_size=7))
def test_the_best_is_revised_first_and_every_one_in_the_end(drawn: list[int], scores: list[float]) -> None:
    tree = grown(drawn)
    by_id = dict(zip(tree.nodes, scores, strict=False))
    picked = [tree.pick(lambda harness: by_id[harness.id]).harness.id]
    assert by_id[picked[0]] == max(by_id.values())
    for _ in range(400):
        tree.revised(picked[-1])
        picked.append(tree.pick(lambda harness: by_id[harness.id]).harness.id)
    assert set(picked) == set(tree.nodes)
    best, least = max(by_id, key=by_id.__getitem__), min(by_id, key=by_id.__getitem__)
    times = Counter(picked)
    assert times[best] >= times[least] or by_id[best] == by_id[least]


@given(parents)
def test_a_history_is_the_way_to_the_program_and_then_what_was_tried_on_it(drawn: list[int]) -> None:
    tree = grown(drawn)
    for node in tree.nodes.values():
        made = [each.round for each in node.history if each.accepted]
        tried = [each.round for each in node.history if not each.accepted]
        assert made == sorted(made) and len(made) == len(node.steps)
        assert [each.accepted for each in node.history] == [True] * len(made) + [False] * len(tried)


def test_a_program_that_was_found_before_and_an_edit_without_one_are_no_new_node() -> None:
    tree = grown([0])
    tree.add(SEED.id, step(2), program(1))
    tree.add(SEED.id, step(3), None)
    assert len(tree.nodes) == 2
    assert [each.round for each in tree.nodes[SEED.id].tried] == [1, 2, 3]
