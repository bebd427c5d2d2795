"""Stored facts as files for other tools: trials, and sets to train a proposer on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from loriner.errors import ConfigError, StoreError
from loriner.records import Evaluation, Rollout
from loriner.store.database import Store
from loriner.store.packing import unpack
from loriner.store.parquet import SHAPES, write_parquet
from loriner.store.registry import Registry

T = TypeVar("T")
Rows = Iterator[dict[str, Any]]


def export(store: Store, what: str, format: str, out: Path) -> int:
    """How many rows were written; the file appears whole or not at all.

    `what` is `trials` (one row a trial, every infra_error included), `sft` (one a revision that was accepted
    or scored above its parent, as chat messages) or `grpo` (one a context, with its rollouts). `format` is
    `jsonl` or `parquet`.

    Raises:
        ConfigError: `what` or `format` is none of these.
        MissingExtra: parquet without pyarrow.
        StoreError: the store cannot be read, or the file not be written.
    """
    rows = _chosen("what", what, _ROWS)(store)
    write = _chosen("format", format, {"jsonl": _write_jsonl, "parquet": write_parquet})
    unfinished = out.with_name(out.name + ".part")
    try:
        n_rows = write(rows, unfinished, what)
        unfinished.replace(out)
    except OSError as error:
        raise StoreError(f"writing {out}: {error.strerror or error}") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return n_rows


def _chosen(name: str, value: str, known: Mapping[str, T]) -> T:
    if value not in known:
        raise ConfigError(f"there is no export {name} {value!r}: choose one of {', '.join(known)}")
    return known[value]


def _write_jsonl(rows: Iterable[Mapping[str, Any]], out: Path, _: str) -> int:
    n_rows = 0
    with out.open("w", encoding="ascii") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")
            n_rows += 1
        file.flush()
        os.fsync(file.fileno())
    return n_rows


_TRIALS = """
SELECT t.run, t.harness, t.task, t.purpose, t.question, t.sample, t.attempt, t.status, t.detail, t.score,
       t.seconds, t.cpu_s, count(c.owner), coalesce(sum(c.prompt_tokens), 0),
       coalesce(sum(c.completion_tokens), 0),
       CASE WHEN count(c.owner) = count(c.usd) THEN coalesce(sum(c.usd), 0.0) END, p.body
FROM trial_rows t CROSS JOIN payloads p ON p.trial = t.id CROSS JOIN runs r ON r.id = t.run
LEFT JOIN calls c ON c.run = r.n AND c.part = 0 AND c.owner = t.id AND c.kind = 'model'
GROUP BY t.id ORDER BY t.id
"""
_COLUMNS = tuple(SHAPES["trials"])


def _trial_rows(store: Store) -> Rows:
    for *figures, body in store.reader.stream(_TRIALS):
        yield dict(zip(_COLUMNS, [*figures, *unpack(body)], strict=True))


def _sft_rows(store: Store) -> Rows:
    accepted = _accepted(store)
    for run, context, rollout in _rollouts(store):
        if rollout.candidate is None:
            continue
        parent = context["harness"]
        before, after = (
            _grade(store, run, context["task"], each)["score"] for each in (parent, rollout.candidate.id)
        )
        chosen = (run, rollout.candidate.id) in accepted
        better = before is not None and after is not None and after > before
        if chosen or better:
            yield {
                **context,
                "index": rollout.index,
                "messages": [*_prompt(rollout), {"role": "assistant", "content": rollout.completion}],
                "candidate": rollout.candidate.id,
                "candidate_source": rollout.candidate.source,
                "parent_score": before,
                "score": after,
                "accepted": chosen,
            }


def _grpo_rows(store: Store) -> Rows:
    group: dict[str, Any] = {}
    for run, context, rollout in _rollouts(store):
        if (group.get("run"), group.get("context")) != (run, context["context"]):
            if group:
                yield group
            group = {**context, "messages": _prompt(rollout), "rollouts": []}
        candidate = rollout.candidate.id if rollout.candidate else None
        group["rollouts"].append(
            {
                "index": rollout.index,
                "completion": rollout.completion,
                "code": rollout.failure.code if rollout.failure else None,
                "candidate": candidate,
                **_grade(store, run, context["task"], candidate),
            }
        )
    if group:
        yield group


def _rollouts(store: Store) -> Iterator[tuple[str, dict[str, Any], Rollout]]:
    """Each rollout with its run and with what is known of its context, context by context."""
    for (run,) in store.reader.rows("SELECT id FROM runs ORDER BY n"):
        contexts = {context.id: context for context in store.contexts(run)}
        for rollout in store.rollouts(run):
            context = contexts.get(rollout.context_id)
            yield (
                run,
                {
                    "run": run,
                    "context": rollout.context_id,
                    "task": context.task if context else None,
                    "round": context.round if context else None,
                    "harness": context.harness.id if context else None,
                    "source": context.harness.source if context else None,
                },
                rollout,
            )


def _prompt(rollout: Rollout) -> list[dict[str, str]]:
    """What the proposer's model was asked; nothing for a proposer that is no model."""
    asked = [call.request.get("messages", []) for call in rollout.calls if call.kind == "model"]
    return [dict(message) for message in asked[-1]] if asked else []


def _grade(store: Store, run: str, task: str | None, harness_id: str | None) -> dict[str, Any]:
    """How a harness fared on the grade questions of a run's task."""
    trials = store.trials(run, harness_id=harness_id, task=task, purpose="grade") if harness_id else []
    evaluation = Evaluation(
        harness_id=harness_id or "", task=task or "", purpose="grade", trials=tuple(trials)
    )
    return {
        "score": evaluation.mean_score,
        "completion_rate": evaluation.completion_rate,
        "n": len(evaluation.scores),
    }


def _accepted(store: Store) -> set[tuple[str, str]]:
    """(run, harness id) of every version of a task."""
    registry = Registry.open(store.path.parent)
    return {(entry.run, entry.harness_id) for task in registry.tasks() for entry in registry.log(task)}


_ROWS: dict[str, Callable[[Store], Rows]] = {"trials": _trial_rows, "sft": _sft_rows, "grpo": _grpo_rows}
