"""The store through its public face: real files, real threads."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from loriner.errors import ConfigError, StoreError
from loriner.models.base import ModelReply
from loriner.records import (
    Call,
    Context,
    Edit,
    Failure,
    FeedbackTrial,
    Harness,
    PastRevision,
    Revision,
    Rollout,
    Status,
    Trial,
    Usage,
)
from loriner.store.database import Store
from loriner.store.packing import unpack
from loriner.store.writer import LINGER_S

HARNESS = Harness("def solve(model, question):\n    return model(question)\n")


def trial(
    question: str = "q1", *, status: Status = Status.OK, score: float | None = 1.0, **more: object
) -> Trial:
    return Trial(task="t", harness_id=HARNESS.id, question_id=question, status=status, score=score, **more)  # type: ignore[arg-type]


def call(usd: float | None = 0.25, *, cached: bool = False, kind: str = "model") -> Call:
    request = {"messages": [{"role": "user", "content": "2 + 2?"}], "temperature": 0.0}
    return Call(
        kind=kind,
        request=request,
        reply="4",
        finish_reason="stop",
        prompt_tokens=10,
        completion_tokens=3,
        usd=usd,
        seconds=0.5,
        cached=cached,
    )


async def test_a_trial_comes_back_as_it_went_in(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run = store.start_run("evaluate", config={"task": "rg:count_primes"}, seed=7)
    whole = trial(answer="4", stdout="hm\n", error="", seconds=1.5, cpu_s=0.2, calls=(call(), call(None)))
    await store.add_trial(run, "grade", whole)
    assert store.trials(run, with_calls=True) == [whole]
    assert store.trials(run)[0].calls == ()
    assert store.trials(run, harness_id=HARNESS.id, purpose="grade")[0].answer == "4"
    assert store.trials(run, harness_id="0" * 64) == []
    assert store.trials(run, purpose="test") == []
    store.close()


async def test_when_trials_and_calls_began_is_kept(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run = store.start_run("evaluate", config={}, seed=0)
    asked = replace(call(), started=1_790_000_001.25)
    await store.add_trial(run, "grade", trial(started=1_790_000_000.5, calls=(asked, call())))
    (kept,) = store.trials(run, with_calls=True)
    assert [kept.started, *(each.started for each in kept.calls)] == [1_790_000_000.5, 1_790_000_001.25, None]
    store.close()


async def test_a_finished_trial_counts_once_and_an_infra_error_never_blocks_it(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run = store.start_run("evaluate", config={}, seed=0)
    for seconds in (1.0, 2.0):
        failed = trial(status=Status.INFRA_ERROR, score=None, detail="503", seconds=seconds, calls=(call(),))
        await store.add_trial(run, "grade", failed)
    assert [each.seconds for each in store.trials(run)] == [2.0], "the last try stands in"
    await store.add_trial(run, "grade", trial(answer="first", calls=(call(),)))
    await store.add_trial(run, "grade", trial(answer="again", calls=(call(),)))
    await store.add_trial(run, "grade", trial(status=Status.INFRA_ERROR, score=None))
    assert [each.answer for each in store.trials(run, with_calls=True)] == ["first"]
    assert {tally.status: tally.n for tally in store.tallies(run)} == {Status.OK: 1, Status.INFRA_ERROR: 3}
    assert store.usage(run).calls == 3, "failed tries were paid too; the repeated trial was not kept"
    store.close()


async def test_the_same_question_under_another_purpose_sample_or_run_is_another_trial(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    one, two = (store.start_run("adapt", config={}, seed=0) for _ in range(2))
    await store.add_trial(one, "grade", trial())
    await store.add_trial(one, "grade", trial(sample=1))
    await store.add_trial(one, "test", trial())
    await store.add_trial(two, "grade", trial())
    assert [len(store.trials(run)) for run in (one, two)] == [3, 1]
    store.close()


async def test_a_reopened_store_knows_everything(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run = store.start_run("adapt", config={"rounds": 2}, seed=5, parent="20260101-000000-abcd")
    await store.add_harness(HARNESS)
    await store.add_event(run, "accepted", {"round": 1, "p": 0.01})
    await store.replies.put("key", ModelReply(text="hi", usd=None, usage={"total": 3}))
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.add_harness(HARNESS)

    again = Store.open(tmp_path)
    row = again.run(run)
    assert (row.command, row.status, row.config, row.seed) == ("adapt", "killed", {"rounds": 2}, 5)
    assert row.parent == "20260101-000000-abcd"
    assert again.harness(HARNESS.id[:8]) == HARNESS
    assert [(event.kind, event.data) for event in again.events(run)] == [
        ("accepted", {"round": 1, "p": 0.01})
    ]
    assert again.replies.get("key") == ModelReply(text="hi", usd=None, usage={"total": 3})
    assert again.replies.get("other") is None
    again.close()


async def test_rollouts_keep_the_edit_or_the_reason(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run = store.start_run("adapt", config={}, seed=0)
    revision = Revision(edits=(Edit("    return model(question)\n", "    return '4'\n"),), note="shorter")
    made = Rollout(
        context_id="c1",
        index=0,
        completion="…",
        revision=revision,
        candidate=Harness("def solve(model, question):\n    return '4'\n"),
        failure=None,
        calls=(call(0.5),),
    )
    failed = Rollout(
        context_id="c1",
        index=1,
        completion="no blocks",
        revision=None,
        candidate=None,
        failure=Failure("no_edits", "found no SEARCH block"),
    )
    for rollout in (failed, made, made):
        await store.add_rollout(run, rollout)
    assert store.rollouts(run) == [made, failed]
    assert store.rollout(run, "c1", 1) == failed
    assert store.rollout(run, "c1", 2) is None
    assert store.harness(made.candidate.id) == made.candidate if made.candidate else False
    store.close()


async def test_usage_is_summed_over_sessions_and_split_by_who_asked(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run = store.start_run("adapt", config={}, seed=0)
    await store.add_trial(run, "grade", trial("q1", calls=(call(), call(kind="search"), call(cached=True))))
    store.finish_run(run, "budget", {})
    store.close()
    store = Store.open(tmp_path)
    assert store.run(run).status == "budget"
    assert store.resume_run(run).status == "running"
    await store.add_trial(run, "grade", trial("q2", calls=(call(0.5),)))
    rollout = Rollout(
        context_id="c",
        index=0,
        completion="",
        revision=None,
        candidate=None,
        failure=Failure("x", "y"),
        calls=(call(1.0),),
    )
    await store.add_rollout(run, rollout)
    solver = Usage(calls=2, prompt_tokens=20, completion_tokens=6, usd=0.75, seconds=1.0)
    proposer = Usage(calls=1, prompt_tokens=10, completion_tokens=3, usd=1.0, seconds=0.5)
    assert store.usage(run, "solver") == solver
    assert store.usage(run, "proposer") == proposer
    assert store.usage(run) == solver + proposer
    await store.add_trial(run, "grade", trial("q3", calls=(call(None),)))
    assert store.usage(run).usd is None, "one call without a price: the sum is unknown, not smaller"
    assert store.run(run).n_sessions == 2
    store.close()


async def test_a_run_cost_its_calls_those_of_its_arms_and_its_wall_time(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run = store.start_run("compare", config={}, seed=0)
    arm = store.start_run("adapt", config={}, seed=0, parent=run)
    begun = store.run(run).seconds
    for number in range(3):
        await store.add_trial(arm, "grade", trial(f"q{number}", calls=(call(),)))
    spent = store.spent(run)
    assert (spent.calls, spent.usd) == (3, 0.75)
    assert begun < spent.seconds <= store.run(run).seconds < 1.5, "not the 1.5 s of the calls"
    assert store.usage(arm).seconds == 1.5
    assert store.spent(arm).seconds <= store.run(arm).seconds < 1.5
    store.close()


def test_a_run_is_found_by_enough_of_its_id(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    with pytest.raises(ConfigError, match="holds no run yet"):
        store.run("2026")
    ids = [store.start_run("adapt", config={}, seed=0) for _ in range(3)]
    assert len(set(ids)) == 3
    assert [row.id for row in store.runs(limit=2)] == ids[:0:-1]
    assert store.run(ids[0]).id == store.run(ids[0][-4:]).id == ids[0]
    with pytest.raises(ConfigError, match="3 runs match"):
        store.run("20")
    with pytest.raises(ConfigError, match=f"nearest: .*{ids[1]}"):
        store.resume_run(ids[1][:-1] + "!")
    store.close()


def test_a_run_ends_in_a_known_way(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run = store.start_run("adapt", config={"home": tmp_path}, seed=0)
    store.finish_run(run, "done", {"best": 0.5})
    row = store.run(run)
    assert (row.status, row.summary) == ("done", {"best": 0.5})
    assert row.finished is not None and row.finished >= row.started
    with pytest.raises(ValueError, match="'finished'"):
        store.finish_run(run, "finished", {})
    store.close()


async def test_a_bad_row_fails_alone(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run = store.start_run("adapt", config={}, seed=0)
    facts = [store.add_trial(run, "grade", trial(f"q{n}")) for n in range(20)]
    facts.insert(7, store.add_trial("no-such-run", "grade", trial()))
    facts.insert(9, store.add_trial(run, "grade", trial("huge", sample=2**70)))
    results = await asyncio.gather(*facts, return_exceptions=True)
    assert [type(result) for result in results if result is not None] == [StoreError, OverflowError]
    assert len(store.trials(run)) == 20
    store.close()


async def test_a_cancelled_wait_still_leaves_the_row(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run = store.start_run("adapt", config={}, seed=0)
    waiting = asyncio.create_task(store.add_trial(run, "grade", trial()))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    store.close()
    again = Store.open(tmp_path)
    assert len(again.trials(run)) == 1
    again.close()


async def test_an_ambiguous_harness_id_says_so(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    for n in range(40):
        await store.add_harness(Harness(f"def solve(model, question):\n    return {n}\n"))
    with pytest.raises(ConfigError, match="more than one harness"):
        store.harness("")
    assert store.harness("z") is None
    store.close()


def shown(n: int) -> Context:
    """A context whose history has so many revisions."""
    return Context(
        id=f"c{n}",
        task="t",
        description="Add.",
        tools=("search",),
        round=n,
        harness=HARNESS,
        feedback=(FeedbackTrial(question="2 + 2?", target="4", trial=trial(), fault=None),),
        history=PAST[:n],
    )


PAST = tuple(
    PastRevision(round=n, summary=f"revision {n}", before=0.5, after=None, accepted=False) for n in range(6)
)


async def test_a_history_that_grows_is_kept_once_and_comes_back_whole(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run, other = (store.start_run("adapt", config={}, seed=0) for _ in range(2))
    for n in (0, 1, 3):
        await store.add_context(run, shown(n))
    await store.add_context(other, shown(2))
    store.close()
    store = Store.open(tmp_path)  # a resumed run tells again what is there, and goes on
    apart = replace(shown(5), id="apart", history=PAST[1:4])
    for each in (shown(0), shown(3), shown(4), apart, shown(5)):
        await store.add_context(run, each)
    assert store.contexts(run) == [shown(0), shown(1), shown(3), shown(4), apart, shown(5)]
    assert store.contexts(other) == [shown(2)]
    bodies = store.reader.rows("SELECT body FROM contexts ORDER BY id")
    assert [len(unpack(body)["history"]) for (body,) in bodies] == [0, 1, 2, 2, 1, 3, 5]
    store.close()


async def test_what_is_not_urgent_waits_for_others_and_no_longer_than_a_moment(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run = store.start_run("evaluate", config={}, seed=0)
    waiting = asyncio.create_task(store.add_trial(run, "grade", trial("q1"), at_once=False))
    await asyncio.sleep(0)
    store.note(run, "evaluated", {"n": 1})
    assert store.trials(run) == [] and not waiting.done()
    await store.add_trial(run, "grade", trial("q2"))
    assert waiting.done() and len(store.trials(run)) == 2, "one commit brings all"
    assert [event.kind for event in store.events(run)] == ["evaluated"]
    await asyncio.wait_for(store.add_trial(run, "grade", trial("q3"), at_once=False), 20 * LINGER_S)
    flushed = asyncio.create_task(store.add_trial(run, "grade", trial("q4"), at_once=False))
    await asyncio.sleep(0)
    store.flush()
    await flushed
    store.note(run, "evaluated", {"n": 2})
    store.close()
    again = Store.open(tmp_path)
    assert len(again.trials(run)) == 4 and len(again.events(run)) == 2, "closing leaves nothing behind"
    again.close()
