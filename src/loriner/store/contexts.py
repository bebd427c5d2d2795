"""Contexts as rows and back: exactly what a proposer was shown, to be read or trained on again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import is_
from typing import Any

from loriner.records import Call, Context, Fault, FeedbackTrial, Harness, PastRevision, Status, Trial
from loriner.store.packing import fields_of, pack, unpack
from loriner.store.reader import Reader
from loriner.store.rows import harness_fact
from loriner.store.writer import Batch, Fact


@dataclass(slots=True)
class LastContexts:
    """The context of each run that was recorded last: the history of the next one mostly goes on from its."""

    last: dict[str, Context] = field(default_factory=dict)

    def follows(self, run_id: str, context: Context) -> Context | None:
        """The one recorded last, if the history of this one begins with its; now this one is the last."""
        before, self.last[run_id] = self.last.get(run_id), context
        if before is None or len(before.history) > len(context.history):
            return None
        return before if all(map(is_, before.history, context.history)) else None


def context_fact(run_id: str, context: Context, shown: LastContexts) -> Fact:
    """Records a context and the source of its harness, once; of its history only what is new."""
    before, keep = shown.follows(run_id, context), harness_fact(context.harness)
    body = pack(_shown(context, before))

    def fact(batch: Batch) -> None:
        keep(batch)
        values = (batch.run(run_id), context.id, batch.harness(context.harness.id), body)
        batch.execute(
            "INSERT INTO contexts (run, name, harness, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            values,
        )

    return fact


def _shown(context: Context, before: Context | None) -> dict[str, Any]:
    """A context without harness and id, to be packed. Of a history that goes on from that of another context
    there is its id, and what is new.
    """
    shown = fields_of(context)
    del shown["harness"], shown["id"]
    if before is None or not before.history:
        return shown
    return {**shown, "history": context.history[len(before.history) :], "after": before.id}


def find_contexts(reader: Reader, run: int) -> list[Context]:
    """The contexts of a run in the order in which they were recorded."""
    rows = reader.rows(
        "SELECT c.name, h.source, c.body FROM contexts c JOIN harnesses h ON h.n = c.harness "
        "WHERE c.run = ? ORDER BY c.id",
        (run,),
    )
    found: dict[str, Context] = {}
    for name, source, body in rows:
        shown = unpack(body)
        before = found[shown.pop("after")].history if "after" in shown else ()
        found[name] = _read(name, Harness(unpack(source)), before, shown)
    return list(found.values())


def _read(
    context_id: str, harness: Harness, before: tuple[PastRevision, ...], shown: Mapping[str, Any]
) -> Context:
    return Context(
        **{
            **shown,
            "id": context_id,
            "harness": harness,
            "tools": tuple(shown["tools"]),
            "feedback": tuple(_feedback(each, shown["task"]) for each in shown["feedback"]),
            "history": (*before, *(PastRevision(**each) for each in shown["history"])),
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
