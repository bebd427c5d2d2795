"""Events: what happened in a run, for people and reports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from datetime import UTC, datetime
from typing import Any

from loriner.store.packing import fields_of
from loriner.store.reader import Reader
from loriner.store.writer import Batch, Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    at: str
    """UTC, ISO 8601."""
    kind: str
    data: Mapping[str, Any]


def event_fact(run_id: str, kind: str, data: Mapping[str, Any]) -> Fact:
    """Records that something happened."""
    text = json.dumps(dict(data), default=_plain)

    def fact(batch: Batch) -> None:
        values = (batch.new_moment("events"), batch.run(run_id), kind, text)
        batch.execute("INSERT INTO events (id, run, kind, data) VALUES (?, ?, ?, ?)", values)

    return fact


def find_events(reader: Reader, run: int, kind: str | None) -> list[Event]:
    """The events of a run in the order in which they were recorded."""
    rows = reader.rows(
        "SELECT id, kind, data FROM events WHERE run = ? AND kind = coalesce(?, kind) ORDER BY id",
        (run, kind),
    )
    return [Event(at=_moment(at), kind=each, data=json.loads(data)) for at, each, data in rows]


def _plain(value: Any) -> Any:
    return fields_of(value) if is_dataclass(value) else str(value)


def _moment(nanoseconds: int) -> str:
    at = datetime.fromtimestamp(nanoseconds / 1e9, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
