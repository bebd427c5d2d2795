"""The facts of a report as JSON values, for other programs."""

from __future__ import annotations

from typing import Any

from loriner.events import Standing
from loriner.report.comparison.results import Comparison, Contrast, Method
from loriner.report.comparison.verdicts import remarks, verdict
from loriner.report.facts import Candidate, Episode
from loriner.report.figures import billed, of_interval, of_scores
from loriner.report.verdicts import bottleneck, outcome
from loriner.statistics import Paired


def document(found: Comparison | Episode) -> dict[str, Any]:
    """The facts of an adaptation or a comparison."""
    return comparison_document(found) if isinstance(found, Comparison) else episode_document(found)


def episode_document(episode: Episode) -> dict[str, Any]:
    """Seed and best with their scores, every candidate, and the bill."""
    best = episode.best
    return {
        "run": episode.run_id,
        "status": episode.status,
        "mode": episode.start.mode,
        "task": episode.start.task,
        "solver": episode.start.solver,
        "proposer": episode.start.proposer,
        "seed_of_draws": episode.start.seed,
        "verdict": outcome(episode),
        "plateau": episode.plateau.verdict if episode.plateau else None,
        "bottleneck": bottleneck(best) if best and best.grade else None,
        "constant": of_scores(episode.start.constant_scores),
        "copied": of_scores(episode.start.copied_scores),
        "seed": _standing(episode.seed),
        "best": _standing(best),
        "candidate": _standing(episode.candidate),
        "stopped": str(episode.end) if episode.end else None,
        "oracle": _standing(episode.oracle),
        "candidates": [_candidate(each) for each in episode.candidates],
        "spent": {each.part: billed(each.usage) for each in episode.spent},
        "invalid": dict(episode.invalid),
        "statuses": dict(episode.statuses),
    }


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """The methods, every two of them against each other, and the arms."""
    return {
        "run": comparison.run_id,
        "status": comparison.status,
        "equal": comparison.unit,
        "tasks": list(comparison.tasks),
        "verdict": verdict(comparison),
        "remarks": list(remarks(comparison)),
        "modes": [_method(each) for each in comparison.methods],
        "contrasts": [_contrast(each) for each in comparison.contrasts],
        "arms": [
            {
                "task": arm.task,
                "mode": arm.mode,
                "seed": arm.seed,
                "run": arm.run_id,
                "allowance": arm.allowance,
                "status": episode.status if episode else None,
                "test": of_scores(episode.test) if episode else None,
            }
            for arm, episode in comparison.arms
        ],
    }


def _method(each: Method) -> dict[str, Any]:
    return {
        "mode": each.name,
        "test": of_interval(each.test),
        "gain": _paired(each.gain),
        "seeds": each.n_seeds,
        "arms": each.n_arms,
        "solver_calls": each.solver_calls,
        "proposer_calls": each.proposer_calls,
        "search": billed(each.search),
        "calls_a_question": each.served,
        "accepted": each.accepted,
    }


def _contrast(each: Contrast) -> dict[str, Any]:
    return {
        "first": each.first,
        "second": each.second,
        **(_paired(each.paired) or {}),
        "p_adjusted": each.p_adjusted,
        "told_apart": each.told,
    }


def _standing(each: Standing | None) -> dict[str, Any] | None:
    if each is None:
        return None
    return {
        "harness": each.harness_id,
        "grade": of_scores(each.grade),
        "fresh": of_scores(each.fresh),
        "test": of_scores(each.test),
        "faults": dict(each.faults),
        "calls_a_question": each.calls_a_question,
        **({"reason": each.reason} if each.reason else {}),
    }


def _candidate(each: Candidate) -> dict[str, Any]:
    return {
        "round": each.round,
        "index": each.attempt.index,
        "harness": each.attempt.harness_id,
        "parent": each.parent_id,
        "code": each.attempt.code or None,
        "grade": of_interval(each.grade) if each.grade else None,
        "effect": _paired(each.effect),
        "accepted": each.attempt.accepted,
        "reason": each.attempt.reason,
        "structure": each.growth or None,
    }


def _paired(each: Paired | None) -> dict[str, Any] | None:
    if each is None:
        return None
    found = each.difference
    return {"difference": found.mean, "low": found.low, "high": found.high, "n": each.n, "p": each.p_value}
