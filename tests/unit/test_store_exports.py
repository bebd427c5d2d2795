"""Contexts, exports, merging, checking and bisecting, on a small episode that was really recorded."""

from __future__ import annotations

import importlib.util
import io
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from loriner.cli.watching import view
from loriner.errors import ConfigError, MissingExtra, StoreError
from loriner.events import Round
from loriner.records import (
    Call,
    Context,
    Edit,
    Failure,
    Fault,
    FeedbackTrial,
    Harness,
    PastRevision,
    Revision,
    Rollout,
    Status,
    Trial,
    Version,
)
from loriner.search.history import tell
from loriner.store.bisect import bisect
from loriner.store.check import check
from loriner.store.commit_message import Evidence
from loriner.store.connection import FILE_NAME
from loriner.store.database import Store
from loriner.store.export import export
from loriner.store.merge import merge
from loriner.store.registry import Registry

SEED = Harness("def solve(model, question):\n    return model(question)\n")
GOOD = Harness("def solve(model, question):\n    return model(question).strip()\n")
WORSE = Harness("def solve(model, question):\n    return ''\n")
PROMPT = [{"role": "system", "content": "Revise."}, {"role": "user", "content": SEED.source}]


TASK = "rg:count_primes"


def trial(
    harness: Harness, question: str, score: float | None, status: Status | None = None, task: str = TASK
) -> Trial:
    call = Call(
        kind="model",
        request={"messages": [{"role": "user", "content": question}]},
        reply="4 \ud800",
        prompt_tokens=5,
        completion_tokens=2,
        usd=0.125,
    )
    return Trial(
        task=task,
        harness_id=harness.id,
        question_id=question,
        status=status or (Status.OK if score == 1.0 else Status.WRONG),
        score=score,
        answer="4 \ud800",
        calls=(call,),
    )


def context() -> Context:
    wrong = trial(SEED, "q9", 0.0)
    return Context(
        id="c1",
        task="rg:count_primes",
        description="Count.",
        tools=("run_python",),
        round=1,
        harness=SEED,
        feedback=(
            FeedbackTrial(question="How many?", target="4", trial=wrong, fault=Fault.FORMAT),
            FeedbackTrial(question="And?", target="5", trial=trial(SEED, "q8", 1.0), fault=None),
        ),
        history=(
            PastRevision(round=0, summary="s", before=0.1, after=None, accepted=False, code="no_edits"),
        ),
    )


def rollouts() -> list[Rollout]:
    asked = (Call(kind="model", request={"messages": PROMPT}, reply="…", usd=0.5),)
    edit = Revision(edits=(Edit("a\n", "b\n"),))
    return [
        Rollout(
            context_id="c1",
            index=0,
            completion="strip it",
            revision=edit,
            candidate=GOOD,
            failure=None,
            calls=asked,
        ),
        Rollout(context_id="c1", index=1, completion="drop it", revision=edit, candidate=WORSE, failure=None),
        Rollout(
            context_id="c1",
            index=2,
            completion="?",
            revision=None,
            candidate=None,
            failure=Failure("no_edits", "found no block"),
        ),
    ]


async def episode(home: Path, *, questions: tuple[str, ...] = ("q1", "q2")) -> str:
    """The id of a run with a seed, one round of three rollouts, and one accepted version."""
    store = Store.open(home)
    run = store.start_run("adapt", config={"task": "rg:count_primes"}, seed=0)
    await store.add_harness(SEED)
    await store.add_context(run, context())
    for rollout in rollouts():
        await store.add_rollout(run, rollout)
    for question in questions:
        await store.add_trial(run, "grade", trial(SEED, question, 1.0 if question == "q1" else 0.0))
        await store.add_trial(run, "grade", trial(GOOD, question, 1.0))
        await store.add_trial(run, "grade", trial(WORSE, question, 0.0))
    await store.add_trial(run, "grade", trial(GOOD, "q1", None, Status.INFRA_ERROR))
    made = Round(number=1, parent_id=SEED.id, current_id=GOOD.id, grade=1.0, n_calls=0, attempts=())
    await tell(store, run, made)
    store.finish_run(run, "done", {"best": 1.0})
    store.close()
    registry = Registry.open(home)
    for number, (harness, parent, score) in enumerate(((SEED, None, 0.5), (GOOD, SEED, 1.0))):
        version = Version(
            harness_id=harness.id,
            parent_id=parent.id if parent else None,
            episode_id=run,
            round=number,
            revision=None,
            mean_score=score,
            accepted=True,
        )
        registry.commit(version, harness, task="rg:count_primes", evidence=Evidence())
    return run


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_a_context_comes_back_as_it_was_shown(tmp_path: Path) -> None:
    run = await episode(tmp_path)
    store = Store.open(tmp_path)
    assert store.contexts(run) == [context()]
    await store.add_context(run, context())
    assert len(store.contexts(run)) == 1
    store.close()


async def test_trials_are_exported_row_by_row(tmp_path: Path) -> None:
    run = await episode(tmp_path)
    store = Store.open(tmp_path)
    assert export(store, "trials", "jsonl", tmp_path / "trials.jsonl") == 7
    store.close()
    rows = lines(tmp_path / "trials.jsonl")
    first = rows[0]
    assert (first["run"], first["harness"], first["question"], first["score"]) == (run, SEED.id, "q1", 1.0)
    assert (first["answer"], first["calls"], first["prompt_tokens"], first["usd"]) == (
        "4 \ud800",
        1,
        5,
        0.125,
    )
    assert [row["status"] for row in rows].count("infra_error") == 1
    assert "trials.jsonl" in names(tmp_path) and "trials.jsonl.part" not in names(tmp_path)


async def test_sft_rows_are_the_revisions_that_helped(tmp_path: Path) -> None:
    run = await episode(tmp_path)
    store = Store.open(tmp_path)
    assert export(store, "sft", "jsonl", tmp_path / "sft.jsonl") == 1
    store.close()
    (row,) = lines(tmp_path / "sft.jsonl")
    assert row["messages"] == [*PROMPT, {"role": "assistant", "content": "strip it"}]
    assert (row["source"], row["candidate_source"]) == (SEED.source, GOOD.source)
    assert (row["parent_score"], row["score"], row["accepted"]) == (0.5, 1.0, True)
    assert (row["run"], row["context"], row["task"], row["round"]) == (run, "c1", "rg:count_primes", 1)


async def test_grpo_rows_are_the_contexts_with_their_rollouts(tmp_path: Path) -> None:
    await episode(tmp_path)
    store = Store.open(tmp_path)
    assert export(store, "grpo", "jsonl", tmp_path / "grpo.jsonl") == 1
    store.close()
    (row,) = lines(tmp_path / "grpo.jsonl")
    assert row["source"] == SEED.source and row["messages"] == PROMPT
    assert isinstance(row["rollouts"], list)
    kept = [(each["index"], each["code"], each["score"], each["n"]) for each in row["rollouts"]]
    assert kept == [(0, None, 1.0, 2), (1, None, 0.0, 2), (2, "no_edits", None, 0)]


@pytest.mark.parametrize("what", ["trials", "sft", "grpo"])
async def test_parquet_holds_the_same_rows(tmp_path: Path, what: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    await episode(tmp_path)
    store = Store.open(tmp_path)
    n_rows = export(store, what, "parquet", tmp_path / "rows.parquet")
    export(store, what, "jsonl", tmp_path / "rows.jsonl")
    store.close()
    text = (tmp_path / "rows.jsonl").read_text().replace("\\ud800", "\\\\ud800")
    wanted = [json.loads(line) for line in text.splitlines()]
    assert parquet.read_table(tmp_path / "rows.parquet").to_pylist() == wanted
    assert n_rows == len(wanted)


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is not None, reason="pyarrow is installed")
async def test_parquet_without_its_extra_names_the_install_line(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    with pytest.raises(MissingExtra, match=r"pip install 'loriner\[parquet\]'"):
        export(store, "trials", "parquet", tmp_path / "t.parquet")
    store.close()


def test_an_unknown_export_names_the_known_ones(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    with pytest.raises(ConfigError, match="trials, sft, grpo"):
        export(store, "dpo", "jsonl", tmp_path / "x")
    with pytest.raises(ConfigError, match="jsonl, parquet"):
        export(store, "sft", "csv", tmp_path / "x")
    with pytest.raises(StoreError, match="nowhere"):
        export(store, "sft", "jsonl", tmp_path / "nowhere" / "x")
    store.close()


async def test_merging_takes_everything_once(tmp_path: Path) -> None:
    mine = await episode(tmp_path / "a")
    other = await episode(tmp_path / "b", questions=("q1", "q2", "q3"))
    assert merge(tmp_path / "a", tmp_path / "b").n_rows > 20
    assert merge(tmp_path / "a", tmp_path / "b").n_rows == 0
    merged, source = Store.open(tmp_path / "a"), Store.open(tmp_path / "b")
    assert {row.id for row in merged.runs()} == {mine, other}
    assert merged.trials(other, with_calls=True) == source.trials(other, with_calls=True)
    assert merged.rollouts(other) == source.rollouts(other)
    assert merged.contexts(other) == source.contexts(other)
    assert merged.usage(other) == source.usage(other)
    assert merged.events(other) == source.events(other)
    assert merged.run(other) == source.run(other)
    assert len(merged.trials(mine)) == 6
    merged.close()
    source.close()
    assert check(tmp_path / "a").problems == ()


async def test_shards_of_one_run_become_one(tmp_path: Path) -> None:
    run = await episode(tmp_path / "a")
    shard = tmp_path / "b"
    shard.mkdir()
    (shard / FILE_NAME).write_bytes((tmp_path / "a" / FILE_NAME).read_bytes())
    for home, question in ((tmp_path / "a", "q3"), (shard, "q3"), (shard, "q4")):
        store = Store.open(home)
        await store.add_trial(run, "grade", replace(trial(GOOD, question, 1.0), answer=home.name))
        store.close()
    merge(tmp_path / "a", shard)
    store = Store.open(tmp_path / "a")
    answers = {
        each.question_id: each.answer for each in store.trials(run, harness_id=GOOD.id, with_calls=True)
    }
    assert answers == {"q1": "4 \ud800", "q2": "4 \ud800", "q3": "a", "q4": "b"}
    store.close()
    assert check(tmp_path / "a").problems == ()


async def test_two_runs_of_one_id_stay_two(tmp_path: Path) -> None:
    """Ids were once of four letters, and two nodes could draw the same one in the same second."""
    name = "20261129-182403-k3f9"
    for home, seed in (("a", 1), ("b", 2)):
        store = Store.open(tmp_path / home)
        run = store.start_run("compare", config={}, seed=seed, draw=lambda: name)
        arm = store.start_run(
            "adapt", config={}, seed=seed, parent=run, draw=lambda home=home: f"arm-of-{home}"
        )
        await store.add_trial(run, "grade", replace(trial(GOOD, "q1", 1.0), answer=home))
        await store.add_event(arm, "start", {"home": home})
        store.finish_run(run, "done", {"home": home})
        store.close()
    merged = merge(tmp_path / "a", tmp_path / "b")
    (new,) = merged.renamed.values()
    assert list(merged.renamed) == [name] and new.startswith(name) and len(new) == len(name) + 8
    again = merge(tmp_path / "a", tmp_path / "b")
    assert (again.n_rows, again.renamed) == (0, merged.renamed)
    store = Store.open(tmp_path / "a")
    for run, home, seed in ((name, "a", 1), (new, "b", 2)):
        assert [each.answer for each in store.trials(run, with_calls=True)] == [home]
        assert (store.run(run).seed, store.run(run).summary) == (seed, {"home": home})
        assert store.runs_below(run) == [f"arm-of-{home}"]
    assert store.run(name).id == name  # in full, though the longer id begins with it
    store.close()
    assert check(tmp_path / "a").problems == ()


def test_an_id_that_is_held_or_recorded_is_drawn_again(tmp_path: Path) -> None:
    store, other = Store.open(tmp_path), Store.open(tmp_path)
    held = store.start_run("adapt", config={}, seed=0)
    done = store.start_run("adapt", config={}, seed=0)
    store.finish_run(done, "done", {})
    ids = iter([held, done, "20261129-182403-k3f9"])
    assert other.start_run("adapt", config={}, seed=1, draw=lambda: next(ids)) == "20261129-182403-k3f9"
    assert (store.run(held).seed, store.run(done).status) == (0, "done")
    other.close()
    assert store.resume_run("k3f9").id == "20261129-182403-k3f9"  # an id of an older release
    store.close()


def test_merging_needs_another_store(tmp_path: Path) -> None:
    Store.open(tmp_path / "a").close()
    with pytest.raises(ConfigError, match="holds no store"):
        merge(tmp_path / "a", tmp_path / "b")
    with pytest.raises(ConfigError, match="the store to merge into"):
        merge(tmp_path / "a", tmp_path / "a")


async def test_a_sound_store_has_no_problems(tmp_path: Path) -> None:
    assert check(tmp_path).problems == ()
    await episode(tmp_path)
    report = check(tmp_path)
    assert report.problems == ()
    assert (report.counts["trials"], report.counts["calls"], report.counts["versions"]) == (7, 8, 2)


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        ("DELETE FROM questions", "refers to a row of questions"),
        ("DELETE FROM payloads WHERE trial = 1", "1 trials without their payload"),
        ("UPDATE harnesses SET source = (SELECT max(source) FROM harnesses)", "not what its id says"),
        ("UPDATE harnesses SET source = x'00' WHERE n = 1", "cannot be read"),
        ("DELETE FROM versions", "refers to a row of versions"),
        ("INSERT INTO schema_version VALUES (99, '')", "newer release"),
        ("DROP INDEX events_of_run", None),
    ],
)
async def test_check_finds_what_is_wrong(tmp_path: Path, damage: str, word: str | None) -> None:
    await episode(tmp_path)
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute(damage)
    connection.commit()
    connection.close()
    problems = check(tmp_path).problems
    assert any(word in problem for problem in problems) if word else not problems


async def test_check_reports_a_damaged_file_in_words(tmp_path: Path) -> None:
    await episode(tmp_path)
    path = tmp_path / FILE_NAME
    content = bytearray(path.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    path.write_bytes(content)
    assert any("damaged" in problem for problem in check(tmp_path).problems)
    path.write_bytes(b"nonsense" * 1000)
    assert any("no SQLite database" in problem for problem in check(tmp_path).problems)


async def test_bisect_names_the_version_from_which_a_question_is_wrong(tmp_path: Path) -> None:
    run = await episode(tmp_path)
    store, registry = Store.open(tmp_path), Registry.open(tmp_path)
    better = bisect(store, registry, run, "q2")
    assert [step.score for step in better.steps] == [0.0, 1.0]
    assert better.first_wrong is None and better.last_right == better.steps[1]

    version = Version(
        harness_id=WORSE.id,
        parent_id=GOOD.id,
        episode_id=run,
        round=2,
        revision=None,
        mean_score=0.0,
        accepted=True,
    )
    sha = registry.commit(version, WORSE, task="rg:count_primes", evidence=Evidence())
    worse = bisect(store, registry, run, "q1")
    assert [step.score for step in worse.steps] == [1.0, 1.0, 0.0]
    assert worse.last_right == worse.steps[1]
    assert worse.first_wrong is not None and worse.first_wrong.entry.sha == sha
    with pytest.raises(ConfigError, match=r"no version of run .* has a scored trial"):
        bisect(store, registry, run, "q77")
    store.close()


async def two_tasks(home: Path) -> str:
    """A run over two tasks whose questions have equal ids: the revision helps the one and harms the other."""
    run = await episode(home)
    store = Store.open(home)
    other = "rg:gcd"
    await store.add_context(run, replace(context(), id="c2", task=other))
    await store.add_rollout(run, replace(rollouts()[0], context_id="c2"))
    for question in ("q1", "q2"):
        await store.add_trial(run, "grade", trial(SEED, question, 1.0, task=other))
        await store.add_trial(run, "grade", trial(GOOD, question, 0.0, task=other))
    store.close()
    return run


async def test_a_run_over_several_tasks_exports_the_scores_of_each(tmp_path: Path) -> None:
    await two_tasks(tmp_path)
    store = Store.open(tmp_path)
    export(store, "sft", "jsonl", tmp_path / "sft.jsonl")
    export(store, "grpo", "jsonl", tmp_path / "grpo.jsonl")
    store.close()
    rows = {row["task"]: (row["parent_score"], row["score"]) for row in lines(tmp_path / "sft.jsonl")}
    assert rows[TASK] == (0.5, 1.0)
    scores = {row["task"]: row["rollouts"][0]["score"] for row in lines(tmp_path / "grpo.jsonl")}
    assert scores == {TASK: 1.0, "rg:gcd": 0.0}


async def test_watch_shows_the_mean_of_each_task(tmp_path: Path) -> None:
    run = await two_tasks(tmp_path)
    store, screen = Store.open(tmp_path), Console(width=140, record=True, file=io.StringIO())
    screen.print(view(store, run))
    store.close()
    rows = [line.split("│")[1:-1] for line in screen.export_text().splitlines() if GOOD.id[:10] in line]
    means = {cells[0].strip(): cells[4].strip() for cells in rows}
    assert means == {TASK: "1.00", "rg:gcd": "0.00"}


async def test_bisect_does_not_mix_tasks(tmp_path: Path) -> None:
    run = await two_tasks(tmp_path)
    store, registry = Store.open(tmp_path), Registry.open(tmp_path)
    with pytest.raises(ConfigError, match=r"'q2' in 2 tasks \(rg:count_primes, rg:gcd\): name one"):
        bisect(store, registry, run, "q2")
    assert [step.score for step in bisect(store, registry, run, "q2", task=TASK).steps] == [0.0, 1.0]
    assert [step.score for step in bisect(store, registry, run, "q2", task="rg:gcd").steps] == [1.0, 0.0]
    store.close()
