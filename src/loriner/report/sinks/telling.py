"""The thread that stands between a tracker and the run.

A sink may be slow, down or broken: it is opened and told in a thread of its own, over a queue that drops what
it cannot hold. Its first error is said once and ends it; the run goes on. Nothing is waited for longer than
`CLOSE_S`. Sinks are told figures only, never a question, an answer or a program.
"""

from __future__ import annotations

import importlib.util
import queue
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import fmean

from loriner.errors import MissingExtra
from loriner.events import Arm, Event, Observer, Round, Standing
from loriner.report.sinks import trackers
from loriner.report.sinks.base import Open

CLOSE_S = 60.0
"""A first MLflow store takes seconds to make, more on a busy machine."""
N_QUEUED = 1_000
OPENERS: Mapping[str, Open] = {
    "mlflow": trackers.mlflow,
    "wandb": trackers.wandb,
    "trackio": trackers.trackio,
    "tensorboard": trackers.tensorboard,
}
MODULES = {"mlflow": "mlflow", "wandb": "wandb", "trackio": "trackio", "tensorboard": "tensorboardX"}


def chosen(names: Sequence[str]) -> dict[str, Open]:
    """The ways to open these sinks; asked before anything is started.

    Raises:
        MissingExtra: one is not installed.
    """
    for name in names:
        if importlib.util.find_spec(MODULES[name]) is None:
            raise MissingExtra(name, f"the sink {name}")
    return {name: OPENERS[name] for name in names}


@contextmanager
def sinking(
    sinks: Mapping[str, Open], run_id: str, inner: Observer, *, home: Path, close_s: float = CLOSE_S
) -> Iterator[Observer]:
    """An observer that tells `inner`, and these sinks, while the block runs; each has `close_s` to end."""
    threads = [_Thread(name, open_, run_id, home, close_s) for name, open_ in sinks.items()]

    label = ""

    def told(event: Event, /) -> None:
        nonlocal label
        inner(event)
        if isinstance(event, Arm):
            label = f"{event}/"
        if figures := {label + name: value for name, value in figures_of(event).items()}:
            for each in threads:
                each.put(figures)

    try:
        yield told
    finally:
        for each in threads:
            each.finish()


def figures_of(event: Event) -> dict[str, float]:
    """What an event is worth to a tracker: nothing, for most."""
    found: dict[str, float | None]
    if isinstance(event, Round):
        scored = [each.after for each in event.attempts if each.after is not None]
        found = {
            "round": event.number,
            "grade": event.grade,
            "accepted": event.accepted is not None,
            "refused_edits": sum(bool(each.code) for each in event.attempts),
            "best_candidate": max(scored, default=None),
        }
    elif isinstance(event, Standing):
        kinds = {"grade": event.grade, "test": event.test}
        found = {f"{event.name}_{kind}": fmean(each.values()) for kind, each in kinds.items() if each}
    else:
        return {}
    return {name: float(value) for name, value in found.items() if value is not None}


class _Thread:
    """One sink in a thread of its own."""

    def __init__(self, name: str, open_: Open, run_id: str, home: Path, close_s: float) -> None:
        self._name, self._close_s = name, close_s
        self._queue: queue.Queue[dict[str, float] | None] = queue.Queue(N_QUEUED)
        self._thread = threading.Thread(target=self._work, args=(open_, run_id, home), daemon=True)
        self._thread.start()

    def put(self, figures: dict[str, float]) -> None:
        """Hands figures over, or drops them when the sink is that far behind."""
        with suppress(queue.Full):
            self._queue.put_nowait(figures)

    def finish(self) -> None:
        """Lets the sink catch up and close, for so long."""
        with suppress(queue.Full):
            self._queue.put(None, timeout=self._close_s)
        self._thread.join(self._close_s)
        if self._thread.is_alive():
            self._say(f"did not close within {self._close_s:g} s and was left behind")

    def _work(self, open_: Open, run_id: str, home: Path) -> None:
        try:
            sink = open_(run_id, home)
            step = 0
            while (figures := self._queue.get()) is not None:
                sink.log(step, figures)
                step += 1
            sink.close()
        except Exception as error:  # noqa: BLE001 - whatever a tracker does, the run goes on
            self._say(f"failed and gets no further events: {error!r}"[:500])

    def _say(self, what: str) -> None:
        print(f"sink {self._name} {what}; the run is not affected", file=sys.stderr, flush=True)
