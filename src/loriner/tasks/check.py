"""Checks a task: each split has questions, right answers score 1, and no two questions contradict each other.

It also reports what an empty answer, a constant answer and a list of all answers score.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from loriner.errors import TaskError
from loriner.records import Question, Score
from loriner.tasks.base import SPLITS, Split, Task, is_judged
from loriner.tasks.items import right_text
from loriner.tasks.judge import PASSED
from loriner.tasks.scorer import SCORER_ERROR, SCORER_TIMEOUT, ScorerFailed, said
from loriner.tasks.splits import question_key
from loriner.tasks.varied.task import VariedTask

LEAST: Mapping[Split, int] = {"feedback": 8, "grade": 24, "test": 20}
"""Fewer questions of a split than this give a warning. Source: docs/statistics.md."""
EASY = 0.5
"""A constant answer, or a list of all answers, gives a warning from this score."""
N_LISTED = 40
"""The most distinct right answers that are listed in one reply, to test the scorer."""
N_JUDGED = 20
"""The most right answers that a judge is compared with: each costs two calls."""
LEAST_AGREEMENT = 0.8
MAX_FAILURES = 3
"""The check stops after so many failures: errors on right answers, and timeouts on any answer."""

Told = Callable[[int, int], None]
"""Called after each answer with the number of answers scored, and the number of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongGold:
    """A right answer that does not score 1."""

    question_id: str
    score: float
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two questions with the same words; the right answer of the first is wrong for the second."""

    first_id: str
    second_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A judge held against right answers: each was scored for its own question and for another one."""

    n_right: int
    n_taken: int
    """Right answers that it scored `PASSED` or more."""
    n_wrong: int
    n_refused: int
    """Right answers of another question that it scored less."""

    @property
    def share(self) -> float:
        """The mean of both shares: 0.5 is a judge that does not look."""
        shares = [self.n_taken / self.n_right]
        return statistics.fmean([*shares, self.n_refused / self.n_wrong] if self.n_wrong else shares)

    def __str__(self) -> str:
        right, wrong = f"{self.n_taken} of {self.n_right}", f"{self.n_refused} of {self.n_wrong}"
        return f"{self.share:.2f} (took {right} right answers, refused {wrong} wrong ones)"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """What a check found."""

    task: str
    n: Mapping[Split, int]
    """Questions of each split."""
    empty_splits: tuple[str, ...]
    """What the task says of each split that has no question."""
    seed_fault: str
    """Why its seed harness cannot be used; empty where it can."""
    n_right: int
    """Questions whose right answer can be given as a reply."""
    as_json: bool
    """Whether right answers are objects or lists of objects. These are scored as JSON text."""
    n_checked: int
    """Questions whose right answer was scored: all, unless the scorer failed `MAX_FAILURES` times."""
    wrong_gold: tuple[WrongGold, ...]
    contradictions: tuple[Contradiction, ...]
    """One for each group of questions with the same words that no single answer is right for."""
    n_copies: int
    """Questions that repeat the words and the answer of another."""
    empty_score: float | None
    """The score of an empty answer; None if it was not scored. In a run an empty answer scores 0 without the
    scorer."""
    constant_answer: str
    """The right answer seen most often on the feedback questions."""
    constant_score: float | None
    """The mean score of always giving that answer; None if not all questions were scored."""
    listed_score: float | None
    """The mean score of a reply that lists all right answers; None if there are too many of them, or not all
    questions were scored."""
    median_question_length: int
    """In characters."""
    agreement: Agreement | None = None
    """How far the judge agrees with the right answers; None where none scores, or there are none."""
    judged: bool = False
    """Whether a model scores."""

    @property
    def passed(self) -> bool:
        """Whether the task has no fault."""
        return not self.faults

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults of the task, each with what to do."""
        found = [*self.empty_splits, self.seed_fault, *self._gold_faults()]
        if self.contradictions:
            one = self.contradictions[0]
            found.append(
                f"{one.first_id} and {one.second_id} ask the same question and have different right answers "
                f"({len(self.contradictions)} such questions): ask it once, with a scorer that accepts both"
            )
        if self.empty_score:
            found.append(f"an empty answer scores {self.empty_score:g}: fix the scorer")
        if self.agreement is not None and self.agreement.share < LEAST_AGREEMENT:
            found.append(
                f"the judge agrees with known answers at {self.agreement}, less than {LEAST_AGREEMENT:g}: "
                "make the rubric plainer, or take a stronger model"
            )
        return tuple(filter(None, found))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is no fault but should be known."""
        found = []
        if self.judged and self.agreement is None:
            found.append("no right answer can be shown to the judge: whether it judges well is not known")
        elif not self.n_right:
            found.append("no right answer can be given as a reply, so the scorer was not tested")
        elif self._json_refused:
            found.append(
                "the right answers are objects, and none of them scores 1 as JSON text, so the scorer could "
                "not be tested; if answers have another form, say so in the description"
            )
        if self.constant_score is not None and self.constant_score >= EASY:
            found.append(
                f"always answering {self.constant_answer[:40]!r} scores {self.constant_score:.2f}: a harness "
                "is useful only if it scores more"
            )
        if self.listed_score is not None and self.listed_score >= max(
            EASY, (self.constant_score or 0) + 0.01
        ):
            found.append(
                f"a reply that lists all right answers scores {self.listed_score:.2f}: the scorer finds "
                "the answer anywhere in the reply; compare the whole reply with the answer"
            )
        if self.n_copies:
            found.append(
                f"{self.n_copies} questions repeat another one with the same answer; the intervals count "
                "them as independent questions, so they are too narrow"
            )
        if self.constant_score is None and self.n_checked == self.n_right and not self.judged:
            found.append(
                f"the scorer failed on {MAX_FAILURES} answers, so the check stopped; each answer on which it "
                "times out delays a run"
            )
        found += [
            f"{n} {split} questions, fewer than {LEAST[split]}: {_TOO_FEW[split]}; add items or change the "
            "shares"
            for split, n in self.n.items()
            if 0 < n < LEAST[split]
        ]
        return tuple(found)

    @property
    def _json_refused(self) -> bool:
        return self.as_json and 0 < self.n_checked == len(self.wrong_gold)

    def _gold_faults(self) -> list[str]:
        if not self.wrong_gold or self._json_refused:
            return []
        if self.n_checked < self.n_right:
            return [
                f"{len(self.wrong_gold)} of the first {self.n_checked} right answers do not score 1, and the "
                f"check stopped there (there are {self.n_right}): fix the scorer"
            ]
        wrong = f"{len(self.wrong_gold)} of {self.n_checked} right answers do not score 1"
        return [f"{wrong}: fix the scorer or the answers"]


_TOO_FEW: Mapping[Split, str] = {
    "feedback": "the proposer sees few kinds of failure",
    "grade": "only a large gain can be confirmed",
    "test": "the final interval is wide",
}


async def check(
    task: Task, *, limit: int | None = None, seed_fault: str = "", told: Told = lambda n_asked, n: None
) -> TaskReport:
    """The report on a task, from at most `limit` questions of each split. The task is closed afterwards.

    `seed_fault` says why the seed harness cannot be used; the task itself does not know.

    Raises:
        TaskError: the task has no question, or its scorer breaks its contract.
    """
    try:
        return await _check(task, limit, seed_fault, told)
    finally:
        await task.close()


async def _check(task: Task, limit: int | None, seed_fault: str, told: Told) -> TaskReport:
    by_split, empty = _by_split(task)
    picked = [question for questions in by_split.values() for question in questions[:limit]]
    if not picked:
        raise TaskError(f"task {task.name} has no question")
    if is_judged(task):
        return await _check_judge(task, by_split, empty, seed_fault, told)
    golds = [(question, right[0]) for question in picked if (right := _right_replies(task, question))]
    asking = _Asking(task, told, n=len(golds) + 1 + len(picked))
    scored = [(question, await asking.score(question, gold, right=True)) for question, gold in golds]
    checked = [(question, score) for question, score in scored if score is not None]
    empty_score = await asking.score(picked[0], "")
    repeated = _repeated(picked)
    contradictions = [each for same in repeated if (each := await _contradiction(asking, same)) is not None]
    constant = _constant(by_split["feedback"][:limit] or picked)
    return TaskReport(
        task=task.name,
        n={split: len(questions) for split, questions in by_split.items()},
        empty_splits=tuple(empty),
        seed_fault=seed_fault,
        n_right=len(golds),
        as_json=any(_is_structured(question.target) for question in picked),
        n_checked=len(checked),
        wrong_gold=tuple(
            WrongGold(question_id=question.id, score=score.value, detail=said(score))
            for question, score in checked
            if score.value != 1.0
        ),
        contradictions=tuple(contradictions),
        n_copies=sum(map(_n_copies, repeated)),
        empty_score=None if empty_score is None else empty_score.value,
        constant_answer=constant,
        constant_score=await _mean_score(asking, picked, constant) if constant else 0.0,
        listed_score=await _listed_score(asking, picked),
        median_question_length=round(statistics.median(len(question.text) for question in picked)),
    )


async def _check_judge(
    task: Task,
    by_split: Mapping[Split, Sequence[Question]],
    empty: Sequence[str],
    seed_fault: str,
    told: Told,
) -> TaskReport:
    """The report on a task that a model scores: what it says of right answers and of wrong ones."""
    questions = [question for each in by_split.values() for question in each]
    golds = [(each, gold) for each in questions if (gold := gold_text(each)) is not None]
    return TaskReport(
        task=task.name,
        n={split: len(each) for split, each in by_split.items()},
        empty_splits=tuple(empty),
        seed_fault=seed_fault,
        n_right=len(golds),
        as_json=False,
        n_checked=min(len(golds), N_JUDGED),
        wrong_gold=(),
        contradictions=(),
        n_copies=sum(map(_n_copies, _repeated(questions))),
        empty_score=None,
        constant_answer=_constant(questions),
        constant_score=None,
        listed_score=None,
        median_question_length=round(statistics.median(len(each.text) for each in questions)),
        agreement=await _agreement(task, golds[:N_JUDGED], told) if golds else None,
        judged=True,
    )


async def _agreement(task: Task, golds: Sequence[tuple[Question, str]], told: Told) -> Agreement:
    """What the judge says of each right answer, and of the next unlike one to the same question."""
    right, wrong = [], []
    for n, (question, gold) in enumerate(golds):
        right.append((await task.score(question, gold)).value >= PASSED)
        others = (answer for _, answer in (*golds[n + 1 :], *golds[:n]) if answer != gold)
        if (other := next(others, None)) is not None:
            wrong.append((await task.score(question, other)).value < PASSED)
        told(n + 1, len(golds))
    return Agreement(n_right=len(right), n_taken=sum(right), n_wrong=len(wrong), n_refused=sum(wrong))


@dataclass(slots=True)
class _Asking:
    """Asks the scorer, until it has failed too often."""

    task: Task
    told: Told
    n: int
    n_asked: int = 0
    n_failed: int = 0

    async def score(self, question: Question, answer: str, *, right: bool = False) -> Score | None:
        """The score of an answer; None once the scorer has failed too often. `right`: the answer is right."""
        if self.n_failed == MAX_FAILURES:
            return None
        try:
            score = await self.task.score(question, answer)
        except ScorerFailed as failed:
            score = failed.score
        self.n_failed += score.detail == SCORER_TIMEOUT or (right and score.detail == SCORER_ERROR)
        self.n_asked += 1
        self.told(self.n_asked, max(self.n_asked, self.n))
        return score


def gold_text(question: Question) -> str | None:
    """A right answer as text: the target, the first of several targets, or JSON; None for anything else."""
    return next(iter(_gold_texts(question)), None)


def _gold_texts(question: Question) -> list[str]:
    target = question.target
    if _is_structured(target):
        return [json.dumps(target, ensure_ascii=False)]
    each = target if isinstance(target, list | tuple) else [target]
    return [text for one in each if (text := right_text(one))]


def _is_structured(target: object) -> bool:
    """Whether a right answer is an object, or a list of objects or lists, as opposed to a list of aliases."""
    if isinstance(target, list | tuple):
        return any(isinstance(each, dict | list | tuple) for each in target)
    return isinstance(target, dict)


def _right_replies(task: Task, question: Question) -> list[str]:
    """The right answers of a question as text, in the form that it asks for."""
    return [task.right_reply(question)] if isinstance(task, VariedTask) else _gold_texts(question)


def _by_split(task: Task) -> tuple[dict[Split, Sequence[Question]], list[str]]:
    """The questions of each split, and what the task says of each split without questions."""
    found: dict[Split, Sequence[Question]] = {}
    empty = []
    for split in SPLITS:
        try:
            found[split] = task.questions(split)
        except TaskError as error:
            found[split] = []
            empty.append(str(error))
        else:
            if not found[split]:
                empty.append(f"task {task.name} has no {split} question")
    return found, empty


def _repeated(questions: Sequence[Question]) -> list[list[Question]]:
    """Groups of questions with the same words."""
    by_words: dict[str, list[Question]] = {}
    for question in questions:
        by_words.setdefault(question_key(question.text), []).append(question)
    return [same for same in by_words.values() if len(same) > 1]


async def _contradiction(asking: _Asking, same: Sequence[Question]) -> Contradiction | None:
    """A contradiction between questions with the same words; None if one answer is right for all of them.

    The scorer decides, not the targets: several answers may be right, or one answer in several forms.
    """
    differing = list({repr(each.target): each for each in reversed(same)}.values())[::-1]
    found: Contradiction | None = None
    for owner in differing if len(differing) > 1 else ():
        others = [each for each in differing if each is not owner]
        for answer in _right_replies(asking.task, owner):
            refusing = await _refusing(asking, others, answer)
            if refusing is None:
                return None
            found = found or Contradiction(first_id=owner.id, second_id=refusing.id)
    return found


async def _refusing(asking: _Asking, questions: Sequence[Question], answer: str) -> Question | None:
    """The first question that the answer is wrong for; None without one, or after too many failures."""
    for question in questions:
        score = await asking.score(question, answer)
        if score is None or score.value != 1.0:
            return None if score is None else question
    return None


def _n_copies(same: Sequence[Question]) -> int:
    return len(same) - len({repr(question.target) for question in same})


def _constant(questions: Sequence[Question]) -> str:
    counts = Counter(gold for question in questions if (gold := gold_text(question)) is not None)
    return counts.most_common(1)[0][0] if counts else ""


async def _listed_score(asking: _Asking, questions: Sequence[Question]) -> float | None:
    """The mean score of a reply that lists every right answer; None if there is one answer, or too many."""
    golds = list(dict.fromkeys(gold for each in questions if (gold := gold_text(each)) is not None))
    if not 1 < len(golds) <= N_LISTED:
        return None
    return await _mean_score(asking, questions, "\n".join(golds))


async def _mean_score(asking: _Asking, questions: Sequence[Question], answer: str) -> float | None:
    scores = [await asking.score(question, answer) for question in questions]
    values = [score.value for score in scores if score is not None]
    return statistics.fmean(values) if len(values) == len(scores) else None
