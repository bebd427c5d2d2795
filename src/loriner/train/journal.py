"""What training writes down: one line an update, one line a rollout, and whether there is anything left to
learn from.

The files are cut back to the checkpoint when a run resumes, so they never hold an update twice;
a line that a kill cut off goes with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from loriner.errors import LorinerError
from loriner.propose.proposer import Completion, read
from loriner.records import Context
from loriner.train import jsonl
from loriner.train.exercise import Exercise
from loriner.train.quality import pattern
from loriner.train.reward import Reward, Scored

MIN_SPREAD = 0.02
"""Standard deviation of the rewards in a group below which it is called dead: less than any one part of the
bonus.
"""


class DeadSignal(LorinerError):
    """No group had anything to learn from, update after update."""

    exit_code = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One rollout as the journal keeps it."""

    update: int
    """From 1."""
    context: str
    index: int
    """Its place in its group."""
    completion: str
    code: str
    """The edit error; empty for a candidate."""
    candidate: str
    """Harness id; empty without a candidate."""
    pattern: str
    """What kind of revision it is (`quality.pattern`); empty without a candidate."""
    reward: dict[str, Any] | None
    """The parts of the reward; None when unscored."""

    @classmethod
    def of(cls, update: int, context: Context, scored: Scored) -> Row:
        rollout = scored.rollout
        candidate = rollout.candidate
        return cls(
            update=update,
            context=rollout.context_id,
            index=rollout.index,
            completion=rollout.completion,
            code=rollout.failure.code if rollout.failure else "",
            candidate=candidate.id if candidate else "",
            pattern=pattern(context.harness.source, candidate.source) if candidate else "",
            reward=asdict(scored.reward) if scored.reward else None,
        )


def summary(rows: Sequence[Row], group: int) -> dict[str, Any]:
    """The figures of one update: means of each part of the reward, invalid edits by code, candidates by
    pattern, groups without spread.

    `rows` holds the groups one after the other, `group` rows each.
    """
    rewards = [Reward(**row.reward) for row in rows if row.reward is not None]
    spreads = [_spread(rows[at : at + group]) for at in range(0, len(rows), group)]
    return {
        "n": len(rows),
        "unscored": len(rows) - len(rewards),
        "reward": _mean(each.total for each in rewards),
        "score": _mean(each.score for each in rewards),
        "validity": _mean(each.validity for each in rewards),
        "parsed": _mean(each.parsed for each in rewards),
        "applied": _mean(each.applied for each in rewards),
        "completion_rate": _mean(each.completion_rate for each in rewards),
        "invalid": dict(Counter(row.code for row in rows if row.code).most_common()),
        "patterns": dict(Counter(row.pattern for row in rows if row.pattern).most_common()),
        "distinct_candidates": len({row.candidate for row in rows if row.candidate}),
        "spread": _mean(spreads),
        "groups_without_spread": _mean(each < MIN_SPREAD for each in spreads),
    }


class Journal:
    """Two JSONL files of a training run."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.updates = directory / "updates.jsonl"
        self.rollouts = directory / "rollouts.jsonl"

    def cut_back(self, update: int) -> None:
        """Forgets what came after `update`: it will be done again."""
        for path in (self.updates, self.rollouts):
            if path.exists():
                jsonl.write(path, [row for row in jsonl.read(path, torn=True) if row["update"] <= update])

    def add_rollouts(self, rows: Iterable[Row]) -> None:
        jsonl.append(self.rollouts, [asdict(row) for row in rows])

    def add_update(self, figures: Mapping[str, Any]) -> None:
        jsonl.append(self.updates, [figures])

    def read_updates(self) -> list[dict[str, Any]]:
        return jsonl.read(self.updates) if self.updates.exists() else []

    def read_rollouts(self, exercises: Sequence[Exercise], first: int, last: int) -> list[Scored]:
        """The rollouts of updates `first` to `last`, made again from their completions."""
        contexts = {each.context.id: each.context for each in exercises}
        return [
            Scored(
                rollout=read(contexts[line["context"]], line["index"], Completion(line["completion"])),
                reward=Reward(**line["reward"]) if line["reward"] else None,
            )
            for line in jsonl.read(self.rollouts)
            if first <= line["update"] <= last and line["context"] in contexts
        ]


def require_signal(updates: Sequence[Mapping[str, Any]], dead_after: int) -> None:
    """Passes while any group of the last `dead_after` updates had a spread of rewards.

    Raises:
        DeadSignal: none had, in words, with what the rollouts mostly were.
    """
    last = updates[-dead_after:]
    if len(last) < dead_after or any(each["groups_without_spread"] < 1.0 for each in last):
        return
    invalid: Counter[str] = Counter()
    for each in last:
        invalid.update(each["invalid"])
    n = sum(each["n"] for each in last)
    mostly = ", ".join(f"{code} {count / n:.0%}" for code, count in invalid.most_common(3)) or "valid edits"
    raise DeadSignal(
        f"training stopped: in the last {dead_after} updates no group had rewards that differ "
        f"(mean reward {last[-1]['reward']:.3f}; rollouts: {mostly}). A policy that cannot write edits yet "
        "needs SFT first; one whose candidates all score alike needs tasks with more room"
    )


def _spread(rows: Sequence[Row]) -> float:
    totals = [Reward(**row.reward).total for row in rows if row.reward is not None]
    return pstdev(totals) if len(totals) > 1 else 0.0


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return fmean(listed) if listed else 0.0
