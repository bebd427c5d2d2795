"""Laws of the examples that a program is shown, over any questions and queries."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from loriner.records import Harness
from loriner.store.exported.nearest import MAX_K, Examples, examples_of, words
from loriner.store.harness_folder import export_harness

questions = st.one_of(
    st.text(min_size=1, max_size=40), st.lists(st.sampled_from("abc12?"), min_size=1).map(" ".join)
)
pairs = st.lists(st.tuples(questions, st.text(max_size=5)), max_size=12)
queries = st.none() | questions


@given(pairs, queries, st.integers(1, 10**30), questions)
def test_the_present_question_is_never_among_them_and_there_are_at_most_k(
    known: list[tuple[str, str]], query: str | None, k: int, present: str
) -> None:
    found = Examples([*known, (present, "x")]).find(query, k, without=present)
    assert len(found) <= min(k, MAX_K)
    for each in found:
        assert each["question"] != present
        assert not words(present) or words(each["question"]) != words(present)


@given(pairs, queries, st.integers(1, 20))
def test_each_is_a_known_item_and_stands_once(
    known: list[tuple[str, str]], query: str | None, k: int
) -> None:
    left = list(known)
    for each in Examples(known).find(query, k):
        left.remove((each["question"], each["answer"]))


@given(pairs, queries)
def test_a_longer_answer_begins_with_the_shorter_one(known: list[tuple[str, str]], query: str | None) -> None:
    index = Examples(known)
    whole = index.find(query, 20)
    assert all(index.find(query, k) == whole[:k] for k in range(1, 13))
    assert Examples(list(known)).find(query, 20) == whole


@given(pairs, queries)
def test_an_exported_folder_shows_the_same(known: list[tuple[str, str]], query: str | None) -> None:
    source = "from tools import examples\n\n\ndef solve(model, question):\n    return examples(question)\n"
    with TemporaryDirectory() as folder:
        export_harness(Harness(source), Path(folder), known)
        exported = examples_of(Path(folder) / "examples.jsonl")(query, 20)
    assert json.dumps(exported) == json.dumps(Examples(known).find(query, 20))
