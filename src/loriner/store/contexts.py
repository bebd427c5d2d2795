"""Contexts as rows and back: exactly what a proposer was shown, to be read or trained on again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from operator import attrgetter
from typing import Any

from loriner.records import Call, Context, Fault, FeedbackTrial, Harness, PastRevision, Status, Trial
from loriner.store.packing import pack, unpack
from loriner.store.reader import Reader
from loriner.store.rows import harness_fact
from loriner.store.writer import Batch, Fact


def context_fact(run_id: str, context: Context) -> Fact:
    """Records a context and the source of its harness, once."""
    body, keep = pack(_shown(context)), harness_fact(context.harness)

    def fact(batch: Batch) -> None:
        keep(batch)
        values = (batch.run(run_id), context.id, batch.harness(context.harness.id), body)
        batch.execute(
            "INSERT INTO contexts (run, name, harness, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            values,
        )

    return fact


_PAST = tuple(field.name for field in fields(PastRevision))
_past = attrgetter(*_PAST)


def _shown(context: Context) -> dict[str, Any]:
    """A context as JSON values, without harness and id. A history can be long: it is not walked deep."""
    shown = asdict(replace(context, history=()))
    del shown["harness"], shown["id"]
    shown["history"] = [dict(zip(_PAST, _past(each), strict=True)) for each in context.history]
    return shown


def find_contexts(reader: Reader, run: int) -> list[Context]:
    """The contexts of a run in the order in which they were recorded."""
    rows = reader.rows(
        "SELECT c.name, h.source, c.body FROM contexts c JOIN harnesses h ON h.n = c.harness "
        "WHERE c.run = ? ORDER BY c.id",
        (run,),
    )
    return [_read(name, Harness(unpack(source)), unpack(body)) for name, source, body in rows]


def _read(context_id: str, harness: Harness, shown: Mapping[str, Any]) -> Context:
    return Context(
        **{
            **shown,
            "id": context_id,
            "harness": harness,
            "tools": tuple(shown["tools"]),
            "feedback": tuple(_feedback(each, shown["task"]) for each in shown["feedback"]),
            "history": tuple(PastRevision(**each) for each in shown["history"]),
        }
    )


def _feedback(shown: Mapping[str, Any], task: str) -> FeedbackTrial:
    trial = shown["trial"]
    calls = tuple(Call(**call) for call in trial["calls"])
    return FeedbackTrial(
        question=shown["question"],
        target=shown["target"],
        trial=Trial(**{"task": task, **trial, "status": Status(trial["status"]), "calls": calls}),
        fault=None if shown["fault"] is None else Fault(shown["fault"]),
        evidence=shown.get("evidence", ""),
    )
