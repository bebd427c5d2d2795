"""What a person sees while a run works: on a terminal a line that moves, elsewhere one every ten seconds.

With `-q` nothing is shown.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from loriner.cli.work import N_TIMED, Work, in_words, title
from loriner.events import (
    Arm,
    Attempt,
    End,
    Event,
    Note,
    Observer,
    Proposed,
    Round,
    Start,
    TrialDone,
    silent,
)

LINE_EVERY_S = 10.0
SILENCE_S = 15.0
"""Seconds of silence before a note says so; doubled after each note."""


def _bars(console: Console, *more: ProgressColumn) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, *more, console=console, transient=True)


@contextmanager
def watching(verbosity: int) -> Iterator[Observer]:
    """An observer that shows the run on stderr while the block, of a coroutine, runs."""
    console = Console(stderr=True)
    if verbosity < 0:
        yield silent
    elif console.is_terminal or (console.is_jupyter and find_spec("ipywidgets")):
        with _Bars(console).shown() as bars, _heard(bars, bars.say) as observe:
            yield observe
    else:
        lines = _Lines()
        with _heard(lines, lines.say) as observe:
            yield observe


@contextmanager
def watched() -> Iterator[Observer]:
    """An observer for a Python program: it shows the run on a terminal and in a notebook, and nothing
    elsewhere, as where standard error goes to a file.
    """
    console = Console(stderr=True)
    with watching(0 if console.is_terminal or console.is_jupyter else -1) as observe:
        yield observe


@contextmanager
def _heard(observe: Observer, say: Callable[[str], None]) -> Iterator[Observer]:
    """The observer; meanwhile it is said when it has heard nothing for long."""
    last = time.monotonic()

    def heard(event: Event, /) -> None:
        nonlocal last
        last = time.monotonic()
        observe(event)

    async def wait() -> None:
        most = SILENCE_S
        while True:
            await asyncio.sleep(most / 10)
            if (silence := time.monotonic() - last) >= most:
                say(f"no result for {silence:.0f} s: the model or the scorer is slow, or does not answer")
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

    def __init__(self) -> None:
        self.in_arm = False
        """Whether the episode is an arm of a comparison."""
        self.work = Work()

    def say(self, text: str) -> None:
        raise NotImplementedError

    def __call__(self, event: Event, /) -> None:
        self.work.heard(event)
        match event:
            case Arm():
                self.in_arm = True
                self.say(f"{event}:")
            case Start():
                self._start(event)
            case Proposed(rollout=rollout) if (failure := rollout.failure) is not None:
                self.say(f"edit refused: {failure.code}: {failure.message.splitlines()[0]}")
            case Round():
                self.say(_of_round(event))
            case Note():
                self.say(event.text)
            case End():
                self.say(f"search ended: {event}; now scoring the sealed test questions")
            case TrialDone() if (minutes := self.work.first_minutes()) is not None:
                self.say(f"about {in_words(minutes)} at most, judging by the first {N_TIMED} trials")

    def _start(self, start: Start) -> None:
        """Says what the run is; an arm is not named, since it is its comparison that can be resumed."""
        plan, n, expected = start.plan, start.n_questions, self.work.expected
        assert expected is not None
        run = "" if self.in_arm else f"run {start.run_id}: "
        self.say(f"{run}{start.task}, solver {start.solver} (frozen), proposer {start.proposer}")
        self.say(
            f"plan: {_n(plan['rounds'], 'round')} of {_n(plan['candidates'], 'candidate')} at most, rule "
            f"{plan['accept']}; {n['feedback']} feedback questions ({expected.window} a round), {n['grade']} "
            f"grade and {n['test']} sealed test questions; up to {self.work.left} trials"
        )

    def line(self) -> str:
        """What is at work: where in the search, which questions, which program."""
        return "  ".join(filter(None, [self.work.place, self.work.now[0], self.work.name]))

    def left(self) -> str:
        minutes = self.work.minutes_left()
        return "" if minutes is None else f"up to {in_words(minutes)} left"


def _n(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _of_round(made: Round) -> str:
    """What a round tried, in its order, and what became of each."""
    tried = "; ".join(map(_of_attempt, made.attempts)) or "no candidate"
    now = "?" if made.grade is None else f"{made.grade:.2f}"
    return f"round {made.number}: {tried}. The current program has {now}"


def _of_attempt(each: Attempt) -> str:
    if each.code:
        return f"refused as {each.code}"
    mean = "?" if each.after is None else f"{each.after:.2f}"
    return f"{title(each.note)!r} {mean} ({each.reason or 'another candidate led'})"


class _Lines(_Told):
    """A line now and then on what is at work."""

    def __init__(self) -> None:
        super().__init__()
        self.last = time.monotonic()

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def __call__(self, event: Event, /) -> None:
        super().__call__(event)
        if isinstance(event, TrialDone) and time.monotonic() - self.last > LINE_EVERY_S:
            self.last = time.monotonic()
            done, asked = self.work.count
            self.say(", ".join(filter(None, [f"{self.line()}  {done}/{asked} trials", self.left()])))


class _Bars(_Told):
    """One line that moves."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.progress = _bars(console, TextColumn("{task.fields[left]}"))
        self.bar: TaskID | None = None

    @contextmanager
    def shown(self) -> Iterator[_Bars]:
        with self.progress:
            yield self

    def say(self, text: str) -> None:
        self.progress.console.print(text, markup=False, highlight=False)

    def __call__(self, event: Event, /) -> None:
        super().__call__(event)
        if not isinstance(event, TrialDone):
            return
        if self.bar is None:
            self.bar = self.progress.add_task("", left="")
        done, asked = self.work.count
        line, left = escape(self.line()), self.left()
        self.progress.update(self.bar, completed=done, total=asked, description=line, left=left)
