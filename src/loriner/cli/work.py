"""What is at work in a run, and how long it will still take: the figures behind the line that moves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from loriner.events import End, Evaluating, Event, Proposed, Round, Start, TrialDone
from loriner.records import Trial
from loriner.search.plan import planned
from loriner.search.trial_counts import TrialCounts

NAME_LENGTH = 40
N_TIMED = 3
"""Trials after which the first estimate is said: those with which every evaluation begins."""
N_AT_ONCE = 8
"""Trials that an endpoint takes at once, where the first ones do not wait for each other."""


@dataclass(slots=True)
class Work:
    """Follows the events of a run."""

    clock: Callable[[], float] = time.monotonic
    names: dict[str, str] = field(default_factory=dict)
    """What a program is called, by its id."""
    expected: TrialCounts | None = None
    """None for a run that is no adaptation."""
    n_rounds: int = 0
    """Rounds that are over."""
    counts: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    """Trials done and asked for, by purpose and program, of each evaluation under way."""
    now: tuple[str, str] = ("", "")
    """The purpose and the program of the last trial."""
    count: tuple[int, int] = (0, 0)
    """Trials done and asked for of what is at work."""
    left: int = 0
    """Trials that may still follow, as of the last mark."""
    n_trials: int = 0
    started: float = 0.0
    arrivals: list[float] = field(default_factory=list)

    def heard(self, event: Event) -> None:
        """Takes note of an event."""
        match event:
            case Start():
                self._begin(event)
            case Proposed(rollout=rollout) if rollout.candidate is not None:
                note = rollout.revision.note if rollout.revision else ""
                self.names.setdefault(rollout.candidate.id, title(note))
            case Evaluating() if event.n_missing:
                self.started = self.started or self.clock()
                self.counts[event.purpose, event.harness_id] = [0, event.n_missing]
            case TrialDone():
                self._step(event.purpose, event.trial)
            case Round():
                self.n_rounds = event.number
                self._mark()
            case End() if self.expected is not None:
                self.left, self.expected = self.expected.ending(2, 0), None

    def _begin(self, start: Start) -> None:
        self.names = {start.harness_id: "seed"}
        self.expected = TrialCounts(planned(start.plan), start.n_questions)
        self.started = self.clock()
        self.n_rounds = self.n_trials = 0
        self.arrivals = []
        self._mark()
        self.left += self.expected.n["grade"]

    def _mark(self) -> None:
        if self.expected is not None:
            self.left = self.expected.ahead(self.expected.plan.rounds - self.n_rounds)

    def _step(self, purpose: str, trial: Trial) -> None:
        self.now = purpose, trial.harness_id
        counts = self.counts.setdefault(self.now, [0, 1])
        counts[0] += 1
        self.count = counts[0], counts[1]
        if counts[0] >= counts[1]:
            self.counts.pop(self.now)
        self.n_trials += 1
        self.left = max(0, self.left - 1)
        if len(self.arrivals) < N_TIMED and not any(call.cached for call in trial.calls):
            self.arrivals.append(self.clock() - self.started)

    @property
    def name(self) -> str:
        """What is at work: the seed, or a candidate by the name of its revision."""
        return self.names.get(self.now[1], self.now[1][:8])

    @property
    def place(self) -> str:
        """Where in the search it is; empty for a run that is no adaptation, and at its end."""
        if self.expected is None or self.now[0] == "test":
            return ""
        return f"round {min(self.n_rounds + 1, self.expected.plan.rounds)}/{self.expected.plan.rounds}"

    def minutes_left(self) -> float | None:
        """Minutes at most, at the pace so far; None before anything is known."""
        if not self.n_trials or not self.left:
            return None
        return self.left * (self.clock() - self.started) / self.n_trials / 60

    def first_minutes(self) -> float | None:
        """Minutes at most by the first timed trials, once they are there; None at any other time.

        Where each waited for the one before, the model answers one at a time; else it is taken to answer
        `N_AT_ONCE`.
        """
        if self.expected is None or len(self.arrivals) != N_TIMED or self.n_trials != N_TIMED:
            return None
        took = self.arrivals[-1]
        one_by_one = took > 2 * self.arrivals[0]
        return (self.left + N_TIMED) * took / (N_TIMED if one_by_one else N_AT_ONCE) / 60


def title(note: str) -> str:
    """The first line of a revision's note, shortened."""
    first = note.strip().splitlines()[0].strip() if note.strip() else "(no note)"
    return first if len(first) <= NAME_LENGTH else first[: NAME_LENGTH - 1].rstrip() + "…"


def in_words(minutes: float) -> str:
    """Such as `40 s`, `12 min` or `2.5 h`."""
    if minutes < 1.5:
        return f"{max(1, round(minutes * 60))} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
