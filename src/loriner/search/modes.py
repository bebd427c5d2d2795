"""The search modes: what a round revises, and the plan that each mode is.

All modes but `sampling` are plans of one loop (`adapt`). `sequential` revises the version accepted last,
and `tree` the scored program that promises most. `independent` always revises the seed. So does
`best-of-n`, which takes the plain best on the grade questions. `sampling` searches nothing: in
`verbs.arms`, samples of the seed program vote.

A new mode needs a name in `config.Mode` and a plan in `in_mode`. If it picks the program to revise by a
rule of its own, it also needs a name in `config.Revise` and a case in `next_parent`.
"""

from __future__ import annotations

from collections.abc import Callable

from loriner.config import Mode, Revise
from loriner.records import Harness
from loriner.search.plan import Plan
from loriner.search.tree import Node, Tree

MOST_ROUNDS = 8
"""The other modes may try this many times the rounds of `sequential`, as best-of-80 stands against ten."""


def mode_of(plan: Plan) -> Mode:
    """The name of the mode that a plan is."""
    if plan.revise == "seed":
        return "best-of-n" if plan.oracle else "independent"
    return "tree" if plan.revise == "tree" else "sequential"


def in_mode(plan: Plan, mode: Mode) -> Plan:
    """The plan of a mode, where `sequential` has this one."""
    if mode == "sequential":
        return plan
    if mode == "tree":
        return plan.model_copy(update={"revise": "tree"})
    from_seed = plan.model_copy(update={"revise": "seed", "rounds": MOST_ROUNDS * plan.rounds})
    if mode == "best-of-n":
        return from_seed.model_copy(update={"accept": "mean", "oracle": True})
    return from_seed


def next_parent(
    revise: Revise, seed: Harness, current: Node, tree: Tree, score: Callable[[Harness], float]
) -> Node:
    """The program that the next round revises, with the history that its proposer is shown."""
    match revise:
        case "seed":
            return Node(seed)
        case "tree":
            return tree.pick(score)
        case _:
            return current
