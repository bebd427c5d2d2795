"""What a commit of the registry says: one line in words, then trailers that any git can list.

The figures are those known when the version was accepted; what changes later stays in the store.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

LINE_CHARACTERS = 100
_CANDIDATE = re.compile(r"^Candidate: ([0-9a-f]{64})$", re.MULTILINE)
_SCORE = re.compile(r"(\S+)(?: \[(\S+), (\S+)\])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How a version fared when it was accepted."""

    proposer: str = ""
    solver: str = ""
    """The model that its program asked; empty in versions of older releases, whose run tells it."""
    parent_score: float | None = None
    """The parent's mean score on the same questions; None for a seed."""
    low: float | None = None
    high: float | None = None
    """The 95 % interval of its own score."""
    n_trials: int = 0
    """Trials behind its score."""
    usd: float | None = None
    """What they and the completion cost; None where a price is unknown."""
    faults_before: Mapping[str, int] = field(default_factory=dict)
    """Trials of the parent that were not right, by fault."""
    faults_after: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionEntry:
    """One commit of the registry."""

    sha: str
    parents: tuple[str, ...] = ()
    """Its git parents: first the version it was made from, last the task's previous one."""
    subject: str
    when: str
    """UTC, ISO 8601."""
    run: str = ""
    round: int = 0
    parent_id: str | None = None
    """The harness it was made from; None for a seed."""
    harness_id: str
    reverts_to: str | None = None
    """For a revert: the commit whose source it brings back."""
    score: float | None = None
    evidence: Evidence = field(default_factory=Evidence)

    @property
    def change(self) -> float | None:
        """Its score less its parent's; None where either is unknown."""
        before = self.evidence.parent_score
        return None if self.score is None or before is None else self.score - before

    @property
    def made_from(self) -> str | None:
        """The commit whose program it revised, or restored; None for a seed."""
        if self.reverts_to:
            return self.reverts_to
        is_seed = bool(self.run) and self.parent_id is None
        return None if is_seed or not self.parents else self.parents[0]

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "change": self.change}


def one_line(text: str) -> str:
    """The text as one printable line that fits a log."""
    line = _printable(text)
    return line if len(line) <= LINE_CHARACTERS else line[: LINE_CHARACTERS - 1] + "…"


def message_of(entry: VersionEntry) -> str:
    """The commit message of an entry."""
    known = entry.evidence
    trailers = {
        "Run": entry.run,
        "Round": str(entry.round),
        "Parent": entry.parent_id or "",
        "Candidate": entry.harness_id,
        "Reverts-To": entry.reverts_to or "",
        "Parent-Score": _number(known.parent_score),
        "Score": _interval(entry.score, known.low, known.high),
        "Trials": str(known.n_trials),
        "Cost-USD": "unpriced" if known.usd is None else f"{known.usd:.6f}",
        "Proposer": known.proposer,
        "Solver": known.solver,
        "Faults-Before": _counts(known.faults_before),
        "Faults-After": _counts(known.faults_after),
    }
    lines = [f"{key}: {_printable(value)}" for key, value in trailers.items() if value]
    return "\n".join([one_line(entry.subject) or "Version", "", *lines, ""])


def candidate_of(message: str) -> str | None:
    """The harness id that a commit message names."""
    found = _CANDIDATE.search(message)
    return found.group(1) if found else None


def read_entry(sha: str, parents: tuple[str, ...], message: str, time: int, harness_id: str) -> VersionEntry:
    """The entry of a commit; a commit by other hands has no trailers, and is known by its source alone."""
    subject, _, rest = message.partition("\n")
    trailers = dict(line.split(": ", 1) for line in rest.splitlines() if ": " in line)
    score, low, high = _read_interval(trailers.get("Score", ""))
    return VersionEntry(
        sha=sha,
        parents=parents,
        subject=subject,
        when=datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z"),
        run=trailers.get("Run", ""),
        round=int(_read_number(trailers.get("Round", "")) or 0),
        parent_id=trailers.get("Parent"),
        harness_id=harness_id,
        reverts_to=trailers.get("Reverts-To"),
        score=score,
        evidence=Evidence(
            proposer=trailers.get("Proposer", ""),
            solver=trailers.get("Solver", ""),
            parent_score=_read_interval(trailers.get("Parent-Score", ""))[0],
            low=low,
            high=high,
            n_trials=int(_read_number(trailers.get("Trials", "")) or 0),
            usd=_read_number(trailers.get("Cost-USD", "")),
            faults_before=_read_counts(trailers.get("Faults-Before", "")),
            faults_after=_read_counts(trailers.get("Faults-After", "")),
        ),
    )


def _printable(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _interval(value: float | None, low: float | None, high: float | None) -> str:
    bounds = "" if low is None or high is None else f" [{low:.4f}, {high:.4f}]"
    return _number(value) + bounds if value is not None else ""


def _counts(counts: Mapping[str, int]) -> str:
    return " ".join(f"{fault}={n}" for fault, n in sorted(counts.items()))


def _read_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _read_interval(text: str) -> tuple[float | None, float | None, float | None]:
    found = _SCORE.fullmatch(text)
    low, high = (found.group(2), found.group(3)) if found else ("", "")
    return _read_number(found.group(1) if found else ""), _read_number(low or ""), _read_number(high or "")


def _read_counts(text: str) -> dict[str, int]:
    pairs = (item.partition("=") for item in text.split())
    return {fault: int(n) for fault, _, n in pairs if n.isdigit()}
