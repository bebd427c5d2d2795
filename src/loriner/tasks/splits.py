"""Which split an item belongs to: decided by a hash of its id alone, so that new lines move no old one."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping

from loriner.errors import TaskError
from loriner.tasks.base import SPLITS, Split
from loriner.tasks.items import Item

DEFAULT_SHARES: Mapping[str, float] = {"feedback": 0.3, "grade": 0.3, "test": 0.4}

_ALIASES: Mapping[str, Split] = {
    "train": "feedback",
    "val": "grade",
    "validation": "grade",
    "dev": "grade",
    **{split: split for split in SPLITS},
}


def split_named(name: str) -> Split:
    """The split called `name`; train and val are other words for feedback and grade.

    Raises:
        TaskError: there is no such split.
    """
    if name not in _ALIASES:
        raise TaskError(f"no split is called {name!r}; expected one of {', '.join(SPLITS)}")
    return _ALIASES[name]


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
    upper = 0.0
    for split in SPLITS:
        upper += shares[split]
        if place(key) < upper:
            return split
    return max(SPLITS, key=lambda split: shares[split])  # the shares' sum fell short of 1 by rounding


def question_key(text: str) -> str:
    """What two questions have in common that are the same: their words, however they are spaced."""
    return " ".join(text.split())


def by_hash(items: Iterable[Item], shares: Mapping[Split, float]) -> dict[Split, list[Item]]:
    """The items of each split, in the order of their places, so that any head of it is a fair sample.

    An item that repeats an earlier one's question goes where that one is: the splits share no question.
    """
    splits: dict[Split, list[Item]] = {split: [] for split in SPLITS}
    owner: dict[str, str] = {}
    for item in items:
        key = owner.setdefault(question_key(item["question"]), item["id"])
        splits[split_of(key, shares)].append(item)
    for held in splits.values():
        held.sort(key=lambda item: (place(item["id"]), item["id"]))
    return splits
