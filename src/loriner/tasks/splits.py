"""Which split an item belongs to.

A line may say so itself (`"split": "grade"`). The others are put in an order that depends on a hash of
their ids alone. Up to `FEW` items this order is cut where the shares say, so that sizes are exact; a new line
may then move an item at a cut. Beyond that each item's own hash decides, and new lines move no old one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from loriner.errors import TaskError
from loriner.tasks.base import SPLITS, Split
from loriner.tasks.items import Item

FEW = 400
"""Items up to which the splits have exactly their shares. At 400 a hash alone misses a third by 5 % or so; at
56 it made 6, 30 and 20 of shares 0.3, 0.35 and 0.35."""

DEFAULT_SHARES: Mapping[str, float] = {"feedback": 0.3, "grade": 0.3, "test": 0.4}

SPLIT_WORDS: Mapping[str, Split] = {
    "train": "feedback",
    "val": "grade",
    "validation": "grade",
    "dev": "grade",
    **{split: split for split in SPLITS},
}
"""What a user may call a split, and which one it is."""


def split_named(name: str) -> Split:
    """The split called `name`; train and val are other words for feedback and grade.

    Raises:
        TaskError: there is no such split.
    """
    if name not in SPLIT_WORDS:
        raise TaskError(f"no split is called {name!r}; expected one of {', '.join(SPLITS)}")
    return SPLIT_WORDS[name]


def read_shares(given: Mapping[str, object], where: str) -> dict[Split, float]:
    """Shares of the three splits, from a mapping of names to numbers; a split left out gets none.

    Raises:
        TaskError: an unknown or repeated split, a share that is no number in [0, 1], or a sum other than 1.
    """
    shares: dict[Split, float] = dict.fromkeys(SPLITS, 0.0)
    seen: set[Split] = set()
    for name, share in given.items():
        split = split_named(name)
        if split in seen:
            raise TaskError(f"{where}: the split {split} is given twice (as {name!r} too)")
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise TaskError(f"{where}: the share of {name} is {share!r}; expected a number from 0 to 1")
        seen.add(split)
        shares[split] = float(share)
    if not math.isclose(sum(shares.values()), 1.0, abs_tol=1e-6):
        raise TaskError(f"{where}: the shares sum to {sum(shares.values()):g}; expected 1")
    return shares


def place(key: str) -> float:
    """The fixed place of a key on [0, 1)."""
    return int.from_bytes(hashlib.sha256(f"split|{key}".encode()).digest()[:8], "big") / 2**64


def split_of(key: str, shares: Mapping[Split, float]) -> Split:
    """The split in whose share the key's place falls."""
    return _at(place(key), shares)


def _at(where: float, shares: Mapping[Split, float]) -> Split:
    """The split in whose share a place on [0, 1) falls."""
    upper = 0.0
    for split in SPLITS:
        upper += shares[split]
        if where < upper:
            return split
    return max(SPLITS, key=lambda split: shares[split])  # the shares' sum fell short of 1 by rounding


def question_key(text: str) -> str:
    """What two questions have in common that are the same: their words, however they are spaced."""
    return " ".join(text.split())


def by_hash(items: Iterable[Item], shares: Mapping[Split, float]) -> dict[Split, list[Item]]:
    """The items of each split, in the order of their places, so that any head of it is a fair sample.

    Items with the same question stay together: the splits share no question.

    Raises:
        TaskError: two items with the same question name different splits.
    """
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(question_key(item["question"]), []).append(item)
    named = {key: _named_split(group) for key, group in groups.items()}
    free = [group for key, group in groups.items() if named[key] is None]
    splits: dict[Split, list[Item]] = {split: [] for split in SPLITS}
    for key, split in named.items():
        if split is not None:
            splits[split] += groups[key]
    for share, group in _shared_out(free, shares):
        splits[share] += group
    for held in splits.values():
        held.sort(key=lambda item: (place(item["id"]), item["id"]))
    return splits


def _named_split(group: Sequence[Item]) -> Split | None:
    """The split that the items of one question name; None where none does."""
    named = {split_named(item["split"]): item["id"] for item in group if "split" in item}
    if len(named) > 1:
        (first, one), (second, other) = list(named.items())[:2]
        raise TaskError(
            f"items {one!r} ({first}) and {other!r} ({second}) have the same question: put them in one "
            "split, or a sealed question is seen before the end"
        )
    return next(iter(named), None)


def _shared_out(
    groups: Sequence[Sequence[Item]], shares: Mapping[Split, float]
) -> Iterator[tuple[Split, Sequence[Item]]]:
    """Each group with its split."""
    n = sum(map(len, groups))
    if n > FEW:
        yield from ((split_of(group[0]["id"], shares), group) for group in groups)
        return
    before = 0
    for group in sorted(groups, key=lambda group: (place(group[0]["id"]), group[0]["id"])):
        yield _at((before + len(group) / 2) / n, shares), group
        before += len(group)
