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
from loriner.train.choices import Choice, kind_of
from loriner.train.exercise import Exercise
from loriner.train.quality import pattern
from loriner.train.reward import Reward, Scored

MIN_SPREAD = 0.02
"""Standard deviation of the gains in a group below which it is called dead: less than any one part of the
bonus.
"""


def _lively(update: Mapping[str, Any]) -> bool:
    spread = float(update["spread_of_advantages"])
    return spread >= MIN_SPREAD and (update["groups_without_spread"] < 1.0 or update["paid"] != "group")


class DeadSignal(LorinerError):
    """No group had anything to learn from, update after update."""

    exit_code = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutRow:
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
    task: str = ""
    choice: str = ""
    """Which revision it is (`choices.kind_of`); empty without a candidate."""
    before: float | None = None
    """Score of the context's own program on the same questions."""
    gain: float | None = None
    """What it is paid (`advantage.Pay`); None when unscored."""
    advantage: float = 0.0

    @classmethod
    def of(
        cls,
        update: int,
        context: Context,
        scored: Scored,
        *,
        gain: float | None = None,
        advantage: float = 0.0,
    ) -> RolloutRow:
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
            task=context.task,
            choice=kind_of(context.harness, rollout),
            before=scored.before,
            gain=gain,
            advantage=advantage,
        )


def summary(rows: Sequence[RolloutRow], group: int) -> dict[str, Any]:
    """The figures of one update: means of each part of the reward, gains, invalid edits by code, candidates
    by pattern, groups without spread.

    `rows` holds the groups one after the other, `group` rows each.
    """
    rewards = [Reward(**row.reward) for row in rows if row.reward is not None]
    groups = [rows[at : at + group] for at in range(0, len(rows), group)]
    spreads = [_spread(each.gain for each in rows) for rows in groups]
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
        "distinct_in_a_group": _mean(
            len({row.candidate for row in each if row.candidate}) for each in groups
        ),
        "gain": _mean(row.gain for row in rows if row.gain is not None),
        "better": _mean(_better(row) for row in rows if row.reward is not None),
        "spread": _mean(spreads),
        "groups_without_spread": _mean(each < MIN_SPREAD for each in spreads),
        "spread_of_advantages": _spread(row.advantage for row in rows),
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

    def add_rollouts(self, rows: Iterable[RolloutRow]) -> None:
        jsonl.append(self.rollouts, [asdict(row) for row in rows])

    def add_update(self, figures: Mapping[str, Any]) -> None:
        jsonl.append(self.updates, [figures])

    def read_updates(self) -> list[dict[str, Any]]:
        return jsonl.read(self.updates) if self.updates.exists() else []

    def read_choices(self, first: int, last: int) -> list[Choice]:
        """The valid revisions of updates `first` to `last`, by kind."""
        return [
            Choice.of(line)
            for line in jsonl.read(self.rollouts)
            if first <= line["update"] <= last and line["choice"]
        ]

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
    """Passes while the advantages of the last `dead_after` updates differed: within a group, or between
    groups where the gain itself is paid.

    Raises:
        DeadSignal: in none of them, in words, with what the rollouts mostly were.
    """
    last = updates[-dead_after:]
    if len(last) < dead_after or any(map(_lively, last)):
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


def _better(row: RolloutRow) -> bool:
    """Whether the candidate scored more than the program that it revises."""
    assert row.reward is not None
    return bool(row.candidate) and row.before is not None and row.reward["score"] > row.before


def _spread(values: Iterable[float | None]) -> float:
    known = [each for each in values if each is not None]
    return pstdev(known) if len(known) > 1 else 0.0


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return fmean(listed) if listed else 0.0
