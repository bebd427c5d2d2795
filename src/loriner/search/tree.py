"""A search over all programs of an episode: a round revises the one that promises most.

The chain revises the version accepted last, so it never comes back to a program that a test on few questions
refused. Here every scored program can be revised. The one with the highest upper confidence bound comes
first: its mean grade score, plus a bonus that shrinks each time it is revised.
Source: UCB1 (Auer et al., 2002).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from loriner.records import Harness, PastRevision

EXPLORATION = 0.3
"""Weight of the bonus, for scores in [0, 1]: about what a good revision gains (docs/training.md)."""


@dataclass(slots=True)
class Node:
    """A program, the way that led to it, and what was tried on it."""

    harness: Harness
    steps: tuple[PastRevision, ...] = ()
    """The revisions that led to it, in order."""
    tried: list[PastRevision] = field(default_factory=list)
    n_rounds: int = 0
    """Rounds that revised it."""

    @property
    def history(self) -> list[PastRevision]:
        """What its proposer is shown: the revisions in it, then those that were tried on it."""
        return [*self.steps, *self.tried]


@dataclass(slots=True)
class Tree:
    """The programs that were scored, in the order in which they were found."""

    nodes: dict[str, Node]

    @classmethod
    def of(cls, seed: Harness) -> Tree:
        """A tree of one program."""
        return cls({seed.id: Node(seed)})

    def pick(self, score: Callable[[Harness], float]) -> Node:
        """The program to revise next; the earlier one of equals."""
        n_rounds = sum(each.n_rounds for each in self.nodes.values())

        def bound(node: Node) -> float:
            return score(node.harness) + EXPLORATION * math.sqrt(math.log1p(n_rounds) / (1 + node.n_rounds))

        return max(self.nodes.values(), key=bound)

    def revised(self, parent_id: str) -> None:
        """Counts a round of a program."""
        self.nodes[parent_id].n_rounds += 1

    def add(self, parent_id: str, step: PastRevision, candidate: Harness | None) -> None:
        """An attempt on a program, with the candidate if it was scored and is new."""
        parent = self.nodes[parent_id]
        parent.tried.append(replace(step, accepted=False))
        if candidate is not None and candidate.id not in self.nodes:
            steps = (*parent.steps, replace(step, accepted=True))
            self.nodes[candidate.id] = Node(candidate, steps)
