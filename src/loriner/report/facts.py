"""What a report shows of one episode, as frozen records. `reading` makes them; pages only read them.

While a run works, what is not known yet is None or empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loriner.events import Attempt, End, Round, Scores, Standing, Start
from loriner.records import Rollout, Trial, Usage
from loriner.report.scores import interval_of
from loriner.statistics import Interval, Paired, Plateau

SAMPLING = "sampling"
"""The mode without a search."""
SEARCH = ("solver, feedback questions", "solver, grade questions")
AFRESH, TEST, PROPOSER = "solver, grade questions afresh", "solver, test questions", "proposer"
JUDGE = "judge"
"""What calls were for: those of `SEARCH` and of the proposer are the price of a search."""
SHORT = 10
"""Characters of a harness id that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An attempt of a round with the statistics of its grade trials."""

    round: int
    parent_id: str
    attempt: Attempt
    grade: Interval | None
    effect: Paired | None
    """On the grade questions, against the harness that it revised."""
    test: Scores
    """Empty unless it was scored on the test questions."""
    growth: str
    """`deeper`, `broader`, `both` or `neither`; empty where there is no candidate."""
    deltas: Mapping[str, int]


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
    end: End | None
    """None while the search goes on."""
    oracle: Standing | None
    rounds: tuple[Round, ...]
    candidates: tuple[Candidate, ...]
    """All of them, in order."""
    sources: Mapping[str, str]
    """The program of each harness, by id."""
    grid: Mapping[str, Mapping[str, float | None]]
    """Score on each grade question of each harness, by harness id; None where a trial failed by our fault."""
    spent: tuple[Spent, ...]
    statuses: Mapping[str, int]
    """Trials by how they ended."""
    invalid: Mapping[str, int]
    """Refused edits by code."""
    refused: tuple[Rollout, ...]
    """The replies that made no candidate."""
    slowest: tuple[Trial, ...]
    dearest: tuple[Trial, ...]
    n_samples: float
    """Trials of a test question: above 1 only for a vote."""
    n_seed_calls: int
    """Solver calls of the seed's grade trials."""
    plateau: Plateau | None
    config: Mapping[str, Any]

    def source(self, standing: Standing) -> str:
        """The program of a standing."""
        return self.sources.get(standing.harness_id, "")

    def grade_of(self, harness_id: str) -> Interval | None:
        """The mean grade score of a harness; None where nothing is scored."""
        cells = self.grid.get(harness_id, {})
        return interval_of({name: cell for name, cell in cells.items() if cell is not None})

    @property
    def search(self) -> Usage:
        """What the search used: feedback and grade trials, and the proposer."""
        return sum((each.usage for each in self.spent if each.part in (*SEARCH, PROPOSER)), Usage())

    @property
    def test(self) -> Scores:
        """The sealed scores that this episode ends with; empty while they are not known."""
        return self.best.test if self.best else {}
