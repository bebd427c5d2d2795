"""Whether a candidate contains answers of sealed questions (grade and test), instead of a way to find them.

An answer that is unlikely to occur in a program by chance (a long number, several words) counts alone. A
shorter one counts only with others: in a table of mostly answers, in the order of the questions, or linked
to a piece of its own question (as a key, in a condition, behind it in a prompt, by its hash or its length).
Text of the seed harness never counts. Neither does text of the feedback items, which may be used. An answer
that was shown there (a label, a small number) counts only together with its sealed question.

Not guaranteed: a program can hide an answer from any reader. False alarms and misses are measured in
docs/diagnosis.md.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from loriner.diagnosis.answer_formats import forms
from loriner.diagnosis.literals import ConstantTable, Link, Literals, decoded, literals

Forms = tuple[str, ...]

_GRAM = 6
"""Words in a row that mark a question, where no other question has them."""
_MANY = 3
"""Answers in company from which chance is ruled out."""
_RUN = 6
"""Common answers in the very order of the questions from which chance is ruled out."""
_SIGNS = 8
"""Length from which an answer without a letter or digit counts alone."""
_KEY = 4
"""Characters from which a key may single out a question."""
_SHARE = 0.3
"""Least share of a table's entries that are answers."""
_BEHIND = 40
"""Words behind a question within which its answer may follow in a text."""
_PLAIN = frozenset({"yes", "true", "false", "none", "null", "unknown", "error", "empty"})


@dataclass(frozen=True, slots=True)
class Finding:
    """A candidate that contains answers. The message names none, so a proposer may read it."""

    n_questions: int
    """Questions whose answers were found."""
    line: int
    """Line of the program of the first of them."""
    message: str


def check(
    source: str,
    answers: Sequence[str],
    questions: Sequence[str],
    *,
    baseline: str | None = None,
    shown: Iterable[str] = (),
) -> Finding | None:
    """What makes `source` a memorised program, or None.

    `answers[i]` is the target of `questions[i]`, a grade or a test question. `baseline` is the seed harness;
    `shown` are the texts that any program may hold: the feedback questions and their answers.

    Raises:
        SyntaxError: `source` or `baseline` is no Python program.
        ValueError: there are not as many answers as questions.
    """
    if len(answers) != len(questions):
        raise ValueError(f"{len(answers)} answers for {len(questions)} questions: give one for each")
    exam = _exam(tuple(answers), tuple(questions))
    held_before = [] if baseline is None else [text.value for text in _literals(baseline).texts]
    known = _known(tuple(dict.fromkeys([*held_before, *shown])))
    held = literals(source)
    return (
        _alone(held, exam, known)
        or _linked(held, exam, known)
        or _behind_its_question(held, exam, known)
        or _in_a_table(held, exam, known)
    )


class _Exam:
    """The questions and answers in the forms in which they are looked for."""

    def __init__(self, answers: Sequence[str], questions: Sequence[str]) -> None:
        self.answers = [_words(answer) for answer in answers]
        self.questions = [_words(question) for question in questions]
        self._texts = questions
        self._lower = [question.lower() for question in questions]
        self.signs = {
            answer.strip() for answer in answers if len(answer.strip()) >= _SIGNS and not forms(answer)
        }
        self._padded = [_padded(question) for question in self.questions]
        self._frequency = Counter(self.answers)

    @cached_property
    def by_answer(self) -> dict[Forms, list[int]]:
        found: dict[Forms, list[int]] = {}
        for index, answer in enumerate(self.answers):
            found.setdefault(answer, []).append(index)
        return found

    @cached_property
    def rare(self) -> set[Forms]:
        """Answers that count alone: long, given once or twice, and no choice that the questions offer."""
        return {answer for answer in self.uncommon if _is_long(answer)}

    @cached_property
    def uncommon(self) -> set[Forms]:
        """Answers that count in company; the rest (small numbers, yes and no, labels) stand anywhere."""
        return {answer for answer, n in self._frequency.items() if not self._is_label(answer, n)}

    def _is_label(self, answer: Forms, n: int) -> bool:
        letters = "".join(answer)
        if n > max(2, len(self.answers) // 20) or len(letters) < 3 or letters in _PLAIN:
            return True
        offered = sum(_padded(answer) in question for question in self._padded)
        return offered > max(2, len(self.questions) // 20)

    @cached_property
    def grams(self) -> dict[Forms, int]:
        """Runs of words that stand in one question only, to its index."""
        owners: dict[Forms, set[int]] = {}
        for index, question in enumerate(self.questions):
            for gram in _grams(question):
                owners.setdefault(gram, set()).add(index)
        return {gram: next(iter(each)) for gram, each in owners.items() if len(each) == 1}

    @cached_property
    def digests(self) -> dict[str, int]:
        """First eight characters of the hashes of each question, to its index."""
        return {
            kind(text.encode()).hexdigest()[:8]: index
            for index, question in enumerate(self._texts)
            for text in (question, question.strip(), question.lower())
            for kind in (hashlib.md5, hashlib.sha1, hashlib.sha256)
        }

    def told_by(self, keys: Iterable[str]) -> dict[int, bool]:
        """The one or two questions that `keys` single out, each with whether the keys are beyond chance."""
        keys = list(keys)
        for key in keys:
            if (index := self.digests.get(key[:8].lower(), -1)) >= 0 and len(key) >= 8:
                return {index: True}
        keys = [key.lower() for key in keys if key.strip()]
        words = [word for key in keys for word in _words(key)]
        size = sum(map(len, keys))
        if size < _KEY or (len(self.questions) < 4 and not self._covers(len(words))):
            return {}
        told = [i for i in range(len(self.questions)) if all(self._holds(i, key) for key in keys)]
        sure = len(words) >= _GRAM or (size > _KEY and sum(word[-1].isdigit() for word in words) >= 2)
        return dict.fromkeys(told, sure) if len(told) <= 2 else {}

    def _holds(self, index: int, key: str) -> bool:
        """Whether the question has `key` in it; a short one as a word or number of its own."""
        if len(key) > 3:
            return key in self._lower[index]
        return _padded(_words(key)) in self._padded[index]

    def _covers(self, n_words: int) -> bool:
        return any(n_words * 2 >= len(question) for question in self.questions)

    def of_length(self, key: str) -> list[int]:
        """The questions whose text has `key` characters."""
        return [i for i, text in enumerate(self._texts) if key.isdigit() and len(text) == int(key[:9])]


class _Known:
    """What a program may hold."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.whole = {_words(text) for text in texts}
        """Texts, such as answers that were shown; any piece of them is `in` it."""
        self._joined = "\n".join(map(_padded, self.whole))

    def __contains__(self, wanted: Forms) -> bool:
        return _padded(wanted) in self._joined


# One episode checks many candidates against the same texts.
_exam = lru_cache(maxsize=2)(_Exam)
_literals = lru_cache(maxsize=2)(literals)
_known = lru_cache(maxsize=2)(_Known)


def _alone(held: Literals, exam: _Exam, known: _Known) -> Finding | None:
    rare = {answer: _padded(answer) for answer in exam.rare}
    signs = {_words(answer): answer for answer in exam.signs}
    hits: dict[Forms, int] = {}
    for text in held.texts:
        padded = _padded(_words(text.value))
        found = [answer for answer, wanted in rare.items() if wanted in padded]
        found += [answer for answer, wanted in signs.items() if wanted in text.value]
        hits |= {answer: text.line for answer in found if answer not in hits and answer not in known}
    if not hits:
        return None
    indices = {index for answer in hits for index in exam.by_answer[answer]}
    return _finding(len(indices), min(hits.values()), "as a literal")


def _linked(held: Literals, exam: _Exam, known: _Known) -> Finding | None:
    sure: dict[int, int] = {}
    maybe: dict[int, int] = {}
    for link in held.links:
        values = {_words(each) for value in link.values for each in (value, *decoded(value))}
        if exam.by_answer.keys().isdisjoint(values) or all(_words(key) in known for key in link.keys):
            continue
        for index, certain in _singled_out(link, exam).items():
            if exam.answers[index] in values and (certain or exam.answers[index] not in known.whole):
                (sure if certain else maybe).setdefault(index, link.line)
    if sure or len(maybe) >= _MANY:
        return _finding(len(sure | maybe), min((sure or maybe).values()), "linked to pieces of the questions")
    return None


def _singled_out(link: Link, exam: _Exam) -> dict[int, bool]:
    told = exam.told_by(link.keys)
    if not told and len(link.keys) == 1 and len(link.values) == 1:
        return dict.fromkeys(exam.of_length(link.keys[0]), False)
    return told


def _behind_its_question(held: Literals, exam: _Exam, known: _Known) -> Finding | None:
    for text in held.texts:
        words = _words(text.value)
        ends: dict[int, list[int]] = {}
        for start, gram in enumerate(_grams(words)):
            if (index := exam.grams.get(gram, -1)) >= 0 and gram not in known:
                ends.setdefault(index, []).append(start + len(gram))
        hit = [
            index
            for index, at in ends.items()
            if exam.answers[index] and _follows(words, exam, index, at) and _whole(words, exam, index, known)
        ]
        if hit:
            return _finding(len(hit), text.line, "behind their questions")
    return None


def _follows(words: Forms, exam: _Exam, index: int, ends: Sequence[int]) -> bool:
    n_grams = len(list(_grams(exam.questions[index])))
    if len(exam.questions) < 4 and len(ends) * 2 < n_grams:
        return False
    behind = words[max(ends) : max(ends) + _BEHIND]
    return _padded(exam.answers[index]) in _padded(behind)


def _whole(words: Forms, exam: _Exam, index: int, known: _Known) -> bool:
    """Whether enough of the question stands there: all of it, where programs may hold its answer."""
    question = exam.questions[index]
    if exam.answers[index] not in known.whole:
        return True
    return len(question) >= _GRAM and _padded(question) in _padded(words)


def _in_a_table(held: Literals, exam: _Exam, known: _Known) -> Finding | None:
    for table in held.tables:
        entries = [{_words(each) for each in (value, *decoded(value))} for value in table.values]
        there = set().union(*entries) & exam.uncommon
        wanted = there - known.whole
        hits = [found for entry in entries if (found := entry & wanted)]
        distinct = set().union(*hits)
        n_questions = sum(len(exam.by_answer[answer]) for answer in distinct)
        if len(distinct) >= _MANY and len(hits) >= _SHARE * len(entries) and not _is_ladder(table):
            return _finding(n_questions, table.line, "in a table")
        run = _longest_run([entry - known.whole for entry in entries], exam)
        if len({exam.answers[index] for index in run}) > _MANY and not _is_ladder(table):
            return _finding(len(run), table.line, "in the order of the questions")
    return None


def _longest_run(entries: Sequence[set[Forms]], exam: _Exam) -> range:
    """Questions in a row whose answers stand in a row among the entries, at least `_RUN` of them."""
    for first in range(len(entries) - _RUN + 1):
        for start in sorted(place for each in entries[first] for place in exam.by_answer.get(each, ())):
            n = 0
            for entry, answer in zip(entries[first:], exam.answers[start:], strict=False):
                if answer not in entry:
                    break
                n += 1
            if n >= _RUN:
                return range(start, start + n)
    return range(0)


def _is_ladder(table: ConstantTable) -> bool:
    """Whether the entries are numbers in rising or falling order: digits, primes, powers, bounds."""
    numbers = [float(value) for value in table.values if _is_number(value)]
    rising = sorted(set(numbers))
    return len(numbers) == len(table.values) and numbers in (rising, rising[::-1])


def _is_number(text: str) -> bool:
    return len(text) < 40 and text.lstrip("-").replace(".", "", 1).isdecimal()


def _is_long(answer: Forms) -> bool:
    letters = "".join(answer)
    digits = max((sum(sign.isdigit() for sign in word) for word in answer), default=0)
    return (
        digits >= 6
        or (len(answer) >= 3 and len(letters) >= 12)
        or (len(answer) >= 8 and len(set(answer)) >= 4)
    )


def _grams(words: Forms) -> Iterator[Forms]:
    width = min(_GRAM, len(words))
    if width:
        yield from (words[start : start + width] for start in range(len(words) - width + 1))


def _words(text: str) -> Forms:
    """The words and numbers of a text, or its runs of signs where it has none."""
    return forms(text) or tuple(text.split())


def _padded(words: Forms) -> str:
    return f" {' '.join(words)} "


def _finding(n_questions: int, line: int, how: str) -> Finding:
    plural = "question" if n_questions == 1 else "questions"
    return Finding(
        n_questions,
        line,
        f"memorised: line {line} holds, {how}, the right answers of {n_questions} {plural} that the program "
        "is scored on: compute the answer or ask the model for it. Feedback questions with their answers may "
        "stand in a program as examples",
    )
