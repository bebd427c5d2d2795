"""BM25: what a search finds, and the inputs on which retrieval libraries have failed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("bm25s")

from loriner.tasks.retrieval import MAX_HITS, Bm25, Passage, search_tool

CATS = [
    Passage("Cats", "Cats purr at night."),
    Passage("Dogs", "Dogs bark."),
    Passage("Fish", "Fish swim at night."),
]


def titles(index: Bm25, query: str, k: int = 5) -> list[str]:
    return [hit.passage.title for hit in index.search(query, k)]


def test_a_search_finds_what_shares_a_word():
    index = Bm25(CATS)
    assert titles(index, "Who barks? dogs!") == ["Dogs"]
    assert titles(index, "night") == ["Cats", "Fish"]
    assert titles(index, "night", 1) == ["Cats"]


def test_more_is_asked_for_than_there_is():
    """xhluca/bm25s 116, PR 122: k above the number of passages raised."""
    assert len(Bm25(CATS).search("night", 1000)) == 2
    many = Bm25([Passage(str(i), "night") for i in range(200)])
    assert len(many.search("night", 1000)) == MAX_HITS


def test_equal_passages_score_alike():
    """xhluca/bm25s 127: one of two equal matches scored 0."""
    hits = Bm25([Passage("a", "blue whale"), Passage("a", "blue whale"), Passage("b", "")]).search("whale")
    assert len(hits) == 2
    assert hits[0].score == hits[1].score > 0


def test_a_word_in_half_of_a_tiny_corpus_still_counts():
    """dorianbrown/rank_bm25 50: all scores were 0."""
    assert titles(Bm25([Passage("a", "hello there"), Passage("b", "windy day")]), "windy") == ["b"]


@pytest.mark.parametrize("passages", [[], [Passage("", "")], [Passage("", " "), Passage("", "the of")]])
def test_a_corpus_without_words_has_no_hits(passages):
    """deepset-ai/haystack 11598: division by zero."""
    assert Bm25(passages).search("anything") == []


@pytest.mark.parametrize("query", ["", "   ", "the of and", "xyzzy", "?!", "\x00", "a"])
def test_a_query_that_matches_nothing_has_no_hits(query):
    """bm25s itself returns the last passages with score 0."""
    assert Bm25(CATS).search(query) == []


@given(st.lists(st.text(), max_size=6), st.text(), st.integers(-3, 100))
def test_no_text_breaks_it(texts, query, k):
    hits = Bm25([Passage(text[:3], text) for text in texts]).search(query, k)
    assert len(hits) <= max(0, min(k, len(texts)))
    assert all(hit.score > 0 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


async def test_the_tool_gives_plain_data_and_names_misuse():
    search = search_tool(Bm25(CATS))
    assert await search(query="dogs") == [{"title": "Dogs", "text": "Dogs bark."}]
    for bad in (0, -1, "3", 2.0, True, None):
        with pytest.raises(ValueError, match="k must be a whole number"):
            await search(query="dogs", k=bad)
    with pytest.raises(ValueError, match="query must be text; found list"):
        await search(query=["dogs"])


def test_jax_is_kept_off_the_gpu(tmp_path):
    """bm25s starts JAX where it is installed, and JAX takes most of a GPU's memory as it starts."""
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("import os\nprint(os.environ.get('JAX_PLATFORMS'))\n")
    code = "from loriner.tasks.retrieval import Bm25, Passage; Bm25([Passage('a', 'b')])"
    kept = {name: value for name, value in os.environ.items() if name != "JAX_PLATFORMS"}
    path = os.pathsep.join([str(tmp_path), *sys.path])
    run = subprocess.run(
        [sys.executable, "-c", code], env={**kept, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert run.stdout.split() == ["cpu"], run.stderr
