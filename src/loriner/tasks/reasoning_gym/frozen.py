"""Frozen Reasoning Gym items: made once, split with far-apart seeds, no question in two splits.

They are made by `children/rg.py` and kept under the home directory with the library's version and a digest.
The digests of the named suites stand in `data/rg_digests.json`, the items nowhere.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from loriner.errors import MissingExtra, TaskError
from loriner.tasks.children import rg
from loriner.tasks.items import Item
from loriner.tasks.reasoning_gym.families import FAMILIES, SETTINGS, default_n
from loriner.tasks.scorer import clean_environment

FROZEN_SPLITS = ("test", "tt_grade", "tt_feedback", "val", "rl_grade", "rl_feedback", "sft")
"""The order decides which split keeps a question that several draw."""

_FIRST_SEED = {
    "sft": 100_000_000,
    "rl_feedback": 200_000_000,
    "rl_grade": 300_000_000,
    "val": 400_000_000,
    "tt_feedback": 500_000_000,
    "tt_grade": 600_000_000,
    "test": 700_000_000,
}
"""Far apart, since seed s at index i + 1 is the same item as seed s + 1 at index i."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """The frozen items of one split of a family."""

    family: str
    split: str
    file: Path
    n: int
    """How many questions it holds; fewer than asked for where the family has too few distinct ones."""
    draws: int
    repeated: int
    """Draws whose question an earlier draw, or a split before this one, already had."""
    digest: str
    """SHA-256 over questions and right answers."""


def freeze(
    families: Iterable[str],
    home: Path,
    *,
    splits: Iterable[str] = FROZEN_SPLITS,
    n: int | None = None,
    check: bool = True,
) -> list[Frozen]:
    """The frozen splits of the families, those that are missing made now, all in one process.

    `n` questions a split (at most 1,000; fewer where a family has too few), else the family's default.
    Without `check` the committed digests are not asked.

    Raises:
        TaskError: a family cannot be made, or what is there is not what was frozen.
        MissingExtra: reasoning-gym is not installed.
    """
    wanted = [split for split in FROZEN_SPLITS if split in set(splits)]
    if n is not None and not 1 <= n <= rg.MAX_DRAWS:
        raise TaskError(f"a split has 1 to {rg.MAX_DRAWS} questions; asked for {n}")
    version = library_version()
    shelves = [_shelf(home, version, family, n or default_n(family)) for family in families]
    needed = FROZEN_SPLITS[: FROZEN_SPLITS.index(wanted[-1]) + 1]
    _make([shelf.order(needed) for shelf in shelves if not shelf.holds(wanted)])
    return [shelf.frozen(split, check=check) for shelf in shelves for split in wanted]


def read_frozen(frozen: Frozen) -> list[Item]:
    """The items of a frozen split."""
    with frozen.file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def is_frozen(family: str, home: Path) -> bool:
    """Whether all splits of a family, at its default size, are made under `home`.

    Raises:
        MissingExtra: reasoning-gym is not installed.
    """
    return _shelf(home, library_version(), family, default_n(family)).holds(FROZEN_SPLITS)


def library_version() -> str:
    """The installed version of reasoning-gym, found without importing it.

    Raises:
        MissingExtra: there is none.
    """
    if importlib.util.find_spec("reasoning_gym") is None:
        raise MissingExtra("rg", "a Reasoning Gym task")
    return importlib.metadata.version("reasoning-gym")


def first_seed(family: str, split: str) -> int:
    """The seed of a split's first item; at most 1,000 items follow it, and all seeds stay below 2**32."""
    return _FIRST_SEED[split] + 1_000_000 * FAMILIES.index(family)


@cache
def committed_digests() -> dict[str, Any]:
    """`version`, and `families`: family → n → split → [number of questions, digest]."""
    file = Path(__file__).parent / "data" / "rg_digests.json"
    return json.loads(file.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Shelf:
    """The directory of one family's frozen splits."""

    directory: Path
    family: str
    version: str
    n: int

    def holds(self, splits: Iterable[str]) -> bool:
        """Whether all these splits are made."""
        made = self._made()
        return all(split in made and self._file(split).exists() for split in splits)

    def order(self, splits: Iterable[str]) -> dict[str, Any]:
        """What `children/rg.py` is to make."""
        return {
            "family": self.family,
            "settings": SETTINGS.get(self.family, {}),
            "directory": str(self.directory.resolve()),
            "version": self.version,
            "n": self.n,
            "splits": [_split_order(self.family, split) for split in splits],
        }

    def frozen(self, split: str, *, check: bool) -> Frozen:
        """A split that is made, held against what was written and, with `check`, the committed digest."""
        made, file = self._made()[split], self._file(split)
        if hashlib.sha256(file.read_bytes()).hexdigest() != made["sha256"]:
            raise TaskError(f"{file} is not what was frozen; delete {self.directory} to make its items anew")
        expected = self._committed(split) if check else None
        if expected is not None and expected != [made["n"], made["digest"]]:
            found = f"{made['n']} items with the digest {made['digest'][:12]}"
            raise TaskError(
                f"{file} holds {found}; expected {expected[0]} with {expected[1][:12]}: "
                f"delete {self.directory} to make them anew, and report it if they stay"
            )
        counts = {key: made[key] for key in ("n", "draws", "repeated", "digest")}
        return Frozen(family=self.family, split=split, file=file, **counts)

    def _file(self, split: str) -> Path:
        return self.directory / f"{split}.jsonl"

    def _made(self) -> dict[str, Any]:
        manifest = self.directory / "manifest.json"
        if not manifest.exists():
            return {}
        return json.loads(manifest.read_text(encoding="utf-8"))["splits"]  # type: ignore[no-any-return]

    def _committed(self, split: str) -> list[Any] | None:
        known = committed_digests()
        if self.version != known["version"]:
            return None
        by_split = known["families"].get(self.family, {}).get(str(self.n), {})
        return by_split.get(split)  # type: ignore[no-any-return]


def _shelf(home: Path, version: str, family: str, n: int) -> Shelf:
    directory = home / "tasks" / f"reasoning-gym-{version}" / family / f"n{n}"
    return Shelf(directory, family, version, n)


def _make(orders: list[dict[str, Any]]) -> None:
    if not orders:
        return
    for order in orders:
        Path(order["directory"]).mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-P", rg.__file__],
        input=json.dumps(orders),
        text=True,
        capture_output=True,
        env=clean_environment(),
    )
    if done.returncode != 0:
        last = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise TaskError(f"making Reasoning Gym items failed: {last}")


def _split_order(family: str, split: str) -> dict[str, Any]:
    order: dict[str, Any] = {"name": split, "first_seed": first_seed(family, split)}
    if family == "codeio":  # many questions share a function: each function belongs to one split
        place, total = FROZEN_SPLITS.index(split), len(FROZEN_SPLITS)
        order["share"] = [place / total, (place + 1) / total]
    return order
