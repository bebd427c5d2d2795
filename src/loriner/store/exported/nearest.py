"""Questions with their right answers, ranked by nearness to a query. Standard library only.

The same code ranks during a run and beside an exported program, so both get the same examples in the same
order. Nothing here is random.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

MAX_K = 50
"""The most examples that one call returns, whatever is asked for."""
MAX_CHARACTERS = 200_000
"""Of questions and answers, in one call."""
QUERY_CHARACTERS = 20_000
"""What is read of a query."""
K1, B = 1.5, 0.75
"""Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009."""
_SINGLE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Kana and Chinese characters: they are written without blanks, so each counts as a word."""
_WORD = re.compile(f"[{_SINGLE}]|[^\\W{_SINGLE}]+")


class Examples:
    """An index of questions with their answers."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        """`pairs` of question and answer, in the order that decides between equals."""
        self.pairs = list(pairs)
        self._words = [words(question) for question, _ in self.pairs]
        self._keys = [_key(question) for question, _ in self.pairs]
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for place, found in enumerate(self._words):
            for word, n in Counter(found).items():
                self._postings.setdefault(word, []).append((place, n))
        self._mean_length = sum(map(len, self._words)) / max(len(self._words), 1) or 1.0
        self._spread = spread([answer for _, answer in self.pairs])

    def find(self, query: object = None, k: object = 5, *, without: str = "") -> list[dict[str, str]]:
        """At most k examples: with a query the nearest first, and without one unlike answers first.

        Those whose question has the words of the query, or of `without`, are left out. Where too few share a
        word with the query, the rest are as without one.

        Raises:
            ValueError: the query is no text, or k no whole number from 1.
        """
        if not isinstance(query, str | None):
            raise ValueError(f"query must be text or None; found {type(query).__name__}")
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ValueError(f"k must be a whole number from 1; found {k!s:.40}")
        query = (query or "")[:QUERY_CHARACTERS]
        places = dict.fromkeys([*self._nearest(words(query)), *self._spread])
        hidden = {_key(query), _key(without)}
        return self._shown((place for place in places if self._keys[place] not in hidden), min(k, MAX_K))

    def _nearest(self, asked: Collection[str]) -> list[int]:
        """The places of those that share a word, nearest first (BM25); equals in order."""
        scores: dict[int, float] = {}
        for word in dict.fromkeys(asked):
            held = self._postings.get(word, [])
            weight = math.log(1 + (len(self.pairs) - len(held) + 0.5) / (len(held) + 0.5))
            for place, n in held:
                length = len(self._words[place]) / self._mean_length
                scores[place] = scores.get(place, 0.0) + weight * n * (K1 + 1) / (
                    n + K1 * (1 - B + B * length)
                )
        return sorted(scores, key=lambda place: (-scores[place], place))

    def _shown(self, places: Iterable[int], k: int) -> list[dict[str, str]]:
        shown: list[dict[str, str]] = []
        left = MAX_CHARACTERS
        for place in places:
            question, answer = self.pairs[place]
            left -= len(question) + len(answer)
            if len(shown) == k or left < 0:
                break
            shown.append({"question": question, "answer": answer})
        return shown


def words(text: str) -> list[str]:
    """The words and numbers of a text, in lower case."""
    return _WORD.findall(text.lower())


def _key(question: str) -> str:
    """What two questions have in common that are the same: words, or signs where there are none."""
    return " ".join(words(question) or question.split())


def spread(answers: Iterable[str]) -> list[int]:
    """Places of the answers in turns: each answer once, in order, then those that come a second time."""
    seen: Counter[str] = Counter()
    turns: list[tuple[int, int]] = []
    for place, answer in enumerate(answers):
        turns.append((seen[answer], place))
        seen[answer] += 1
    return [place for _, place in sorted(turns)]


def examples_of(file: Path) -> Callable[..., list[dict[str, str]]]:
    """The tool `examples(query=None, k=5)` over a file with one JSON object a line: question and answer."""
    rows = [
        json.loads(line)
        for line in file.read_text(encoding="utf-8", errors="surrogatepass").split("\n")
        if line.strip()
    ]
    index = Examples((row["question"], row["answer"]) for row in rows)

    def examples(query: object = None, k: object = 5) -> list[dict[str, str]]:
        return index.find(query, k)

    return examples
