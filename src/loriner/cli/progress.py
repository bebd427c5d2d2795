"""What a person sees while a run works: a bar on a terminal, plain lines elsewhere, nothing with `-q`."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from loriner.evaluation.evaluator import Observer, silent
from loriner.records import Trial

LINE_EVERY_S = 5.0
SILENCE_S = 15.0
"""How long nothing may come before that is told; each time it is told it may be twice as long."""


def _bars(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)


@contextmanager
def watching(verbosity: int) -> Iterator[Observer]:
    """An observer that shows the run on stderr while the block, of a coroutine, runs."""
    console = Console(stderr=True)
    if verbosity < 0:
        yield silent
    elif console.is_terminal:
        with _Bars(console).shown() as bars, _heard(bars, bars.say) as observe:
            yield observe
    else:
        lines = _Lines()
        with _heard(lines, lines.say) as observe:
            yield observe


@contextmanager
def _heard(observe: Observer, say: Callable[[str], None]) -> Iterator[Observer]:
    """The observer; meanwhile it is said when it has heard nothing for long."""
    last = time.monotonic()

    def heard(event: str, /, **facts: Any) -> None:
        nonlocal last
        last = time.monotonic()
        observe(event, **facts)

    async def wait() -> None:
        most = SILENCE_S
        while True:
            await asyncio.sleep(most / 10)
            if (silence := time.monotonic() - last) >= most:
                say(f"nothing has come back for {silence:.0f} s: model or scorer is slow, or does not answer")
                most *= 2

    waiting = asyncio.get_running_loop().create_task(wait())
    try:
        yield heard
    finally:
        waiting.cancel()


@contextmanager
def counting(verbosity: int, label: str) -> Iterator[Callable[[int, int], None]]:
    """A function of (done, all) that shows on stderr how far something is, while the block runs."""
    console = Console(stderr=True)
    last = time.monotonic()

    def line(done: int, n: int) -> None:
        nonlocal last
        if verbosity >= 0 and time.monotonic() - last > LINE_EVERY_S:
            last = time.monotonic()
            print(f"{label}: {done}/{n}", file=sys.stderr, flush=True)

    if verbosity < 0 or not console.is_terminal:
        yield line
        return
    with _bars(console) as bars:
        bar = bars.add_task(label, total=None)
        yield lambda done, n: bars.update(bar, completed=done, total=n)


class _Told:
    """The words for each event; the subclasses say where they go."""

    label = ""
    """Which arm of a comparison was told of last."""

    def say(self, text: str) -> None:
        raise NotImplementedError

    def __call__(self, event: str, /, **facts: Any) -> None:
        if (label := facts.get("label", self.label)) != self.label:
            self.label = label
            self.say(f"{label}:")
        if event == "rollout" and facts["rollout"].failure is not None:
            failure = facts["rollout"].failure
            self.say(f"edit refused: {failure.code}: {failure.message.splitlines()[0]}")
        elif event == "round":
            self._round(facts["round"])
        elif event == "note":
            self.say(facts["text"])

    def _round(self, made: Any) -> None:
        grades = [each.grade.mean_score for each in made.attempts if each.grade is not None]
        tried = ", ".join("?" if grade is None else f"{grade:.2f}" for grade in grades) or "no candidate"
        verdict = "accepted" if made.accepted is not None else "nothing accepted"
        now = "?" if made.grade is None else f"{made.grade:.2f}"
        self.say(f"round {made.number}: candidates {tried}; {verdict}; current {now}")


class _Lines(_Told):
    """A line now and then for each evaluation under way."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], list[int]] = {}
        self.last = 0.0

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def __call__(self, event: str, /, **facts: Any) -> None:
        super().__call__(event, **facts)
        if event == "evaluating" and facts["n_missing"]:
            self.counts[facts["purpose"], facts["harness"].id] = [0, facts["n_missing"]]
        elif event == "trial":
            self._step(facts["purpose"], facts["trial"].harness_id)

    def _step(self, purpose: str, harness_id: str) -> None:
        counts = self.counts[purpose, harness_id]
        counts[0] += 1
        if counts[0] == counts[1] or time.monotonic() - self.last > LINE_EVERY_S:
            self.last = time.monotonic()
            self.say(f"{purpose} {harness_id[:8]}: {counts[0]}/{counts[1]} trials")


class _Bars(_Told):
    def __init__(self, console: Console) -> None:
        self.progress = _bars(console)
        self.open: dict[tuple[str, str], TaskID] = {}

    @contextmanager
    def shown(self) -> Iterator[_Bars]:
        with self.progress:
            yield self

    def say(self, text: str) -> None:
        self.progress.console.print(text, markup=False, highlight=False)

    def __call__(self, event: str, /, **facts: Any) -> None:
        super().__call__(event, **facts)
        if event == "evaluating" and facts["n_missing"]:
            key = (facts["purpose"], facts["harness"].id)
            label = f"{facts['purpose']:<8} {facts['harness'].id[:8]}"
            self.open[key] = self.progress.add_task(label, total=facts["n_missing"])
        elif event == "trial":
            self._step(facts["purpose"], facts["trial"])

    def _step(self, purpose: str, trial: Trial) -> None:
        bar = self.open.get((purpose, trial.harness_id))
        if bar is None:
            return
        self.progress.advance(bar)
        if self.progress.tasks[self.progress.task_ids.index(bar)].finished:
            self.progress.remove_task(bar)
            del self.open[purpose, trial.harness_id]
