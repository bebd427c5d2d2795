"""What a report shows of one episode, as frozen records. `reading` makes them; pages only read them.

While a run works, what is not known yet is None or empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loriner.events import Start
from loriner.records import Trial, Usage
from loriner.statistics import Interval, Paired, Plateau

Scores = Mapping[str, float]

SAMPLING = "sampling"
"""The mode without a search."""
SEARCH = ("solver, feedback questions", "solver, grade questions")
AFRESH, TEST, PROPOSER = "solver, grade questions afresh", "solver, test questions", "proposer"
"""What calls were for: those of `SEARCH` and of the proposer are the price of a search."""
SHORT = 10
"""Characters of a harness id that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A harness with its three scores, which differ by what luck is in them."""

    name: str
    harness_id: str
    source: str
    grade: Scores
    """By question, as the others: the scores by which it was chosen, so the best one's mean is too high."""
    fresh: Scores
    """The same questions again with other sampling seeds: without the luck of the samples."""
    test: Scores
    """Sealed questions, scored once: without the luck of the choice."""
    faults: Mapping[str, int]
    n_calls: float | None
    """Solver calls a test question."""
    reason: str = ""
    """Why a candidate was not accepted, and what would confirm it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One completion and what became of it."""

    round: int
    index: int
    parent_id: str
    harness_id: str | None
    """None when its edits were refused."""
    note: str
    code: str
    message: str
    grade: Interval | None
    effect: Paired | None
    """On the grade questions, against the harness that it revised."""
    test: Scores
    """Empty unless it was scored on the test questions."""
    accepted: bool
    reason: str
    growth: str
    """`deeper`, `broader`, `both` or `neither`; empty where there is no candidate."""
    deltas: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    number: int
    current_id: str
    grade: Interval | None
    """Of the harness that stands after the round."""
    n_calls: int
    """Solver calls of the search up to here."""
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one part of a run came to. Replies from the cache count as calls; they cost and took nothing."""

    part: str
    usage: Usage
    n_cached: int
    p50_s: float | None
    """Median seconds of a call that was sent."""
    p95_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One adaptation, or what is known of it so far."""

    run_id: str
    status: str
    started: str
    seconds: float
    start: Start
    seed: Standing | None
    best: Standing | None
    candidate: Standing | None
    """What led and was not accepted."""
    stopped: str
    """Why the search ended; empty while it goes on."""
    oracle: Standing | None
    """The candidate that is best on the test questions: no one could have known."""
    rounds: tuple[Round, ...]
    sources: Mapping[str, str]
    """The program of each harness, by id."""
    grid: Mapping[str, Mapping[str, float | None]]
    """Score on each grade question of each harness, by harness id; None where a trial failed by our fault."""
    spent: tuple[Spent, ...]
    statuses: Mapping[str, int]
    """Trials by how they ended."""
    invalid: Mapping[str, int]
    """Refused edits by code."""
    slowest: tuple[Trial, ...]
    dearest: tuple[Trial, ...]
    seed_grade: Interval | None
    n_samples: float
    """Trials of a test question: above 1 only for a vote."""
    n_seed_calls: int
    """Solver calls of the seed's grade trials."""
    plateau: Plateau | None
    config: Mapping[str, Any]

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All of them, in order."""
        return tuple(candidate for each in self.rounds for candidate in each.candidates)

    @property
    def search(self) -> Usage:
        """What the search used: feedback and grade trials, and the proposer."""
        return sum((each.usage for each in self.spent if each.part in (*SEARCH, PROPOSER)), Usage())

    @property
    def test(self) -> Scores:
        """The sealed scores that this episode ends with; empty while they are not known."""
        return self.best.test if self.best else {}
