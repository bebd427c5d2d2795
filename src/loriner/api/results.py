"""What a call comes to, as its caller holds it.

A mean score is everywhere an `Interval` (`mean`, `low`, `high`, `n`), under the name of the questions that it
is of: `grade` or `test`. Scores by question are under `scores`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loriner.api.cage import Ran
from loriner.api.faces import folded, table
from loriner.api.ready import Ready
from loriner.errors import LorinerError
from loriner.events import Name, Reason, Round, Standing
from loriner.records import Evaluation, Harness
from loriner.search.history import Adaptation
from loriner.statistics import Interval, interval

MakeReady = Callable[[Harness], Ready]


@dataclass(frozen=True, slots=True, repr=False)
class Scored:
    """A harness with its scores. Called with a question, it answers: `run.best("a question")`."""

    harness: Harness
    grade: Interval
    test: Interval | None
    standing: Standing
    ready: Ready | None = field(default=None, compare=False)
    """The harness with the solver of its run; None where that run is only read."""

    @property
    def source(self) -> str:
        return self.harness.source

    @property
    def scores(self) -> Mapping[str, float]:
        """Score of each question of `test`, or of `grade` where no sealed question was scored."""
        return self.standing.test or self.standing.grade

    def __call__(self, question: str, *, seed: int = 0) -> str:
        """The answer. Raises as `Ready`."""
        return self._opened()(question, seed=seed)

    def solve(self, question: str, *, seed: int = 0) -> str:
        """The answer. Raises as `Ready`."""
        return self._opened()(question, seed=seed)

    async def asolve(self, question: str, *, seed: int = 0) -> str:
        """As `solve`, while the caller's event loop goes on."""
        return await self._opened().asolve(question, seed=seed)

    def run(self, question: str, *, seed: int = 0) -> Ran:
        """How the program ended on the question, with what it asked for."""
        return self._opened().run(question, seed=seed)

    def diff(self, other: Scored) -> str:
        """What changed from `other` to this one, as a unified diff."""
        lines = difflib.unified_diff(
            other.source.splitlines(), self.source.splitlines(), "before", "after", lineterm=""
        )
        return "\n".join(lines)

    def save(self, path: str | Path) -> None:
        """Writes the program."""
        Path(path).write_text(self.source, encoding="utf-8")

    def __str__(self) -> str:
        shown = f"{self.harness.id[:12]}: grade {self.grade}"
        return shown if self.test is None else f"{shown}, test {self.test}"

    def __repr__(self) -> str:
        return f"<Scored {self}>"

    def _repr_html_(self) -> str:
        row = (self.harness.id[:12], self.grade, self.test)
        return table(("program", "grade", "test"), [row]) + folded("the program", self.source)

    def _opened(self) -> Ready:
        if self.ready is None:
            raise LorinerError(
                f"{self.harness.id[:12]} has no solver to ask: lo.load(its id, model=…) gives it one"
            )
        return self.ready


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """What an adaptation came to."""

    id: str
    seed: Scored
    best: Scored
    history: tuple[Round, ...]
    candidate: Scored | None = None
    """What led and was not confirmed; `candidate.standing.reason` says what was missing."""
    stopped: Reason = "rounds"
    """Why the search ended; after `budget`, `adapt(…, resume=run.id)` goes on with a larger cap."""
    why: str = ""
    """The figures behind the reason, in words."""
    missing: tuple[str, ...] = ()
    """What a cap kept from being scored, in words."""

    @property
    def programs(self) -> dict[str, Scored]:
        """The programs that the run ends with, by what they are: `seed`, `best` and perhaps `candidate`."""
        named = {"seed": self.seed, "best": self.best}
        return named if self.candidate is None else {**named, "candidate": self.candidate}

    def __repr__(self) -> str:
        scores = ", ".join(f"{name} {_mean(each)}" for name, each in self.programs.items())
        rounds = f"{len(self.history)} round{'' if len(self.history) == 1 else 's'}"
        return f"<Run {self.id}: {scores}; {rounds}, ended by {self.stopped}>"

    def _repr_html_(self) -> str:
        rows = [(name, each.harness.id[:12], each.grade, each.test) for name, each in self.programs.items()]
        told = table(("", "program", "grade", "test"), rows, f"run {self.id}, ended by {self.stopped}")
        return told + folded("what changed from seed to best", self.best.diff(self.seed) or "nothing")


def _mean(scored: Scored) -> str:
    """The mean that counts, and of what."""
    if scored.test is not None:
        return f"test {scored.test.mean:.3f}"
    return f"grade {scored.grade.mean:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Evaluated(Evaluation):
    """An evaluation, with the interval of its mean."""

    @property
    def score(self) -> Interval | None:
        """The mean score with its interval; None where no question was scored."""
        return interval(list(self.scores.values())) if self.scores else None

    def __repr__(self) -> str:
        return f"<Evaluated {self.harness_id[:12]} on {self.task}: {self.purpose} {self.score}>"

    def _repr_html_(self) -> str:
        caption = f"{self.harness_id[:12]} on {self.task}: {self.purpose} {self.score}"
        rows = [(each.question_id, each.status, each.score, each.answer[:80]) for each in self.trials]
        return table(("question", "ended", "score", "answer"), rows, caption)

    @classmethod
    def of(cls, found: Evaluation) -> Evaluated:
        return cls(
            harness_id=found.harness_id,
            task=found.task,
            purpose=found.purpose,
            trials=found.trials,
            level=found.level,
        )


@dataclass(frozen=True, slots=True, repr=False)
class Compared:
    """What a comparison of search modes came to."""

    id: str
    document: dict[str, Any]
    """Every figure of the report, as `loriner report RUN --json` prints it."""

    def __repr__(self) -> str:
        return f"<Compared {self.id}: {self.document['verdict']}>"

    def _repr_html_(self) -> str:
        return table(("comparison", "verdict"), [(self.id, self.document["verdict"])])


def as_run(found: Adaptation, make: MakeReady) -> Run:
    """The run as its caller holds it; `make` gives a harness the solver of the run."""
    return Run(
        id=found.run_id,
        seed=_scored(found, "seed", found.seed, make),
        best=_scored(found, "best", found.best, make),
        history=found.rounds,
        candidate=None if found.candidate is None else _scored(found, "candidate", found.candidate, make),
        stopped=found.stopped.reason,
        why=found.stopped.why,
        missing=found.stopped.missing,
    )


def _scored(found: Adaptation, name: Name, each: Standing, make: MakeReady) -> Scored:
    test = interval(list(each.test.values())) if each.test else None
    harness = found.programs[name]
    return Scored(harness, interval(list(each.grade.values())), test, each, make(harness))
