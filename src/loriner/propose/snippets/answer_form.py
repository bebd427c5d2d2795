"""A test, written as code, of whether an answer looks like the right answers in the feedback."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loriner.propose.facts import Facts

_MOST_OPTIONS = 12
_KINDS = (("A-Z", r"[A-Z]"), ("a-z", r"[a-z]"), (r"\d", r"\d"), (r"\s", r"\s"))


def fits_part(facts: Facts) -> str:
    """A function `fits(answer)` in the program's own code."""
    return f'''def fits(answer):
    """Whether an answer is made of the signs that right answers are made of, and about as long."""
    return bool(re.fullmatch({pattern_of(facts)!r}, str(answer).strip()))
'''


def pattern_of(facts: Facts) -> str:
    """A pattern that the right answers seen have, and unlike ones rarely."""
    answers = [answer.strip() for _, answer in facts.examples]
    if facts.shape == "integer":
        return r"-?\d+"
    if facts.shape == "number":
        return r"-?\d+(\.\d+)?"
    if facts.shape == "choice" and len(facts.options) <= _MOST_OPTIONS:
        return "|".join(re.escape(each.strip()) for each in facts.options)
    return _signs(answers) + _length(answers)


def form_in_words(facts: Facts) -> str:
    """What right answers look like, in a sentence with the shortest ones seen."""
    shortest = sorted({answer for _, answer in facts.examples}, key=lambda each: (len(each), each))[:3]
    seen = "; ".join(repr(each[:80]) for each in shortest)
    words = {
        "integer": "The answer is a whole number, written with digits alone.",
        "number": "The answer is a number, written with digits alone.",
        "choice": f"The answer is one of: {', '.join(list(facts.options)[:_MOST_OPTIONS])}.",
        "line": "The answer is one line.",
        "text": "The answer has several lines.",
    }
    form = words.get(facts.shape, "The answer has one fixed form.")
    return f"{form} Right answers to other questions of this kind: {seen}." if seen else form


def _signs(answers: Sequence[str]) -> str:
    """The class of the signs that answers are made of: letters and digits by kind, others by name."""
    text = "".join(answers)
    kinds = [name for name, sign in _KINDS if re.search(sign, text)]
    others = sorted(set(re.sub(r"[A-Za-z\d\s]", "", text)))
    return f"[{''.join(kinds)}{''.join(map(re.escape, others))}]" if text else "."


def _length(answers: Sequence[str]) -> str:
    lengths = [len(each) for each in answers] or [1]
    return f"{{{max(1, min(lengths) // 2)},{2 * max(lengths) + 2}}}"
