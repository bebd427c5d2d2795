"""Trials as JSON values, for other programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from loriner.records import Call
from loriner.report.trials.viewer import Listing, Seen


def listing_document(found: Listing) -> dict[str, Any]:
    """The trials of a page, without their calls."""
    return {
        "run": found.run_id,
        "n": None if found.filter.fault else found.n,
        "more": found.next is not None,
        "trials": [trial_document(each) for each in found.seen],
    }


def trial_document(seen: Seen, *, whole: bool = False) -> dict[str, Any]:
    """One trial; `whole` adds its calls and what it printed."""
    trial, known = seen.trial, seen.question
    found: dict[str, Any] = {
        "trial": seen.number,
        "task": trial.task,
        "split": seen.purpose,
        "harness": trial.harness_id,
        "round": seen.round,
        "question_id": trial.question_id,
        "sample": trial.sample,
        "question": known.text if known else None,
        "expected": known.target if known else None,
        "unknown": seen.missing or None,
        "answer": trial.answer,
        "score": trial.score,
        "status": str(trial.status),
        "detail": trial.detail,
        "fault": seen.fault or None,
        "evidence": seen.diagnosis.evidence if seen.diagnosis else None,
        "seconds": round(trial.seconds, 3),
        "n_calls": len(trial.calls),
    }
    if whole:
        found |= {
            "calls": [_call(each) for each in trial.calls],
            "stdout": trial.stdout,
            "error": trial.error,
        }
    return found


def _call(call: Call) -> dict[str, Any]:
    return {**asdict(call), "request": dict(call.request)}
