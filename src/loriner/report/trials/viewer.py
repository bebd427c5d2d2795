"""What a viewer shows of the trials of a run: those that one asks for, a page at a time, each with its round
and its fault, next to its question and right answer where the task can tell them.

The store holds no right answer: an `Ask` opens the task again. A trial of a question that the task no longer
has is shown without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from loriner.diagnosis.faults import Diagnosis, diagnose
from loriner.errors import ConfigError
from loriner.records import Question, Status, Trial, target_texts
from loriner.search.history import history
from loriner.store.database import Store
from loriner.store.viewing import Viewed, Wanted

N_PAGE = 50
N_LOOKED_AT = 1_000
"""Trials that are diagnosed at most to fill one page of a fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The questions of a task, by id."""

    questions: Mapping[str, Question] = field(default_factory=dict)
    missing: str = ""
    """Why there are none, in words."""


Ask = Callable[[str, str], Asked]
"""The questions of a run's task: called with the run's id and the task's name."""


def no_task(run_id: str, task: str, /) -> Asked:
    """The questions where no task is opened."""
    return Asked(missing="the task was not opened")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which trials are shown; what is empty or None does not matter."""

    wrong: bool = False
    fault: str = ""
    task: str = ""
    purpose: str = ""
    round: int | None = None
    """0 is the seed's."""
    program: str = ""
    """A harness id, or its beginning."""
    question: str = ""

    @property
    def told(self) -> str:
        """The filter in words; empty where everything is shown."""
        named = {
            "fault": self.fault,
            "task": self.task,
            "split": self.purpose,
            "round": "" if self.round is None else str(self.round),
            "program": self.program[:10],
            "question": self.question,
        }
        words = ["wrong"] if self.wrong else []
        return ", ".join(words + [f"{name} {value}" for name, value in named.items() if value])


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One trial with what is known of it."""

    number: int
    purpose: str
    trial: Trial
    round: int | None
    """In which its program was made, 0 for the seed; None outside an adaptation."""
    question: Question | None
    diagnosis: Diagnosis | None
    """None for a trial that is not wrong."""
    missing: str = ""
    """Why there is no question, in words."""

    @property
    def fault(self) -> str:
        return str(self.diagnosis.fault) if self.diagnosis else ""

    @property
    def expected(self) -> list[str]:
        """The right answers; none where they are not known."""
        return target_texts(self.question.target) if self.question else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A page of trials."""

    run_id: str
    filter: Filter
    seen: tuple[Seen, ...]
    n: int
    """Trials on all pages; of a fault, those among which it is looked for."""
    next: int | None
    """The number after which the next page begins; None on the last one."""


@dataclass(slots=True)
class Viewer:
    """The trials of one store."""

    store: Store
    ask: Ask = no_task

    def listing(self, run_id: str, wanted: Filter, *, after: int = 0, limit: int = N_PAGE) -> Listing:
        """A page of the trials of a run.

        Raises:
            ConfigError: there is no such program or round.
        """
        rounds = rounds_of(self.store, run_id)
        asked = _asked(self.store, run_id, wanted, rounds)
        found: list[Seen] = []
        at, follows = after, None
        for n_looked, each in enumerate(self._walk(run_id, asked, after)):
            if len(found) == limit or n_looked == N_LOOKED_AT:
                follows = at
                break
            at = each.number
            seen = self._seen(run_id, each, rounds)
            found += [seen] if wanted.fault in ("", seen.fault) else []
        n = self.store.n_viewed(run_id, asked)
        return Listing(run_id=run_id, filter=wanted, seen=tuple(found), n=n, next=follows)

    def _walk(self, run_id: str, asked: Wanted, after: int) -> Iterator[Viewed]:
        """The trials after a number, read a page at a time."""
        page = self.store.viewed(run_id, asked, after=after, limit=N_PAGE)
        while page:
            yield from page
            page = self.store.viewed(run_id, asked, after=page[-1].number, limit=N_PAGE)

    def one(self, run_id: str, number: int) -> Seen:
        """A trial by its number.

        Raises:
            ConfigError: the run has no such trial.
        """
        found = self.store.viewed(run_id, Wanted(number=number), limit=1)
        if not found:
            raise ConfigError(f"run {run_id} has no trial {number}: `loriner trials {run_id}` lists them")
        return self._seen(run_id, found[0], rounds_of(self.store, run_id))

    def beside(self, run_id: str, seen: Seen) -> list[Seen]:
        """The trials of the other programs on the same question, in the order of recording."""
        same = Wanted(
            task=seen.trial.task,
            purpose=seen.purpose,
            question_id=seen.trial.question_id,
            sample=seen.trial.sample,
        )
        rounds = rounds_of(self.store, run_id)
        found = self.store.viewed(run_id, same, limit=N_PAGE)
        return [self._seen(run_id, each, rounds) for each in found if each.number != seen.number]

    def _seen(self, run_id: str, each: Viewed, rounds: Mapping[str, int]) -> Seen:
        asked = self.ask(run_id, each.trial.task)
        question = asked.questions.get(each.trial.question_id)
        missing = asked.missing or ("" if question else "the task no longer has this question")
        return Seen(
            number=each.number,
            purpose=each.purpose,
            trial=each.trial,
            round=rounds.get(each.trial.harness_id),
            question=question,
            diagnosis=_diagnosis(each.trial, question),
            missing=missing,
        )


def whole_run(store: Store, run: str) -> str:
    """The id of a run that has trials of its own.

    Raises:
        ConfigError: there is no such run; or it is a comparison, with its arms.
    """
    row = store.run(run)
    if row.command != "compare":
        return row.id
    arms = [f"\n  {arm.run_id}  {arm}" for arm in history(store, row.id).arms]
    none = ", of which none has begun"
    raise ConfigError(
        f"run {row.id} is a comparison: its trials are those of its arms{''.join(arms) or none}"
    )


def rounds_of(store: Store, run_id: str) -> dict[str, int]:
    """The round in which each program of an adaptation was made first, 0 for the seed."""
    told = history(store, run_id)
    if told.start is None:
        return {}
    rounds = {told.start.harness_id: 0}
    for each in told.rounds:
        for attempt in each.attempts:
            if attempt.harness_id:
                rounds.setdefault(attempt.harness_id, each.number)
    return rounds


def sealed(seen: Seen) -> Seen:
    """The trial for a file that is handed on: of a sealed question, nothing that tells the right answer."""
    if seen.purpose != "test":
        return seen
    question = seen.question and replace(seen.question, target=None)
    diagnosis = seen.diagnosis and replace(seen.diagnosis, evidence="")
    return replace(seen, question=question, diagnosis=diagnosis)


def _diagnosis(trial: Trial, question: Question | None) -> Diagnosis | None:
    """The fault of a wrong trial; without its question, only what the ending or the calls tell."""
    if question is not None:
        return diagnose(trial, target_texts(question.target), question.text)
    found = diagnose(trial, [], "")
    return None if found is None or (trial.status is Status.WRONG and found.fault == "reasoning") else found


def _asked(store: Store, run_id: str, wanted: Filter, rounds: Mapping[str, int]) -> Wanted:
    return Wanted(
        wrong=wanted.wrong or bool(wanted.fault),
        harness_ids=_programs(store, run_id, wanted, rounds),
        task=wanted.task or None,
        purpose=wanted.purpose or None,
        question_id=wanted.question or None,
    )


def _programs(store: Store, run_id: str, wanted: Filter, rounds: Mapping[str, int]) -> Sequence[str] | None:
    """The ids of the programs that are meant; None for all."""
    if wanted.round is None and not wanted.program:
        return None
    known = {each.harness_id for each in store.tallies(run_id)}
    if wanted.round is not None:
        known &= {each for each, number in rounds.items() if number == wanted.round}
        if not known:
            last = max(rounds.values(), default=None)
            has = "has no rounds" if last is None else f"has rounds 0 (the seed) to {last}"
            raise ConfigError(f"no program of round {wanted.round} was tried: run {run_id} {has}")
    found = sorted(each for each in known if each.startswith(wanted.program))
    if not found:
        raise ConfigError(f"no program {wanted.program!r} in these trials of run {run_id}")
    return found
