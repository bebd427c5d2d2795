"""What `--json` prints: one document for each command, made of the engine's records."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer

from loriner.events import Attempt, Standing
from loriner.records import Rollout, Trial, Usage
from loriner.report.figures import of_scores, standing, stop, usage
from loriner.search.caveats import remarks
from loriner.search.history import Adaptation
from loriner.store.runs import RunRow
from loriner.verbs.diagnose import Diagnosed
from loriner.verbs.propose import Proposals


def emit(document: Any) -> None:
    """Prints one JSON document on stdout."""
    spelt = not (sys.stdout.encoding or "").lower().startswith("utf")
    typer.echo(json.dumps(document, ensure_ascii=spelt, indent=2))


def trial(each: Trial) -> dict[str, Any]:
    return {
        "question": each.question_id,
        "status": str(each.status),
        "detail": each.detail,
        "score": each.score,
        "seconds": round(each.seconds, 3),
        "calls": len(each.calls),
    }


def proposals(found: Proposals) -> dict[str, Any]:
    return {
        "run": found.run_id,
        "task": found.task,
        "proposer": found.proposer,
        "harness": found.harness.id,
        "candidates": [
            {
                "code": each.failure.code if each.failure else None,
                "message": each.failure.message if each.failure else None,
                "reply": each.completion if each.failure else None,
                "harness": each.candidate.id if each.candidate else None,
                "source": each.candidate.source if each.candidate else None,
            }
            for each in found.rollouts
        ],
    }


def adaptation(episode: Adaptation, solver: str, spent: Usage) -> dict[str, Any]:
    return {
        "run": episode.run_id,
        "task": episode.start.task,
        "solver": solver,
        "proposer": episode.start.proposer,
        "seed": standing(episode.seed),
        "best": standing(episode.best),
        "candidate": None if episode.candidate is None else unconfirmed(episode.candidate),
        "stopped": stop(episode.stopped),
        "constant": of_scores(episode.start.constant_scores),
        "copied": of_scores(episode.start.copied_scores),
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


def unconfirmed(each: Standing) -> dict[str, Any]:
    """A program that led and was not accepted, with what was missing."""
    return {**standing(each), "reason": each.reason}


def _attempt(each: Attempt) -> dict[str, Any]:
    return {
        "code": each.code or None,
        "grade": each.after,
        "harness": each.harness_id,
        "reason": each.reason or None,
    }


def rollout(each: Rollout) -> dict[str, Any]:
    return {
        "context": each.context_id,
        "index": each.index,
        "code": each.failure.code if each.failure else None,
        "message": each.failure.message if each.failure else None,
        "reply": each.completion if each.failure else None,
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


def faults(diagnosed: Diagnosed) -> list[dict[str, Any]]:
    return [
        {
            "harness": trial.harness_id,
            "question": trial.question_id,
            "fault": str(each.fault),
            "evidence": each.evidence,
            "where": each.where,
        }
        for trial, each in diagnosed.found
    ]
