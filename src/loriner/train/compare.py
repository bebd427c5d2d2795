"""Proposers side by side: every one revises the same programs once, on frozen contexts, and is scored
alike.

Intervals and tests are over families, since contexts of one task share its questions, and a task's settings
show the same questions in other words. They are over contexts only where all are of one family: then nothing
is said of others.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import TypeAdapter

from loriner.errors import ConfigError, InfrastructureError
from loriner.evaluation.evaluator import gathered
from loriner.propose.proposer import Proposer, propose
from loriner.statistics import Interval, Paired, interval, paired
from loriner.tasks.varied.task import canonical_name, is_varied
from loriner.train import jsonl
from loriner.train.choices import Choice, kind_of, report
from loriner.train.exercise import Exercise
from loriner.train.reward import Reward, Rewarder


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One completion in a comparison."""

    context: str
    task: str
    index: int
    code: str
    """The edit error; empty for a candidate."""
    seed_score: float
    """Score of the program that was to be revised, on the same questions."""
    reward: Reward
    tokens: int
    """Completion tokens, as the proposer's endpoint counted them."""
    completion: str
    choice: str = ""
    """Which revision it is (`choices.kind_of`); empty without a candidate."""

    @property
    def better(self) -> bool:
        """Whether the candidate scored more than the program."""
        return self.reward.applied and self.reward.score > self.seed_score

    @property
    def varied(self) -> bool:
        """Whether its task is in the format-varied setting."""
        return is_varied(self.task)

    @property
    def family(self) -> str:
        """The task without its setting."""
        return canonical_name(self.task)

    @property
    def score_or_seed(self) -> float:
        """What one would keep: the candidate's score, or the program's own where there is no candidate."""
        return self.reward.score if self.reward.applied else self.seed_score


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposerStanding:
    """What one proposer came to."""

    proposer: str
    score: Interval
    """Mean score after one revision; no candidate scores 0."""
    score_or_seed: Interval
    """The same, but without a candidate the program stays as it was."""
    gain: Paired
    """`score_or_seed` less the score of the unrevised program, paired."""
    parsed: float
    applied: float
    completion_rate: float
    best_of: dict[int, float]
    """Expected best score of k completions, chosen by an oracle, for each k."""
    invalid: dict[str, int]
    by_task: dict[str, float]
    """`score_or_seed` by task."""
    tokens: float
    """Mean completion tokens."""


async def sample(
    rewarder: Rewarder, exercises: Sequence[Exercise], proposer: Proposer, completions: int
) -> list[Sample]:
    """`completions` of the proposer in each context, scored.

    Raises:
        InfrastructureError: a completion could not be scored: a comparison with holes is none.
        ModelError: the proposer's endpoint failed.
    """
    rows = [(each, index) for each in exercises for index in range(completions)]
    return await gathered(_sample(rewarder, each, proposer, index) for each, index in rows)


def keep(path: Path, head: Mapping[str, Any], samples: Sequence[Sample]) -> None:
    """Writes the samples as JSON lines, after one that says what they are samples of.

    A file of other samples is set aside under a name with its head's digest: they may have cost money.
    """
    if path.exists():
        first = jsonl.split(path.read_text(encoding="utf-8"))[0]
        if json.loads(first) != dict(head):
            path.replace(path.with_suffix(f".{hashlib.sha256(first.encode()).hexdigest()[:8]}.jsonl"))
    rows = _adapter().dump_python(list(samples), mode="json")
    jsonl.write(path, [dict(head), *rows])


def kept(path: Path, head: Mapping[str, Any], n: int) -> list[Sample]:
    """The `n` samples that `keep` wrote with this head; none if the file is absent or of something else.

    Raises:
        ConfigError: the file is no such file, or holds another number of them.
    """
    if not path.exists():
        return []
    try:
        first, *rows = jsonl.read(path)
        if first != dict(head):
            return []
        found = _adapter().validate_python(rows)
    except (OSError, ValueError, ConfigError) as error:
        raise ConfigError(
            f"{path}: not a file of samples ({str(error).splitlines()[0]}); remove it, or give another --out"
        ) from None
    if len(found) != n:
        raise ConfigError(
            f"{path}: {len(found)} of {n} samples; the file was changed: remove it, or give another --out"
        )
    return found


@cache
def _adapter() -> TypeAdapter[list[Sample]]:
    return TypeAdapter(list[Sample])


def standing(name: str, samples: Sequence[Sample]) -> ProposerStanding:
    """The figures of one proposer from its samples."""
    kept = _by_unit(samples, lambda each: each.score_or_seed)
    scores = _by_unit(samples, lambda each: each.reward.score)
    seeds = _by_unit(samples, lambda each: each.seed_score)
    n = min(map(len, _grouped(samples, lambda each: each.context).values()))
    tasks = sorted({each.task for each in samples})
    return ProposerStanding(
        proposer=name,
        score=interval(list(scores.values())),
        score_or_seed=interval(list(kept.values())),
        gain=paired(seeds, kept),
        parsed=fmean(each.reward.parsed for each in samples),
        applied=fmean(each.reward.applied for each in samples),
        completion_rate=fmean(each.reward.completion_rate for each in samples),
        best_of={k: fmean(_best_by_unit(samples, k).values()) for k in range(1, n + 1)},
        invalid=dict(Counter(each.code for each in samples if each.code).most_common()),
        by_task={task: fmean(each.score_or_seed for each in samples if each.task == task) for task in tasks},
        tokens=fmean(each.tokens for each in samples),
    )


def unrevised(samples: Sequence[Sample]) -> Interval:
    """The score of the programs as they were."""
    return interval(list(_by_unit(samples, lambda each: each.seed_score).values()))


def difference(samples: Sequence[Sample], other: Sequence[Sample]) -> Paired:
    """`score_or_seed` of the second proposer less that of the first, paired."""
    return paired(
        _by_unit(samples, lambda each: each.score_or_seed),
        _by_unit(other, lambda each: each.score_or_seed),
    )


def best_of(scores: Sequence[float], k: int) -> float:
    """Expected maximum of `k` of the scores drawn without replacement.

    Source: the order-statistics form of pass@k, arXiv 2107.03374, for scores in place of passes.
    """
    ordered = sorted(scores)
    ways = comb(len(ordered), k)
    return sum(score * comb(at, k - 1) for at, score in enumerate(ordered)) / ways


async def _sample(rewarder: Rewarder, exercise: Exercise, proposer: Proposer, index: int) -> Sample:
    lab, context = rewarder.lab, exercise.context
    rollout = await propose(proposer, context, index)
    found = await rewarder.scored(exercise, rollout.completion, index)
    task, questions = rewarder.graders(exercise)
    seed = await lab.evaluate(task, context.harness, questions, purpose="grade")
    if found.reward is None or seed.mean_score is None or seed.n_infra_errors:
        raise InfrastructureError(
            f"completion {index} of {proposer.name} in {context.id} could not be scored: the solver or "
            "the sandbox is down; "
            f"run {lab.run_id} can be started again, its replies are cached"
        )
    return Sample(
        context=context.id,
        task=context.task,
        index=index,
        code=rollout.failure.code if rollout.failure else "",
        seed_score=seed.mean_score,
        reward=found.reward,
        tokens=sum(call.completion_tokens for call in rollout.calls),
        completion=rollout.completion,
        choice=kind_of(context.harness, rollout),
    )


def chosen(samples: Sequence[Sample]) -> dict[str, Any]:
    """What a proposer chose, of all its valid revisions and of those that were better."""
    valid = [each for each in samples if each.choice]
    made = [Choice(context=each.context, task=each.task, kind=each.choice) for each in valid]
    return report(made, [one for one, each in zip(made, valid, strict=True) if each.better])


def _grouped(samples: Sequence[Sample], key: Callable[[Sample], str]) -> dict[str, list[Sample]]:
    groups: dict[str, list[Sample]] = {}
    for each in samples:
        groups.setdefault(key(each), []).append(each)
    return groups


def _units(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    """The samples by family, or by context where there is one family only."""
    families = _grouped(samples, lambda each: each.family)
    return families if len(families) > 1 else _grouped(samples, lambda each: each.context)


def _by_unit(samples: Sequence[Sample], value: Callable[[Sample], float]) -> Mapping[str, float]:
    return {unit: fmean(map(value, group)) for unit, group in _units(samples).items()}


def _best_by_unit(samples: Sequence[Sample], k: int) -> Mapping[str, float]:
    """The expected best of `k` completions in a context, its mean over the contexts of each unit."""
    return {
        unit: fmean(
            best_of([each.reward.score for each in context], k)
            for context in _grouped(group, lambda each: each.context).values()
        )
        for unit, group in _units(samples).items()
    }
