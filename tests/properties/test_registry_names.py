"""Any name of a task becomes a legal reference, and no two share one."""

from __future__ import annotations

import tempfile
from pathlib import Path

from dulwich.refs import Ref, check_ref_format
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loriner.records import Harness, Version
from loriner.store import ref_names
from loriner.store.blame import blame
from loriner.store.commit_message import Evidence, VersionEntry, message_of, read_entry
from loriner.store.registry import Registry

NAMES = st.text(min_size=1, max_size=20) | st.text("rg:./~.lock@{%- ", min_size=1, max_size=12)
NUMBERS = st.none() | st.floats(0, 1).map(lambda x: round(x, 4))
COUNTS = st.dictionaries(st.sampled_from(["crash", "format", "api_misuse"]), st.integers(0, 500), max_size=3)
HEX = st.text("0123456789abcdef", min_size=64, max_size=64)


@given(NAMES)
@example("rg:lock")
@example("a::b")
@example(":x")
@example("@")
@example("a~b")
def test_a_task_name_is_a_legal_reference_and_comes_back(name: str) -> None:
    ref = ref_names.task_ref(name)
    assert check_ref_format(Ref(ref.encode()))
    assert ref_names.decoded(ref_names.encoded(name)) == name
    assert ref_names.encoded(name).encode().count(b"/") == 0
    assert ref_names.task_ref(name) in ref_names.candidates(name)


def test_the_usual_name_stays_readable() -> None:
    assert ref_names.task_ref("rg:count_primes") == "refs/heads/tasks/rg.count_primes"


@given(NAMES, NAMES)
def test_no_two_names_share_a_reference(one: str, other: str) -> None:
    assert (ref_names.encoded(one) == ref_names.encoded(other)) == (one == other)


@given(
    st.builds(
        VersionEntry,
        sha=st.just("a" * 40),
        subject=st.text(max_size=200),
        when=st.just("2026-11-29T18:24:03Z"),
        run=st.sampled_from(["20261129-182403-k3f9", "r"]),
        round=st.integers(0, 99),
        parent_id=st.none() | HEX,
        harness_id=HEX,
        reverts_to=st.none() | st.just("b" * 40),
        score=NUMBERS,
        evidence=st.builds(
            Evidence,
            proposer=st.sampled_from(["", "catalogue", "http://localhost:8000/v1::Qwen"]),
            parent_score=NUMBERS,
            n_trials=st.integers(0, 10_000),
            usd=NUMBERS,
            faults_before=COUNTS,
            faults_after=COUNTS,
        ),
    )
)
def test_a_commit_message_says_all_that_the_entry_holds(entry: VersionEntry) -> None:
    read = read_entry(entry.sha, entry.parents, message_of(entry), 1_795_976_643, entry.harness_id)
    for name in ("run", "round", "parent_id", "harness_id", "reverts_to", "score", "evidence"):
        assert getattr(read, name) == getattr(entry, name), name
    assert "\n" not in read.subject and len(read.subject) <= 100


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "    x = 1"]), max_size=8)


@settings(max_examples=25, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=5, unique_by=tuple))
def test_blame_covers_the_program_and_each_line_stood_in_its_version(programs: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as home:
        registry = Registry.open(Path(home))
        harnesses = [Harness("".join(line + "\n" for line in lines)) for lines in programs]
        for number, harness in enumerate(harnesses):
            version = Version(
                harness_id=harness.id,
                parent_id=harnesses[number - 1].id if number else None,
                episode_id="run",
                round=number,
                revision=None,
                mean_score=None,
                accepted=True,
            )
            registry.commit(version, harness, task="t", evidence=Evidence())
        lines = blame(registry, "t")
        assert [line.text for line in lines] == programs[-1]
        for line in lines:
            since = programs[line.entry.round :]
            assert all(line.text in lines_then for lines_then in since), "it stood there ever since"
