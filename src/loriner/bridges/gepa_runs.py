"""What a run directory of GEPA holds. GEPA need not be installed, and nothing is unpickled."""

from __future__ import annotations

import json
from pathlib import Path

from loriner.errors import ConfigError, HarnessError
from loriner.harness.contract import from_text
from loriner.records import Harness


def harnesses(run_dir: str | Path, component: str = "harness.py") -> list[Harness]:
    """The candidates of a run directory, in GEPA's order: the seed first.

    Raises:
        ConfigError: there is no list of candidates, or no such component in them.
        HarnessError: a candidate is not a program with `solve`.
    """
    return [_harness(text, number) for number, text in enumerate(_texts(Path(run_dir), component))]


def _texts(run_dir: Path, component: str) -> list[str]:
    file = run_dir / "candidates.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        names = {name for each in found for name in each}
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"reading the candidates of GEPA in {file}: {error}") from error
    if component not in names:
        raise ConfigError(f"{file} has no component {component!r}; it has {', '.join(sorted(names))}")
    return [each[component] for each in found]


def _harness(text: str, number: int) -> Harness:
    try:
        return from_text(text)
    except HarnessError as error:
        raise HarnessError(f"candidate {number}: {error}") from error
