"""Draws docs/images/result.svg, the picture of the README, from the figures of docs/data/everyday.json.

python docs/picture.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from loriner.report.charts import IntervalRow, intervals
from loriner.statistics import interval

HERE = Path(__file__).parent
SHOWN = {"seed": "as it was", "catalogue": "by catalogue", "strong": "by strong model"}
STYLE = """
svg { background: #ffffff; font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
text { fill: #1b1f24; } .tick, .axis { fill: #57606a; } .grid { stroke: #d8dee4; stroke-width: 1; }
.range { stroke: currentColor; stroke-width: 3; stroke-linecap: round; opacity: .75; }
.mark { fill: currentColor; }
.s0 { color: #6e7781; } .s1 { color: #0969a2; } .s2 { color: #0b7a4b; }
"""


def main() -> None:
    """Writes the picture."""
    chart = str(intervals("Score on sealed questions, 95 % intervals", list(rows()), bounds=(0.0, 1.0)))
    head, rest = chart.split(">", 1)
    text = f'{head} xmlns="http://www.w3.org/2000/svg"><style>{STYLE}</style>{rest}\n'
    (HERE / "images" / "result.svg").write_text(text, encoding="utf-8")


def rows() -> Iterator[IntervalRow]:
    """One row a program: the seed of each task, and what its searches found."""
    measured = json.loads((HERE / "data" / "everyday.json").read_text(encoding="utf-8"))
    for task, found in measured.items():
        yield IntervalRow(f"{task}: {SHOWN['seed']}", interval(_values(found["strong"]["seed"])), 0)
        for style, name in enumerate(("catalogue", "strong"), 1):
            if name in found:
                yield IntervalRow(f"{task}: {SHOWN[name]}", interval(_values(found[name]["scores"])), style)


def _values(scores: dict[str, float] | list[float]) -> list[float]:
    return list(scores.values()) if isinstance(scores, dict) else scores


if __name__ == "__main__":
    main()
