"""The history of a run: typed events in the store.

Reports, live views and the outcome of an adaptation are all read from it, during a run or after. A resumed
run searches again from its start and records every event again; the last record of each event counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from loriner.events import Arm, End, Name, Round, Standing, Start
from loriner.records import Harness
from loriner.search.old_events import renewed
from loriner.store.database import Store
from loriner.store.packing import fields_of

Told = Start | Round | Standing | End | Arm
"""What the store keeps of an episode."""
_KINDS: dict[str, type[Told]] = {"start": Start, "round": Round, "standing": Standing, "end": End, "arm": Arm}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_READERS = {name: TypeAdapter(kind) for name, kind in _KINDS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All events of a run."""

    start: Start | None = None
    """None for a run that is not an adaptation."""
    rounds: tuple[Round, ...] = ()
    standings: Mapping[Name, Standing] = field(default_factory=dict)
    """Empty until the search has ended."""
    end: End | None = None
    """None while the search goes on."""
    arms: tuple[Arm, ...] = ()
    """The arms of a comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptation:
    """An episode from its seed to its best version."""

    start: Start
    rounds: tuple[Round, ...]
    seed: Standing
    best: Standing
    candidate: Standing | None
    """Of the programs that were not accepted, the one furthest ahead of the best on grade questions."""
    stopped: End
    programs: Mapping[Name, Harness]
    """Those that it ends with."""

    @property
    def run_id(self) -> str:
        return self.start.run_id


async def tell(store: Store, run_id: str, told: Told) -> None:
    """Adds to the history of a run; returns once it is recorded."""
    await store.add_event(run_id, _NAMES[type(told)], fields_of(told))


def note(store: Store, run_id: str, told: Told) -> None:
    """Adds to the history of a run with the next commit, without waiting for it."""
    store.note(run_id, _NAMES[type(told)], fields_of(told))


def history(store: Store, run_id: str) -> History:
    """The history of a run; empty for a run without events."""
    start: Start | None = None
    end: End | None = None
    rounds: dict[int, Round] = {}
    standings: dict[Name, Standing] = {}
    arms: dict[tuple[str, str, int], Arm] = {}
    for told in _all(store, run_id):
        match told:
            case Start():  # walked again: what the walk before ended with stands no more
                start, end = told, None
                standings.clear()
            case Round():
                rounds[told.number] = told
            case Standing():
                standings[told.name] = told
            case End():
                end = told
            case Arm():
                arms[told.task, told.mode, told.seed] = told
    return History(
        start=start,
        rounds=tuple(rounds[number] for number in sorted(rounds)),
        standings=standings,
        end=end,
        arms=tuple(arms.values()),
    )


def outcome(store: Store, run_id: str) -> Adaptation:
    """The outcome of an adaptation that has ended."""
    found = history(store, run_id)
    assert found.start is not None and found.end is not None
    programs = {name: store.harness(each.harness_id) for name, each in found.standings.items()}
    return Adaptation(
        start=found.start,
        rounds=found.rounds,
        seed=found.standings["seed"],
        best=found.standings["best"],
        candidate=found.standings.get("candidate"),
        stopped=found.end,
        programs={name: each for name, each in programs.items() if each is not None},
    )


def _all(store: Store, run_id: str) -> list[Told]:
    events = [(each.kind, each.data) for each in store.events(run_id)]
    current = renewed(store, run_id, events)
    return [_read(kind, data) for kind, data in current if kind in _READERS]


def _read(kind: str, data: Mapping[str, Any]) -> Told:
    told: Told = _READERS[kind].validate_python(data)
    return told
