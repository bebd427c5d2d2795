"""Search in the handbook: BM25 over its sections, titles included."""

import math
import re
from collections import Counter
from pathlib import Path

_SATURATION = 1.2
_LENGTH_WEIGHT = 0.75


def _words(text):
    return re.findall(r"\w+", text.casefold())


def _sections(text):
    """Title and text of each section that begins with `## `."""
    parts = (part.split("\n", 1) for part in text.split("\n## ")[1:])
    return [{"title": title.strip(), "text": body.strip()} for title, body in parts]


_SECTIONS = _sections((Path(__file__).parent / "handbook.md").read_text(encoding="utf-8"))
_COUNTS = [Counter(_words(section["title"] + " " + section["text"])) for section in _SECTIONS]
_LENGTH = sum(counts.total() for counts in _COUNTS) / len(_COUNTS)
_HOLDING = Counter(word for counts in _COUNTS for word in counts)


def search(query, k=5):
    """At most k sections that share a word with the query, best first, each with title and text."""
    words = set(_words(query))
    scored = [(_relevance(words, counts), -place) for place, counts in enumerate(_COUNTS)]
    best = sorted((each for each in scored if each[0] > 0), reverse=True)[: max(k, 0)]
    return [_SECTIONS[-place] for _, place in best]


def _relevance(words, counts):
    shorter = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * counts.total() / _LENGTH
    return sum(_rarity(word) * _weight(counts[word], shorter) for word in words)


def _rarity(word):
    holding = _HOLDING[word]
    return math.log(1 + (len(_COUNTS) - holding + 0.5) / (holding + 0.5))


def _weight(count, shorter):
    return count * (_SATURATION + 1) / (count + _SATURATION * shorter)
