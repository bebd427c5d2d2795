"""Records as rows and back. What is counted or looked up has a column; texts are packed together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal

from loriner.models.base import ModelReply
from loriner.records import Call, Edit, Failure, Harness, Revision, Rollout, Status, Trial
from loriner.store.packing import pack, unpack
from loriner.store.writer import Batch, Fact

Row = Sequence[Any]
Part = Literal["solver", "proposer"]
PARTS: tuple[Part, ...] = ("solver", "proposer")
"""Who made a call: a trial's harness asks the solver, a rollout is the proposer's."""


def trial_fact(run_id: str, purpose: str, trial: Trial) -> Fact:
    """Records a trial with its calls, once; every infra_error is recorded, beside the trial that counts."""
    body = pack([trial.answer, trial.stdout, trial.error])
    texts = pack_calls(trial.calls)
    detail = trial.detail.encode("utf-8", "backslashreplace").decode()

    def fact(batch: Batch) -> None:
        run, harness = batch.run(run_id), batch.harness(trial.harness_id)
        task, question = batch.task(trial.task), batch.question(trial.question_id)
        new = batch.new_id("trials")
        attempt = batch.moment() if trial.status is Status.INFRA_ERROR else 0
        key = (new, run, harness, task, purpose, question, trial.sample, attempt)
        figures = (trial.score, trial.seconds, trial.cpu_s, trial.started)
        batch.add("trials", (*key, trial.status, detail, *figures))
        batch.add("payloads", (new, body, texts))
        for row in call_rows(run, "solver", new, trial.calls):
            batch.add("trial_calls", row)

    return fact


def call_rows(run: int, part: Part, owner: int, calls: Iterable[Call]) -> Iterable[tuple[Any, ...]]:
    """The figures of the calls, for the table `calls`."""
    for position, call in enumerate(calls):
        key = (run, PARTS.index(part), owner, position, call.kind, call.finish_reason)
        spent = (call.prompt_tokens, call.completion_tokens, call.usd, call.seconds, call.cached)
        yield (*key, *spent, call.started)


def pack_calls(calls: Sequence[Call]) -> bytes | None:
    """The texts of the calls, in their order; None for none."""
    return pack([_texts_of(call) for call in calls]) if calls else None


def _texts_of(call: Call) -> list[Any]:
    further = [dict(call.further)] if call.further else []
    return [dict(call.request), call.reply, call.error, *further]


def read_calls(texts: bytes | None, figures: Sequence[Row]) -> tuple[Call, ...]:
    """The calls, from their packed texts and from their figures (`kind` to `started`), both in order."""
    return tuple(
        Call(
            kind=kind,
            request=request,
            reply=reply,
            error=error,
            further=further[0] if further else {},
            finish_reason=finish_reason,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            usd=usd,
            seconds=seconds,
            cached=bool(cached),
            started=started,
        )
        for (request, reply, error, *further), (
            kind,
            finish_reason,
            prompt_tokens,
            completion_tokens,
            usd,
            seconds,
            cached,
            started,
        ) in zip(unpack(texts) if texts else (), figures, strict=True)
    )


def read_trial(row: Row, calls: tuple[Call, ...]) -> Trial:
    """The trial of a row (harness, task, question, sample, status, detail, score, seconds, cpu_s,
    started, body).
    """
    harness, task, question, sample, status, detail, score, seconds, cpu_s, started, body = row
    answer, stdout, error = unpack(body)
    return Trial(
        harness_id=harness,
        task=task,
        question_id=question,
        sample=sample,
        status=Status(status),
        detail=detail,
        answer=answer,
        score=score,
        calls=calls,
        seconds=seconds,
        cpu_s=cpu_s,
        stdout=stdout,
        error=error,
        started=started,
    )


_packed = lru_cache(maxsize=64)(pack)
"""Of sources: a program is handed over more than once in a round."""


def harness_fact(harness: Harness) -> Fact:
    """Records a harness's source, once."""
    harness_id, source = harness.id, _packed(harness.source)

    def fact(batch: Batch) -> None:
        n = batch.harness(harness_id)
        batch.execute("UPDATE harnesses SET source = ? WHERE n = ? AND source IS NULL", (source, n))

    return fact


def rollout_fact(run_id: str, rollout: Rollout) -> Fact:
    """Records a completion, what became of it and what it cost, once; and its candidate's source."""
    note, edits = revision_parts(rollout.revision)
    message = rollout.failure.message if rollout.failure else None
    body = pack([rollout.completion, note, edits, message])
    texts = pack_calls(rollout.calls)
    code = rollout.failure.code if rollout.failure else None
    keep = harness_fact(rollout.candidate) if rollout.candidate else None

    def fact(batch: Batch) -> None:
        run, new = batch.run(run_id), batch.new_id("rollouts")
        if keep:
            keep(batch)
        candidate = batch.harness(rollout.candidate.id) if rollout.candidate else None
        key = (new, run, rollout.context_id, rollout.index)
        batch.add("rollouts", (*key, candidate, code, body, texts))
        for row in call_rows(run, "proposer", new, rollout.calls):
            batch.add("rollout_calls", row)

    return fact


def read_rollout(row: Row, source: Callable[[int], Harness], calls: tuple[Call, ...]) -> Rollout:
    """The rollout of a row (context, place, candidate, code, body)."""
    context, place, candidate, code, body = row
    completion, note, edits, message = unpack(body)
    return Rollout(
        context_id=context,
        index=place,
        completion=completion,
        revision=read_revision(note, edits),
        candidate=None if candidate is None else source(candidate),
        failure=None if code is None else Failure(code, message),
        calls=calls,
    )


def revision_parts(revision: Revision | None) -> tuple[str, list[list[str]] | None]:
    """A revision as JSON values: its note, and its edits as pairs; None for no revision."""
    if revision is None:
        return "", None
    return revision.note, [[edit.old, edit.new] for edit in revision.edits]


def read_revision(note: str, edits: list[list[str]] | None) -> Revision | None:
    """The revision of such parts."""
    return None if edits is None else Revision(edits=tuple(Edit(old, new) for old, new in edits), note=note)


def reply_fact(key: str, reply: ModelReply) -> Fact:
    """Records a model's reply under a key, once: the first one stays."""
    body = pack(
        [
            reply.text,
            reply.finish_reason,
            reply.prompt_tokens,
            reply.completion_tokens,
            reply.usd,
            reply.seconds,
            reply.cached,
            dict(reply.usage),
            *([dict(reply.further)] if reply.further else []),
        ]
    )
    return lambda batch: batch.add("cache", (key, body))


def read_reply(body: bytes) -> ModelReply:
    """The reply that was recorded."""
    text, finish_reason, prompt_tokens, completion_tokens, usd, seconds, cached, usage, *further = unpack(
        body
    )
    return ModelReply(
        text=text,
        finish_reason=finish_reason,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        usd=usd,
        seconds=seconds,
        cached=cached,
        usage=usage,
        further=further[0] if further else {},
    )
