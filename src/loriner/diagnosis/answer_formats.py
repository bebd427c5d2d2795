"""Whether two texts say the same, and where a text states a given target.

A target such as `3` or `A` stands in most replies by chance. So a place counts only when it is one where
answers are put (after "Answer:", in `\\boxed{}`, alone on a line, at the end), or when the target is too
long to stand there by chance and was not merely copied from the question.

Not guaranteed: these are rules of thumb for text that small models write; docs/diagnosis.md measures them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

_TOKEN = re.compile(
    r"""\\[A-Za-z]+                       # a command of TeX: no token
    | (?P<number>
        (?:(?<![\w.)\]}])[-\u2212])?      # a sign, not the minus of a difference
        (?:\d{1,3}(?:,\d{3}){1,8}(?![\d,])|\d+)(?:\.\d+)?)
    | (?P<word>[^\W\d_]+)""",
    re.X,
)
_FENCE = re.compile(r"```[\w+-]*\n?(.*?)(?:```|\Z)", re.S)
_PROGRAM = re.compile(r"```(?:python|py)\b.*?(?:```|\Z)", re.S | re.I)
_WRAPPER = re.compile(
    r"\\(?:boxed|text|mathrm|textbf)\{([^{}]*)\}|<(\w+)>(.*?)</\2>|\*\*(.+?)\*\*|`([^`\n]+)`", re.S
)
_INTRODUCTION = re.compile(
    r"^\W*(?:(?:so|thus|therefore|hence),?\s+)?(?:the\s+)?(?:final\s+|correct\s+)?"
    r"(?:answer|result|solution|output)(?:\s+is)?[\s:=\"'*]*",
    re.I,
)
_CONCLUSION = re.compile(
    r"\b(?:answer|result|output)\b[\"'*\u201d]*(?:[^.\n:=]{0,60}?\b(?:is|are)\b|\s*[:=])\s*[:=]?"
    r"|\bsolution\b[^.\n:=]{0,60}?\b(?:is|are)\b\s*[:=]?"
    r"|\\boxed\{|####|<answer>",
    re.I,
)
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_WORD_NUMBERS = {word: str(value) for value, word in enumerate(_NUMBER_WORDS.split())}

_LONG_NUMBER = 4
"""Digits from which one number hardly stands in a text by chance."""
_LONG_WORD = 5
"""Letters from which one word hardly does."""
_CONCLUSION_LENGTH = 300
"""Characters read after the words that announce a result."""
_SHORT_ANSWER = 12
"""Tokens up to which an answer is a phrase that may wrap the target, and not a whole reply."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a number of a text, in a form that ignores case, grouping commas and idle zeros."""

    form: str
    start: int
    end: int
    is_number: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text states the target."""

    line_number: int
    """From 1."""
    line: str
    why: str
    """What makes it a statement: `alone on its line`, `the last number`, …"""


def tokens(text: str) -> list[Token]:
    """The words and numbers of `text`, in order; punctuation, brackets and commands of TeX are none."""
    return [
        Token(_form(found), found.start(), found.end(), found["number"] is not None)
        for found in _TOKEN.finditer(text)
        if found["number"] or found["word"]
    ]


def forms(text: str) -> tuple[str, ...]:
    """The forms of the tokens of `text`."""
    return tuple(token.form for token in tokens(text))


def same(answer: str, target: str) -> bool:
    """Whether both say the same but for case, blanks, punctuation, wrapping, or the form of a number."""
    if len(answer) > 4 * len(target) + 200:
        return False
    ours, theirs = _bare(answer), _bare(target)
    if ours == theirs:
        return True
    left, right = forms(ours), forms(theirs)
    if not right or _mostly_signs(theirs):
        return re.sub(r"\s", "", ours) == re.sub(r"\s", "", theirs)
    if left == right or _numeric(left) == _numeric(right):
        return True
    if len(right[0]) > 2 and all(form.isalpha() for form in left + right):
        return "".join(left) == "".join(right)
    value = _value(theirs)
    return value is not None and _value(ours) == value


def wraps(answer: str, target: str, question: str) -> Place | None:
    """Where a wrong answer states the target among other words."""
    found = _Occurrences(target, answer)
    if not found.at or same(answer, target):
        return None
    if len(found.tokens) <= _SHORT_ANSWER and not found.others_alike():
        return found.place(found.at[-1], "among other words")
    return states(answer, target, question)


def states(text: str, target: str, question: str = "", *, cut: bool = False) -> Place | None:
    """Where `text` states the target as its result, or None.

    `cut` says that the text breaks off, so that its end is not where a result would stand. A text which
    concludes in so many words ("the answer is …") counts by these conclusions alone.
    """
    found = _Occurrences(target, text)
    if not found.at:
        return None
    for place in found.concluded():
        return place
    if found.has_conclusion and not cut:
        return None
    return next(found.stated(question, cut), None)


def mentions(text: str, target: str, question: str = "") -> Place | None:
    """Where `text` (a passage, a listing) holds a target too long to stand there by chance."""
    found = _Occurrences(target, text)
    return found.place(found.at[0], "within it") if found.at and found.is_rare(question) else None


def is_telling(target: str, question: str = "") -> bool:
    """Whether a text that holds the target hardly does so by chance."""
    return _Occurrences(target, "").is_rare(question)


def has_conclusion(text: str) -> bool:
    """Whether the text says in so many words what its result is."""
    return any(segment.strip(" *\"'") for _, segment in _conclusions(_prose(text)))


class _Occurrences:
    """The places of a target in a text, and what stands around each."""

    def __init__(self, target: str, text: str) -> None:
        self._text = text
        self._prose = _prose(text)
        self._wanted = forms(target)
        self._is_number = len(self._wanted) == 1 and all(token.is_number for token in tokens(target))
        self.tokens = tokens(text)
        width = len(self._wanted)
        seen = [token.form for token in self.tokens]
        ends = range(len(seen) - width + 1) if width else range(0)
        self.at = [index for index in ends if tuple(seen[index : index + width]) == self._wanted]
        self.has_conclusion = has_conclusion(text)

    def others_alike(self) -> bool:
        """Whether the text holds other numbers beside a target that is one, or other words like it."""
        if self._is_number:
            return any(token.is_number and token.form != self._wanted[0] for token in self.tokens)
        return len("".join(self._wanted)) <= 2

    def is_rare(self, question: str) -> bool:
        """Whether the target hardly stands in a text by chance."""
        if _within(self._wanted, forms(question)):
            return False
        if self._is_number:
            return sum(sign.isdigit() for sign in self._wanted[0]) >= _LONG_NUMBER
        return len(self._wanted) > 2 or len("".join(self._wanted)) >= _LONG_WORD

    def concluded(self) -> Iterator[Place]:
        """Places right after the words of a conclusion, or at the end of its line."""
        for start, segment in reversed(list(_conclusions(self._prose))):
            inside = [token.form for token in tokens(segment)]
            width = len(self._wanted)
            head = any(tuple(inside[skip : skip + width]) == self._wanted for skip in range(2))
            if head or tuple(inside[-width:]) == self._wanted:
                yield self._at_offset(start, "as its conclusion")

    def stated(self, question: str, cut: bool) -> Iterator[Place]:
        """Places that look like a result, the surest first."""
        for start, line in _lines(self._text):
            if same(line, " ".join(self._wanted)):
                yield self._at_offset(start, "alone on its line")
        last = self.at[-1]
        if not cut and self._is_last(last):
            yield self.place(last, "at its end")
        if self._is_number and (start := self._after_last_equals(cut)) >= 0:
            yield self._at_offset(start, "right of its last equals sign")
        if self.is_rare(question):
            yield self.place(last, "within it")

    def _after_last_equals(self, cut: bool) -> int:
        """Offset of the target, where the last equation ends with it; -1 where it does not."""
        start = self._prose.rfind("=") + 1
        side = re.split(r"\n\s*\n|(?<=\d)[^\d.,%]", self._prose[start:].lstrip(), maxsplit=1)
        whole = not cut or (len(side) > 1 and len(self._wanted[0]) > 1)
        return start if start and whole and forms(side[0])[:1] == self._wanted else -1

    def _is_last(self, index: int) -> bool:
        prose = tokens(self._prose)
        if self._is_number:
            prose = [token for token in prose if token.is_number]
        width = len(self._wanted)
        return prose[-width:] == self.tokens[index : index + width]

    def place(self, index: int, why: str) -> Place:
        return self._at_offset(self.tokens[index].start, why)

    def _at_offset(self, offset: int, why: str) -> Place:
        number = self._text.count("\n", 0, offset) + 1
        line = self._text.split("\n")[number - 1].strip()
        return Place(number, line if len(line) <= 120 else line[:117] + "...", why)


def _prose(text: str) -> str:
    """`text` with blanks for the programs in it."""
    return _PROGRAM.sub(lambda program: " " * len(program[0]), text)


def _conclusions(text: str) -> Iterator[tuple[int, str]]:
    """(offset, rest of the line) after each phrase that announces a result."""
    for found in _CONCLUSION.finditer(text):
        start = found.end()
        while start < len(text) and text[start] in " \t\r\n*:\"'`[({$\\":
            start += 1
        rest = text[start : start + _CONCLUSION_LENGTH].split("\n", 1)[0]
        if "####" not in found[0] and "boxed" in found[0]:
            rest = rest.split("}", 1)[0]
        yield start, re.split(r"</answer>|\.\s", rest, maxsplit=1)[0]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    offset = 0
    for line in text.split("\n"):
        yield offset, line
        offset += len(line) + 1


def _form(found: re.Match[str]) -> str:
    if found["number"] is None:
        return unicodedata.normalize("NFKC", found[0]).casefold()
    whole, _, part = found[0].replace(",", "").replace("\u2212", "-").partition(".")
    sign, digits, part = whole[: whole.startswith("-")], whole.lstrip("-0") or "0", part.rstrip("0")
    return (sign if digits != "0" or part else "") + digits + (f".{part}" if part else "")


def _bare(text: str) -> str:
    """`text` without fences, tags, emphasis, quotes and "the answer is", in one case and spacing."""
    text = unicodedata.normalize("NFKC", text).strip()
    text = _FENCE.sub(lambda fence: fence[1], text).strip()
    text = _WRAPPER.sub(lambda found: next(g for g in found.groups()[::-1] if g is not None), text)
    text = _INTRODUCTION.sub("", text) or text
    return " ".join(text.strip(" \t\r\n\"'.,;:!*`$()[]").casefold().split())


def _numeric(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(_WORD_NUMBERS.get(part, part) for part in parts)


def _mostly_signs(text: str) -> bool:
    """Whether the target is written in signs (a grid, a bracket sequence), which tokens would lose."""
    signs = sum(not (sign.isalnum() or sign.isspace() or sign in ",.'\"-[]()") for sign in text)
    return signs * 2 > len(text)


def _value(text: str) -> Fraction | None:
    found = re.fullmatch(
        r"([-+]?\d{1,30}(?:\.\d{1,30})?)(?:\s*/\s*(\d{1,30}))?\s*(%?)", text.replace(",", "")
    )
    if not found or (found[2] is not None and not int(found[2])):
        return None
    return Fraction(found[1]) / Fraction(found[2] or 1) / (100 if found[3] else 1)


def _within(wanted: Sequence[str], seen: Sequence[str]) -> bool:
    width = len(wanted)
    return any(tuple(seen[i : i + width]) == tuple(wanted) for i in range(len(seen) - width + 1))
