"""Replies that a strong proposer wrote earlier, replayed on Reasoning Gym families at the default sizes.

    python bench/hand_replay.py REPLIES --solver qwen2.5-coder-0.5b --out hand.json

`REPLIES` is a folder with `FAMILY-N.md`: what the proposer said in round N. A family's episode has as many
rounds as it has replies; one that no longer applies is a refused edit, and the next round goes on. A family
that stands in the output is not run again.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import loriner as lo
from endpoint import reciting
from everyday import adapted
from everyday_table import read, save
from loriner.errors import LorinerError


def replies(folder: Path) -> Mapping[str, Sequence[str]]:
    """What was said for each family, in the order of the rounds."""
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for file in folder.glob("*.md"):
        if named := re.fullmatch(r"(\w+)-(\d+)", file.stem):
            found[named[1]][int(named[2])] = file.read_text(encoding="utf-8")
    return {family: [said[n] for n in sorted(said)] for family, said in sorted(found.items())}


def measure(family: str, said: Sequence[str], home: Path, solver: Any) -> dict[str, Any]:
    """Sealed scores of seed and best, with calls and minutes."""
    started = time.monotonic()
    task = lo.Task.named(f"rg:{family}", home=home)
    with reciting(said) as address:
        found = adapted(task, home, solver, lo.Model(address, "recorded"), rounds=len(said))
    return {**found, "minutes": round((time.monotonic() - started) / 60, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("replies", type=Path)
    parser.add_argument("--solver", default="qwen2.5-coder-0.5b")
    parser.add_argument("--families", help="with commas between them; default: all that have replies")
    parser.add_argument("--home", type=Path, default=Path(".loriner"))
    parser.add_argument("--out", type=Path, default=Path("hand.json"))
    arguments = parser.parse_args()
    wanted = replies(arguments.replies)
    for family in arguments.families.split(",") if arguments.families else wanted:
        if family not in read(arguments.out):
            _measure_once(family, wanted[family], arguments)
    means = {name: fmean(found["strong"]["scores"].values()) for name, found in read(arguments.out).items()}
    print(f"mean of {len(means)} families: {fmean(means.values()):.3f}")


def _measure_once(family: str, said: Sequence[str], arguments: argparse.Namespace) -> None:
    try:
        found = measure(family, said, arguments.home, arguments.solver)
    except LorinerError as error:
        print(f"error: {family}: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    save(arguments.out, family, "strong", found)
    seed, best = fmean(found["seed"].values()), fmean(found["scores"].values())
    print(f"{family}: {seed:.3f} -> {best:.3f}, {found['calls']} calls", flush=True)


if __name__ == "__main__":
    main()
