"""What a run says of itself as it happens: a record for each kind of event, and the observer that hears them.

The records of an episode (`Start`, `Round`, `Standing`, `End`, `Arm`) are also what the store keeps of it.
They hold figures as they were when a decision fell; the scores themselves are those of the trials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from loriner.records import Rollout, Trial, Usage

Scores = Mapping[str, float]
"""By question id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something worth a line to whoever watches."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluating:
    """An evaluation began."""

    task: str
    harness_id: str
    purpose: str
    n: int
    """Trials that it has in all."""
    n_missing: int
    """Trials that the store does not hold yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialDone:
    """A trial was scored and recorded."""

    purpose: str
    trial: Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundBegan:
    """A round is about to ask its proposer."""

    number: int
    parent_id: str
    """The harness that it revises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A completion is there; its candidate is not scored yet."""

    rollout: Rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """A program of a search tree has all its children tried."""

    task: str
    path: tuple[str, ...]
    """The catalogue entries that led to it from the task's seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """An episode, before its first trial."""

    run_id: str
    task: str
    solver: str
    proposer: str
    mode: str
    """`sequential`, `independent`, `best-of-n`, `sampling` or `tree`."""
    seed: int
    harness_id: str
    """The seed harness."""
    plan: Mapping[str, Any]
    """The fields of `search.episode.Plan`."""
    n_questions: Mapping[str, int]
    """By split."""
    constant: str | None = None
    """The right answer seen most often on the feedback questions."""
    constant_scores: Mapping[str, float] = field(default_factory=dict)
    """What always giving it earns on each test question."""
    copied_scores: Mapping[str, float] = field(default_factory=dict)
    """What copying the answer of the nearest feedback item earns on each test question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One completion of a round and what became of it."""

    context_id: str
    index: int
    harness_id: str | None
    """The candidate; None when its edits were refused."""
    note: str = ""
    """What the proposer wrote around its edits."""
    code: str = ""
    """Why its edits were refused."""
    message: str = ""
    before: float | None = None
    """Mean grade score of the current program, on the questions of `after`."""
    after: float | None = None
    """Mean grade score of the candidate when the round ended."""
    accepted: bool = False
    considered: bool = True
    """Whether it was new and came within the allowance."""
    reason: str = ""
    """The decision in words; empty where none was asked, since another of the round was better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one round tried and what it changed."""

    number: int
    parent_id: str
    """The harness that was revised."""
    current_id: str
    """The harness that stands after the round."""
    grade: float | None
    """Its mean grade score."""
    n_calls: int
    """Solver calls of the search up to here."""
    attempts: tuple[Attempt, ...]

    @property
    def accepted(self) -> Attempt | None:
        """The attempt that is now the current program."""
        return next((each for each in self.attempts if each.accepted), None)


Name = Literal["seed", "best", "candidate", "oracle"]
"""`candidate` led and was not accepted; `oracle` is best on the sealed questions, which nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A program that an episode ends with, and its three scores, which differ by what luck is in them."""

    name: Name
    harness_id: str
    grade: Scores = field(default_factory=dict)
    """The scores by which it was chosen, so the mean of the best one is too high."""
    fresh: Scores = field(default_factory=dict)
    """The same questions again with other sampling seeds: without the luck of the samples."""
    test: Scores = field(default_factory=dict)
    """Sealed questions, scored once: without the luck of the choice."""
    faults: Mapping[str, int] = field(default_factory=dict)
    """Among its grade trials, the most frequent first."""
    calls_a_question: float | None = None
    """Solver calls of a sealed question."""
    asks_model: bool = True
    """Whether it asked the solver in any of these trials."""
    reason: str = ""
    """Why a candidate was not accepted, and what would confirm it."""


Reason = Literal[
    "rounds",
    "allowance",
    "budget",
    "nothing failed",
    "nothing can be accepted any more",
    "proposer has nothing left",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Why a search ended: `rounds` means that it walked all of them."""

    reason: Reason
    why: str = ""
    """The figures behind the reason, in words."""
    missing: tuple[str, ...] = ()
    """What a cap kept from being scored, in words."""
    solver: Usage = field(default_factory=Usage)
    """What the search used of it; replies from the cache count as if they had been paid for."""
    proposer: Usage = field(default_factory=Usage)

    def __str__(self) -> str:
        return f"{self.reason}: {self.why}" if self.why else self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One episode of a comparison, and the run that it is recorded under."""

    task: str
    mode: str
    seed: int
    run_id: str
    allowance: str
    """In words; empty for the arm that sets it."""

    def __str__(self) -> str:
        return f"{self.task}, {self.mode}, seed {self.seed}"


Event = Note | Evaluating | TrialDone | RoundBegan | Proposed | Grown | Start | Round | Standing | End | Arm
Observer = Callable[[Event], None]
"""Hears each event as it happens; what it raises stops the run. An event of an episode that is an arm of a
comparison follows the `Arm` that it belongs to: arms run one after the other."""


def silent(event: Event, /) -> None:
    """An observer that looks away."""
