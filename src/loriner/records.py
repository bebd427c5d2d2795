"""The frozen records that pass between the layers. They hold facts and make none.

Each record is built by one owner (named in its docstring); everyone else only reads it. Unknown fields
are refused by the constructor. Order of fields follows the order in which they become known.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any


class Status(StrEnum):
    """How a trial ended. All but `INFRA_ERROR` are the program's own doing and count in the mean."""

    OK = "ok"
    """It returned an answer, which scored 1."""
    WRONG = "wrong"
    """It returned an answer, which scored less than 1."""
    BAD_ANSWER = "bad_answer"
    """It returned something that is not text, int or float, or is too long."""
    NO_ANSWER = "no_answer"
    """It ended without an answer, or with an empty one."""
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    DENIED = "denied"
    """The cage refused what it tried (network, file, process, system call)."""
    BUDGET_EXCEEDED = "budget_exceeded"
    PROTOCOL_ERROR = "protocol_error"
    SKIPPED_AFTER_CRASH = "skipped_after_crash"
    """Not run, since the first trials of the same harness all crashed alike."""
    INFRA_ERROR = "infra_error"
    """Our fault: unscored, retried, never averaged."""


class Fault(StrEnum):
    """Why a trial was not right. Source: the design's fault taxonomy."""

    EXTRACTION = "extraction"
    FORMAT = "format"
    COMMUNICATION = "communication"
    API_MISUSE = "api_misuse"
    CRASH = "crash"
    TIMEOUT = "timeout"
    BUDGET = "budget"
    WRONG_FIELDS = "wrong_fields"
    """Of an object, some fields are right and others are not."""
    WRONG_CHOICE = "wrong_choice"
    """One of a few possible answers was taken for another."""
    NOT_RETRIEVED = "not_retrieved"
    """No passage that the program got states the target."""
    MISREAD = "misread"
    """A passage that the program got states the target, no reply of the model does."""
    REASONING = "reasoning"
    """None of the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One problem of a task. Owner: `tasks`."""

    task: str
    id: str
    text: str
    """All that a harness may see."""
    target: Any
    """The private right answer; never leaves the host process. None where a question has none, and its scorer
    judges alone."""


def target_texts(target: Any) -> list[str]:
    """The right answers that a target stands for: itself, or each of a list of aliases; none for None."""
    if target is None:
        return []
    each = target if isinstance(target, list) else [target]
    return [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in each]


@dataclass(frozen=True, slots=True)
class Harness:
    """A program with `solve(model, question)`. Owner: `harness.contract` (canonical source)."""

    source: str

    @property
    def id(self) -> str:
        """SHA-256 of the source, in hex."""
        return _digest(self.source)


@lru_cache(maxsize=1_000)
def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Edit:
    """One span swap: whole lines `old`, which stand in the program exactly once, become `new`."""

    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The edits of one completion. Owner: `harness.edits`."""

    edits: tuple[Edit, ...]
    note: str = ""
    """What the proposer wrote around its blocks, shortened."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a completion made no candidate, or a trial no answer: a code to group by, and words."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One model or tool call of a trial, as the host served it. Owner: `evaluate`."""

    kind: str
    """`model`, `judge` for what the scorer asked a model, or the name of the tool."""
    request: Mapping[str, Any]
    """What the harness asked for: messages and parameters, or the tool's arguments."""
    reply: str
    finish_reason: str = ""
    """`stop`, `length`, or what the endpoint said; empty for a tool."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None
    """Cost, or None where no price is known. A cache hit costs 0."""
    seconds: float = 0.0
    cached: bool = False
    error: str = ""
    """What went wrong with the call, if it failed."""
    further: Mapping[str, Any] = field(default_factory=dict)
    """What came beside the reply's text: `tool_calls` and `logprobs`."""
    started: float | None = field(default=None, compare=False)
    """When it was asked, in seconds since 1970; None where that was not recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One harness on one question once. Owner: `evaluation`."""

    harness_id: str
    task: str
    """The name of the task: ids of questions are a task's own."""
    question_id: str
    sample: int = 0
    """Which repetition of the same harness on the same question."""
    status: Status
    detail: str = ""
    """Refines the status: `ValueError`, `wall`, `network`."""
    answer: str = ""
    score: float | None
    """The task's verdict in [0, 1]; None when the trial was not scored through our fault."""
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0
    cpu_s: float = 0.0
    stdout: str = ""
    error: str = ""
    """The sanitised traceback, if it crashed."""
    started: float | None = field(default=None, compare=False)
    """When it began, in seconds since 1970; None where that was not recorded."""

    @property
    def program_calls(self) -> tuple[Call, ...]:
        """What the program asked for; without what its scorer did."""
        return tuple(call for call in self.calls if call.kind != "judge")

    @property
    def completed(self) -> bool:
        """Whether it returned non-empty text."""
        return self.status in (Status.OK, Status.WRONG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A set of trials of one harness. Owner: `evaluate`."""

    harness_id: str
    task: str
    purpose: str
    """`feedback`, `grade` or `test`."""
    trials: tuple[Trial, ...]
    level: int = 0
    """The sandbox level under which they ran."""

    @property
    def scores(self) -> dict[str, float]:
        """Mean score of each question that was scored, by question id."""
        by_question: dict[str, list[float]] = {}
        for trial in self.trials:
            if trial.score is not None:
                by_question.setdefault(trial.question_id, []).append(trial.score)
        return {question: sum(each) / len(each) for question, each in by_question.items()}

    @property
    def mean_score(self) -> float | None:
        """Mean over the scored questions; None when there is none."""
        scores = self.scores
        return sum(scores.values()) / len(scores) if scores else None

    @property
    def completion_rate(self) -> float:
        """Share of the scored trials that returned non-empty text."""
        scored = [trial for trial in self.trials if trial.score is not None]
        return sum(trial.completed for trial in scored) / len(scored) if scored else 0.0

    @property
    def n_infra_errors(self) -> int:
        return sum(trial.status is Status.INFRA_ERROR for trial in self.trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackTrial:
    """A trial with what the proposer may know of its question. Only feedback questions become one."""

    question: str
    target: str
    trial: Trial
    fault: Fault | None
    """None when the trial was right."""
    evidence: str = ""
    """What shows the fault, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRevision:
    """One earlier attempt of the episode, for the proposer's history."""

    round: int
    summary: str
    """The whole note of the proposer."""
    before: float | None
    after: float | None
    """Mean grade score, None when there was no candidate."""
    accepted: bool
    code: str = ""
    """The edit error, when there was no candidate."""
    message: str = ""
    edit: str = ""
    """What it asked to change, as a diff. Owner: `propose.context.edit_of`."""
    reason: str = ""
    """Why it was kept or not, in words: `1 better, 0 worse, needs 6`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """All that a proposer sees. Owner: `adapt` (and `train.contexts`)."""

    id: str
    task: str
    description: str
    """What is asked and how it is scored, in words."""
    tools: tuple[str, ...]
    """Names of the tools that the task grants."""
    round: int
    harness: Harness
    feedback: tuple[FeedbackTrial, ...]
    history: tuple[PastRevision, ...] = ()
    tool_help: Mapping[str, str] = field(default_factory=dict)
    """How each granted tool is called and what comes back, by name, where that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One completion in a context and what became of it. Owner: `propose`."""

    context_id: str
    index: int
    completion: str
    revision: Revision | None
    candidate: Harness | None
    failure: Failure | None
    """The edit error; None exactly when there is a candidate."""
    calls: tuple[Call, ...] = ()
    """What the completion cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A harness accepted into the registry. Owner: `store.registry`."""

    harness_id: str
    parent_id: str | None
    """None for a seed."""
    episode_id: str
    round: int
    revision: Revision | None
    mean_score: float | None
    accepted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What was spent."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = 0.0
    """None as soon as one paid call has no known price."""
    seconds: float = 0.0
    """Of the calls, added up, though they overlap; of a run as a whole, its wall time."""

    def __add__(self, other: Usage) -> Usage:
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            usd=usd,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Score:
    """A task's verdict on one answer, such as `Score(0.4, "date and total are wrong")`. Owner: `tasks`."""

    value: float
    """In [0, 1]."""
    detail: str = ""
    """What is wrong, in words for the proposer: the best feedback there is. Or a code: `format_miss`."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()
    """What the scorer asked a model, if it is one that judges; each is of the kind `judge`."""
