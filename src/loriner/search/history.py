"""Event log of an adaptation: its start, every round, why it stopped, the programs that it ends with.

Reports and live views read it, during a run or after. It repeats no score: those are in the trials. A resumed
run walks again from its start and tells everything again; the last telling of each thing counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from loriner.events import Arm, Start
from loriner.store.database import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One completion of a round; what it was is in the rollout of this place."""

    context_id: str
    index: int
    accepted: bool
    reason: str
    """In words; empty where no decision was asked, since another of the round was better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One round."""

    number: int
    parent_id: str
    """The harness that was revised."""
    current_id: str
    """The harness that stands after the round."""
    n_calls: int
    """Solver calls of the search up to here."""
    tried: tuple[Tried, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stood:
    """A harness at the end: `seed`, `best` or `candidate`."""

    name: str
    harness_id: str
    faults: Mapping[str, int]
    """Among its grade trials."""
    reason: str = ""
    """Why a candidate was not accepted, and what would confirm it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The end of the search."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """All that a run told, in order."""

    start: Start | None
    rounds: tuple[Told, ...]
    stood: Mapping[str, Stood]
    arms: tuple[Arm, ...]
    stopped: str = ""
    """Why the search ended; empty while it goes on."""


async def tell(store: Store, run_id: str, told: Start | Told | Stood | Stopped | Arm) -> None:
    """Adds to the trail of a run."""
    await store.add_event(run_id, _KINDS[type(told)], asdict(told))


def trail(store: Store, run_id: str) -> Trail:
    """The trail of a run; empty for a run that is no adaptation."""
    events: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind in _KINDS.values()}
    for event in store.events(run_id):
        if event.kind == "start":  # walked again: what an earlier session ended with stands no more
            events["stood"].clear()
            events["stopped"].clear()
        events.get(event.kind, []).append(event.data)
    rounds = {each.number: each for each in map(_round, events["round"])}
    arms = {(arm.task, arm.mode, arm.seed): arm for arm in (Arm(**each) for each in events["arm"])}
    starts = [Start(**{"run_id": run_id, **each}) for each in events["start"]]
    return Trail(
        start=starts[-1] if starts else None,
        rounds=tuple(rounds[number] for number in sorted(rounds)),
        stood={each["name"]: Stood(**each) for each in events["stood"]},
        arms=tuple(arms.values()),
        stopped=events["stopped"][-1]["why"] if events["stopped"] else "",
    )


def _round(data: Mapping[str, Any]) -> Told:
    return Told(**{**data, "tried": tuple(Tried(**each) for each in data["tried"])})


_KINDS: dict[type, str] = {Start: "start", Told: "round", Stood: "stood", Stopped: "stopped", Arm: "arm"}
