"""Where each line of a harness comes from: the version that brought it, and what that did to the score."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from loriner.store.commit_message import VersionEntry
from loriner.store.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a program with its origin."""

    text: str
    entry: VersionEntry
    """The version that brought it. For a line of the seed, `entry.parent_id` is None."""

    def as_json(self) -> dict[str, Any]:
        entry = self.entry
        origin = {"sha": entry.sha, "harness": entry.harness_id, "run": entry.run, "round": entry.round}
        return {**origin, "change": entry.change, "subject": entry.subject, "text": self.text}


def blame(registry: Registry, name: str) -> list[Line]:
    """The lines of a version, each with the version that brought it.

    Raises:
        ConfigError: no such version.
    """
    lines: list[Line] = []
    for entry, source in registry.lineage(name):
        lines = _carried(lines, source.splitlines(), entry)
    return lines


def _carried(old: list[Line], texts: list[str], entry: VersionEntry) -> list[Line]:
    """The new lines: those that stayed keep their origin, the rest come from `entry`."""
    head = _common([line.text for line in old], texts)
    tail = _common([line.text for line in old[head:]][::-1], texts[head:][::-1])
    changed = old[head : len(old) - tail], texts[head : len(texts) - tail]
    kept = old[len(old) - tail :]
    return [*old[:head], *_matched(*changed, entry), *kept]


def _matched(old: list[Line], texts: list[str], entry: VersionEntry) -> list[Line]:
    fresh = [Line(text=text, entry=entry) for text in texts]
    matcher = SequenceMatcher(None, [line.text for line in old], texts, autojunk=False)
    for start, place, size in matcher.get_matching_blocks():
        fresh[place : place + size] = old[start : start + size]
    return fresh


def _common(one: list[str], other: list[str]) -> int:
    """How many lines two texts share from their beginning."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
