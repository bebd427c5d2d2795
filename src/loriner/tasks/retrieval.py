"""BM25 over a corpus of passages, and the `search` tool over it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loriner.errors import MissingExtra
from loriner.tasks.base import Tool

MAX_HITS = 50
"""The most passages that one search returns, whatever is asked for."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a corpus. Two passages are the same only if title and text are: titles repeat."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    passage: Passage
    score: float
    """Above 0."""


class Bm25:
    """An index of passages (title and text together), English stop words removed.

    A search returns only passages that share a word with the query, equal scores in the order of the corpus.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Indexes the passages.

        Raises:
            MissingExtra: bm25s is not installed.
        """
        if importlib.util.find_spec("bm25s") is None:
            raise MissingExtra("qa", "retrieval")
        self.passages = tuple(passages)
        tokens = _tokenise([f"{passage.title}. {passage.text}" for passage in passages])
        self._index = _index(tokens) if any(tokens) else None

    def search(self, query: str, k: int = 5) -> list[Hit]:
        """At most k hits, best first."""
        (tokens,) = _tokenise([query])
        if self._index is None or k < 1:
            return []
        known = [token for token in tokens if token in self._index.vocab_dict]
        if not known:
            return []
        scores = self._index.get_scores(known)
        found = scores.nonzero()[0].tolist()
        best = sorted(found, key=lambda place: (-scores[place], place))[: min(k, MAX_HITS)]
        return [Hit(self.passages[place], float(scores[place])) for place in best if scores[place] > 0]


def search_tool(index: Bm25) -> Tool:
    """The tool `search(query, k=5)`: a list of objects with `title` and `text`, best first."""

    async def search(query: Any, k: Any = 5) -> list[dict[str, str]]:
        if not isinstance(query, str):
            raise ValueError(f"search: query must be text; found {type(query).__name__}")
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ValueError(f"search: k must be a whole number from 1; found {k!r}")
        return [{"title": hit.passage.title, "text": hit.passage.text} for hit in index.search(query, k)]

    return search


def _bm25s() -> Any:
    """The library, with JAX kept on the CPU.

    Where JAX is installed it is started with the library, and would take most of a GPU's memory for nothing.
    """
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import bm25s

    return bm25s


def _tokenise(texts: list[str]) -> list[list[str]]:
    tokens: list[list[str]] = _bm25s().tokenize(texts, stopwords="en", return_ids=False, show_progress=False)
    return tokens


def _index(tokens: list[list[str]]) -> Any:
    index = _bm25s().BM25()
    index.index(tokens, show_progress=False)
    return index
