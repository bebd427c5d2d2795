"""The table of `docs/data/everyday.json`: each row's sealed score, and its paired difference from the seed.

python bench/everyday_table.py
python bench/everyday_table.py --into docs/everyday.md
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from loriner.statistics import interval, paired

DATA = Path(__file__).parents[1] / "docs" / "data" / "everyday.json"
NAMES = {
    "constant": "constant answer",
    "nearest": "copy of the nearest item",
    "seed": "seed harness",
    "description": "description before the question",
    "catalogue": "adapted, catalogue",
    "catalogue-kept": "catalogue: ahead, not confirmed",
    "strong": "adapted, strong proposer",
    "strong-kept": "strong proposer: ahead, not confirmed",
    "dspy-plain": "DSPy, description only",
    "dspy-labelled": "DSPy, LabeledFewShot",
    "dspy-nearest": "DSPy, nearest examples",
    "dspy-bootstrapped": "DSPy, BootstrapFewShot",
    "gepa": "GEPA",
}
HEAD = "| task | program | sealed score | less the seed | calls | minutes |"
Rows = Mapping[str, dict[str, Any]]


def read(file: Path) -> dict[str, dict[str, Any]]:
    """What was measured, by task and row."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def save(file: Path, task: str, row: str, found: Mapping[str, Any]) -> None:
    """Adds a row. The file is whole at any moment."""
    data = read(file)
    data.setdefault(task, {})[row] = dict(found)
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(file)


def table(data: Mapping[str, Rows]) -> Iterator[str]:
    """Lines of Markdown, one task after another."""
    yield HEAD
    yield "| --- | --- | --- | --- | --- | --- |"
    for task, found in data.items():
        rows = with_seed(found)
        for row in sorted(rows, key=list(NAMES).index):
            yield f"| {task} | {NAMES[row]} | {_line(rows[row], rows.get('seed', {}))} |"


def with_seed(found: Rows) -> Rows:
    """The rows of a task, with that of the seed and of what an adaptation kept without accepting it."""
    kept = {
        f"{row}-kept": {"scores": each["unconfirmed"], "calls": each["calls"]}
        for row, each in found.items()
        if each.get("unconfirmed")
    }
    seeds = [
        {"scores": each["seed"], "calls": len(each["seed"])} for each in found.values() if each.get("seed")
    ]
    return {**found, **kept, **({"seed": seeds[0]} if seeds else {})}


def _line(row: Mapping[str, Any], seed: Mapping[str, Any]) -> str:
    scores = row["scores"]
    mean = interval(list(scores.values()))
    gain = _gain(scores, seed.get("scores", {})) if row is not seed else ""
    minutes = f"{row['minutes']:.1f}" if "minutes" in row else ""
    return (
        f"{mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}] n={mean.n} | {gain} | {row['calls']} | {minutes}"
    )


def _gain(scores: Mapping[str, float], seed: Mapping[str, float]) -> str:
    """The mean of the differences by question with its interval; empty where the questions differ."""
    if not seed or set(seed) != set(scores):
        return ""
    gain = paired(seed, scores).difference
    return f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"


def put(page: Path, lines: Sequence[str]) -> None:
    """Writes the table in the place of the one that the page holds."""
    old = re.compile(rf"^{re.escape(HEAD)}\n(?:\|.*\n)*", re.MULTILINE)
    text, n_found = old.subn(lambda _: "\n".join(lines) + "\n", page.read_text(encoding="utf-8"))
    if n_found != 1:
        sys.exit(f"error: {page} holds {n_found} tables that begin with {HEAD!r}; it needs one")
    page.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--into", type=Path, help="a page that holds the table: it is replaced there")
    arguments = parser.parse_args()
    lines = list(table(read(arguments.data)))
    if arguments.into:
        put(arguments.into, lines)
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
