"""Figures of records as JSON values: intervals, scores, how a program stands, why a search ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loriner.events import End, Standing
from loriner.records import Usage
from loriner.report.scores import interval_of
from loriner.statistics import Interval


def of_scores(scores: Mapping[str, float] | None) -> dict[str, Any] | None:
    found = interval_of(scores) if scores else None
    return of_interval(found) if found else None


def of_interval(each: Interval) -> dict[str, Any]:
    return {"score": each.mean, "low": each.low, "high": each.high, "n": each.n}


def billed(spent: Usage) -> dict[str, Any]:
    """What calls cost, without the time that they took."""
    return {
        "calls": spent.calls,
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "usd": spent.usd,
    }


def usage(spent: Usage) -> dict[str, Any]:
    return {**billed(spent), "seconds": round(spent.seconds, 3)}


def stop(each: End) -> dict[str, Any]:
    """Why a search ended, and what a cap kept from being scored."""
    return {"reason": each.reason, "why": each.why, "missing": list(each.missing)}


def standing(each: Standing) -> dict[str, Any]:
    return {
        "harness": each.harness_id,
        "grade": of_scores(each.grade),
        "test": of_scores(each.test),
        "faults": dict(each.faults),
    }
