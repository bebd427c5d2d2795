"""Which feedback questions a round shows: the next ones in order, and more until something fails.

A window is as many questions as the plan says, in the fixed order of the split; after its last question the
first one comes again. So each round shows other questions until all have been shown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from loriner.records import Evaluation, Question, Trial

Evaluate = Callable[[Sequence[Question]], Awaitable[Evaluation]]


@dataclass(slots=True)
class Windows:
    """The feedback split of an episode, and how far its rounds have come in it."""

    questions: Sequence[Question]
    size: int
    at: int = 0
    """The place of the question that comes next."""

    def around(self) -> Iterator[Sequence[Question]]:
        """The next windows, until every question was in one of them; `at` moves with each one taken."""
        left = len(self.questions)
        while left:
            size = min(self.size, left)
            turned = [*self.questions[self.at :], *self.questions[: self.at]]
            self.at = (self.at + size) % len(self.questions)
            left -= size
            yield turned[:size]

    async def trials(self, evaluate: Evaluate) -> Evaluation:
        """The trials that a round shows.

        They begin with the next window. Further windows follow while all trials are right, because a
        proposer learns little from those, or while none asked the model, because they cost nothing. They
        end with the whole split.
        """
        found: Evaluation | None = None
        for window in self.around():
            more = await evaluate(window)
            found = more if found is None else replace(more, trials=found.trials + more.trials)
            if failing(found.trials) and any(map(asks_model, found.trials)):
                break
        return found or await evaluate(())


def failing(trials: Sequence[Trial]) -> bool:
    """Whether a scored trial is less than right."""
    return any(trial.score is not None and trial.score < 1.0 for trial in trials)


def asks_model(trial: Trial) -> bool:
    """Whether its program asked the solver."""
    return any(call.kind == "model" for call in trial.calls)
