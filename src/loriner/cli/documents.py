"""What `--json` prints: one document for each command, made of the engine's records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from loriner.events import End
from loriner.records import Evaluation, Harness, Rollout, Trial, Usage
from loriner.search.episode import Adaptation, Attempt, Standing
from loriner.search.remarks import remarks
from loriner.statistics import Interval, interval
from loriner.store.runs import RunRow


def emit(document: Any) -> None:
    """Prints one JSON document on stdout."""
    typer.echo(json.dumps(document, ensure_ascii=False, indent=2))


def score(evaluation: Evaluation | None) -> dict[str, Any] | None:
    """Mean with 95 % interval and n; None where nothing was evaluated."""
    return None if evaluation is None else of_interval(interval(list(evaluation.scores.values())))


def _of_scores(scores: Mapping[str, float]) -> dict[str, Any] | None:
    return of_interval(interval(list(scores.values()))) if scores else None


def of_interval(each: Interval) -> dict[str, Any]:
    return {"score": each.mean, "low": each.low, "high": each.high, "n": each.n}


def usage(spent: Usage) -> dict[str, Any]:
    return {
        "calls": spent.calls,
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "usd": spent.usd,
        "seconds": round(spent.seconds, 3),
    }


def trial(each: Trial) -> dict[str, Any]:
    return {
        "question": each.question_id,
        "status": str(each.status),
        "detail": each.detail,
        "score": each.score,
        "seconds": round(each.seconds, 3),
        "calls": len(each.calls),
    }


def proposals(
    run: str, task: str, proposer: str, harness: Harness, rollouts: Sequence[Rollout]
) -> dict[str, Any]:
    return {
        "run": run,
        "task": task,
        "proposer": proposer,
        "harness": harness.id,
        "candidates": [
            {
                "code": each.failure.code if each.failure else None,
                "message": each.failure.message if each.failure else None,
                "harness": each.candidate.id if each.candidate else None,
                "source": each.candidate.source if each.candidate else None,
            }
            for each in rollouts
        ],
    }


def adaptation(episode: Adaptation, solver: str, spent: Usage) -> dict[str, Any]:
    return {
        "run": episode.run_id,
        "task": episode.task,
        "solver": solver,
        "proposer": episode.proposer,
        "seed": standing(episode.seed),
        "best": standing(episode.best),
        "candidate": None if episode.candidate is None else unconfirmed(episode.candidate),
        "stopped": stop(episode.stopped),
        "constant": _of_scores(episode.start.constant_scores),
        "copied": _of_scores(episode.start.copied_scores),
        "remarks": remarks(episode),
        "rounds": [
            {
                "round": each.number,
                "candidates": [_attempt(one) for one in each.attempts],
                "accepted": each.accepted is not None,
            }
            for each in episode.rounds
        ],
        "usage": usage(spent),
    }


def stop(each: End) -> dict[str, Any]:
    """Why a search ended, and what a cap kept from being scored."""
    return {"reason": each.reason, "why": each.why, "missing": list(each.missing)}


def standing(each: Standing) -> dict[str, Any]:
    return {
        "harness": each.harness.id,
        "grade": score(each.grade),
        "test": score(each.test),
        "faults": {str(fault): n for fault, n in each.faults.most_common()},
    }


def unconfirmed(each: Standing) -> dict[str, Any]:
    """A program that led and was not accepted, with what was missing."""
    return {**standing(each), "reason": each.reason}


def _attempt(each: Attempt) -> dict[str, Any]:
    rollout = each.rollout
    return {
        "code": rollout.failure.code if rollout.failure else None,
        "grade": each.grade.mean_score if each.grade else None,
        "harness": rollout.candidate.id if rollout.candidate else None,
        "reason": each.decision.reason if each.decision else None,
    }


def rollout(each: Rollout) -> dict[str, Any]:
    return {
        "context": each.context_id,
        "index": each.index,
        "code": each.failure.code if each.failure else None,
        "message": each.failure.message if each.failure else None,
        "harness": each.candidate.id if each.candidate else None,
    }


def run(row: RunRow, spent: Usage) -> dict[str, Any]:
    return {
        "run": row.id,
        "command": row.command,
        "status": row.status,
        "seed": row.seed,
        "started": row.started,
        "finished": row.finished,
        "summary": dict(row.summary),
        "usage": usage(spent),
    }
