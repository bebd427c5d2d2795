"""Makes every frozen split of the Reasoning Gym suites from nothing and says how long each family took.

    python experiments/splits.py [--suite rg-train ...] [--write]

`--write` records the digests in the package: the reference against which every other machine is held.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from loriner.tasks.reasoning_gym import frozen
from loriner.tasks.reasoning_gym.families import default_n
from loriner.tasks.suites import FAMILY_SUITES

DIGESTS = Path(frozen.__file__).parent / "data" / "rg_digests.json"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", nargs="*", default=list(FAMILY_SUITES), choices=list(FAMILY_SUITES))
    parser.add_argument("--write", action="store_true", help="record the digests in the package")
    given = parser.parse_args()
    families = [family for suite in given.suite for family in FAMILY_SUITES[suite]]
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as home:
        made = {family: made_of(family, Path(home), check=not given.write) for family in families}
    print(f"{len(families)} families, {sum(len(each) for each in made.values())} splits, ", end="")
    print(f"{sum(one.n for each in made.values() for one in each)} questions", end=" ")
    print(f"in {time.perf_counter() - begun:.0f} s")
    if given.write:
        write(made)


def made_of(family: str, home: Path, *, check: bool) -> list[frozen.Frozen]:
    begun = time.perf_counter()
    splits = frozen.freeze([family], home, check=check)
    sizes = " ".join(str(each.n) for each in splits)
    print(f"{family:26} {time.perf_counter() - begun:6.1f} s   {sizes}", flush=True)
    return splits


def write(made: dict[str, list[frozen.Frozen]]) -> None:
    known = json.loads(DIGESTS.read_text(encoding="utf-8"))
    known["version"] = frozen.library_version()
    for family, splits in made.items():
        known["families"][family] = {
            str(default_n(family)): {each.split: [each.n, each.digest] for each in splits}
        }
    known["families"] = dict(sorted(known["families"].items()))
    DIGESTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {DIGESTS}")


if __name__ == "__main__":
    main()
