"""Events of an episode as releases up to 0.2 stored them, in the present shape.

They held no score and no text of the proposer. These are read from the stored trials and rollouts of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from loriner.evaluation.voting import votes
from loriner.records import Evaluation, Rollout, Trial
from loriner.search.allowance import calls_a_question
from loriner.search.feedback_windows import asks_model
from loriner.store.database import Store

Stored = tuple[str, Mapping[str, Any]]
"""An event: its kind, and its data as JSON values."""


def renewed(store: Store, run_id: str, events: Sequence[Stored]) -> Iterable[Stored]:
    """The events of a run, with old shapes converted."""
    old = _Old(store, run_id, events)
    for kind, data in events:
        if kind == "start":
            yield kind, {"run_id": run_id, **data}
        elif kind == "round" and "tried" in data:
            yield kind, old.round(data)
        elif kind == "stood":
            yield "standing", old.standing(data)
        elif kind == "stopped":
            reason, _, why = data["why"].partition(": ")
            yield "end", {"reason": reason, "why": why}
        else:
            yield kind, data


class _Old:
    """What is read of a run to fill in what its old events lack."""

    def __init__(self, store: Store, run_id: str, events: Sequence[Stored]) -> None:
        self._store, self._run_id, self._events = store, run_id, events

    @cached_property
    def _rollouts(self) -> dict[tuple[str, int], Rollout]:
        return {(each.context_id, each.index): each for each in self._store.rollouts(self._run_id)}

    def _trials(self, harness_id: str, purpose: str, sample: int | None = 0) -> Sequence[Trial]:
        found = self._store.trials(self._run_id, harness_id=harness_id, purpose=purpose, with_calls=True)
        return [each for each in found if sample is None or each.sample == sample]

    def _mean(self, harness_id: str) -> float | None:
        return _evaluation(self._trials(harness_id, "grade")).mean_score

    def round(self, data: Mapping[str, Any]) -> dict[str, Any]:
        kept = {name: each for name, each in data.items() if name != "tried"}
        return {
            **kept,
            "grade": self._mean(data["current_id"]),
            "attempts": [self._attempt(data["parent_id"], each) for each in data["tried"]],
        }

    def _attempt(self, parent_id: str, tried: Mapping[str, Any]) -> dict[str, Any]:
        rollout = self._rollouts[tried["context_id"], tried["index"]]
        harness_id = rollout.candidate.id if rollout.candidate else None
        return {
            **tried,
            "harness_id": harness_id,
            "note": rollout.revision.note if rollout.revision else "",
            "code": rollout.failure.code if rollout.failure else "",
            "message": rollout.failure.message if rollout.failure else "",
            "before": self._mean(parent_id) if harness_id else None,
            "after": self._mean(harness_id) if harness_id else None,
            "considered": not tried["reason"].startswith(("not scored again", "not considered")),
        }

    def standing(self, data: Mapping[str, Any]) -> dict[str, Any]:
        harness_id = data["harness_id"]
        grade, test = self._trials(harness_id, "grade"), self._trials(harness_id, "test", None)
        first = [each for each in test if not each.sample]
        return {
            **data,
            "grade": _evaluation(grade).scores,
            "fresh": _evaluation(self._trials(harness_id, "grade", 1)).scores,
            "test": votes(test) if self._is_sampling(data["name"]) else _evaluation(first).scores,
            "calls_a_question": calls_a_question(test),
            "asks_model": any(map(asks_model, [*grade, *test])),
        }

    def _is_sampling(self, name: str) -> bool:
        starts = [data["mode"] for kind, data in self._events if kind == "start"]
        return name == "best" and starts[-1:] == ["sampling"]


def _evaluation(trials: Sequence[Trial]) -> Evaluation:
    return Evaluation(harness_id="", task="", purpose="", trials=tuple(trials))
