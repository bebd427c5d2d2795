"""Rows in = rows out: whatever the records hold, the store gives it back, from any number of writers."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loriner.records import Call, Edit, Failure, Harness, Revision, Rollout, Status, Trial, Usage
from loriner.store.check import check
from loriner.store.database import Store
from loriner.store.merge import merge
from loriner.store.packing import pack, unpack

# Every character, lone surrogates and NUL too: replies of a model may hold anything.
TEXTS = st.text(st.characters(), max_size=300)
PLAIN = st.text(max_size=20)
IDS = st.text("0123456789abcdef", min_size=1, max_size=4)
AMOUNTS = st.floats(0, 1e6, allow_nan=False)
COUNTS = st.integers(0, 2**40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)

CALLS = st.builds(
    Call,
    kind=st.sampled_from(["model", "search", "run_python"]),
    request=st.dictionaries(PLAIN, JSON, max_size=3),
    reply=TEXTS,
    finish_reason=PLAIN,
    prompt_tokens=COUNTS,
    completion_tokens=COUNTS,
    usd=st.none() | AMOUNTS,
    seconds=AMOUNTS,
    cached=st.booleans(),
    error=TEXTS,
)
TRIALS = st.builds(
    Trial,
    harness_id=IDS,
    task=PLAIN,
    question_id=PLAIN,
    sample=st.integers(0, 3),
    status=st.sampled_from([status for status in Status if status is not Status.INFRA_ERROR]),
    detail=PLAIN,
    answer=TEXTS,
    score=st.floats(0, 1),
    calls=st.lists(CALLS, max_size=3).map(tuple),
    seconds=AMOUNTS,
    cpu_s=AMOUNTS,
    stdout=TEXTS,
    error=TEXTS,
)
REVISIONS = st.builds(
    Revision, edits=st.lists(st.builds(Edit, TEXTS, TEXTS), max_size=3).map(tuple), note=TEXTS
)
MADE = st.tuples(REVISIONS, st.builds(Harness, PLAIN), st.none())
FAILED = st.tuples(st.none() | REVISIONS, st.none(), st.builds(Failure, PLAIN, TEXTS))


@st.composite
def rollouts(draw: st.DrawFn) -> Rollout:
    revision, candidate, failure = draw(MADE | FAILED)
    return Rollout(
        context_id=draw(PLAIN),
        index=draw(st.integers(0, 7)),
        completion=draw(TEXTS),
        revision=revision,
        candidate=candidate,
        failure=failure,
        calls=tuple(draw(st.lists(CALLS, max_size=2))),
    )


SLOW_DISK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(JSON)
def test_packing_loses_nothing(value: object) -> None:
    assert unpack(pack(value)) == value
    assert unpack(pack([value, "long " * 100])) == [value, "long " * 100]


@SLOW_DISK
@given(st.lists(st.tuples(st.sampled_from(["feedback", "grade", "test"]), TRIALS), max_size=12))
def test_trials_in_are_trials_out(given_trials: list[tuple[str, Trial]]) -> None:
    first = {}
    for purpose, trial in given_trials:
        key = (trial.harness_id, trial.task, purpose, trial.question_id, trial.sample)
        first.setdefault(key, trial)

    with tempfile.TemporaryDirectory() as home:
        store = Store.open(Path(home))
        run = store.start_run("evaluate", config={}, seed=0)

        async def record() -> None:
            await asyncio.gather(*(store.add_trial(run, purpose, trial) for purpose, trial in given_trials))

        asyncio.run(record())
        assert store.trials(run, with_calls=True) == [first[key] for key in sorted(first)]
        for harness_id, task, purpose, _, _ in first:
            asked = (harness_id, task, purpose)
            found = store.trials(run, harness_id=harness_id, task=task, purpose=purpose, with_calls=True)
            assert found == [first[key] for key in sorted(first) if key[:3] == asked]
        paid = [
            call
            for trial in first.values()
            for call in trial.calls
            if call.kind == "model" and not call.cached
        ]
        usage = store.usage(run)
        assert (usage.calls, usage.prompt_tokens) == (len(paid), sum(call.prompt_tokens for call in paid))
        assert (usage.usd is None) == any(call.usd is None for call in paid)
        assert store.usage(run, "proposer") == Usage()
        store.close()


@SLOW_DISK
@given(st.lists(rollouts(), max_size=8))
def test_rollouts_in_are_rollouts_out(given_rollouts: list[Rollout]) -> None:
    first: dict[tuple[str, int], Rollout] = {}
    for rollout in given_rollouts:
        first.setdefault((rollout.context_id, rollout.index), rollout)

    with tempfile.TemporaryDirectory() as home:
        store = Store.open(Path(home))
        run = store.start_run("adapt", config={}, seed=0)

        async def record() -> None:
            for rollout in given_rollouts:
                await store.add_rollout(run, rollout)

        asyncio.run(record())
        assert store.rollouts(run) == [first[key] for key in sorted(first)]
        for (context_id, index), rollout in first.items():
            assert store.rollout(run, context_id, index) == rollout
        store.close()


@settings(SLOW_DISK, max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 2), TRIALS), max_size=12), st.permutations([1, 2]))
def test_shards_merge_to_what_one_store_would_hold(parts: list[tuple[int, Trial]], order: list[int]) -> None:
    with tempfile.TemporaryDirectory() as place:
        homes = [Path(place) / str(n) for n in range(3)]
        store = Store.open(homes[0])
        run = store.start_run("evaluate", config={}, seed=0)
        store.close()
        for home in homes[1:]:
            shutil.copytree(homes[0], home)

        async def record(shard: int) -> None:
            store = Store.open(homes[shard])
            for trial in (trial for n, trial in parts if n == shard):
                await store.add_trial(run, "grade", trial)
            store.close()

        for shard in range(3):
            asyncio.run(record(shard))
        for _ in range(2):
            for shard in order:
                merge(homes[0], homes[shard])
        first: dict[tuple[str, str, str, int], Trial] = {}
        for shard in (0, *order):
            for trial in (trial for n, trial in parts if n == shard):
                first.setdefault((trial.harness_id, trial.task, trial.question_id, trial.sample), trial)
        store = Store.open(homes[0])
        assert store.trials(run, with_calls=True) == [first[key] for key in sorted(first)]
        assert store.usage(run).calls == sum(
            call.kind == "model" and not call.cached for trial in first.values() for call in trial.calls
        )
        store.close()
        assert check(homes[0]).problems == ()
