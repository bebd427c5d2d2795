"""The texts of the project: lines that fit, links that lead somewhere, a README of a screen and a half."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = sorted(path for place in (".", "docs", "examples/*") for path in ROOT.glob(f"{place}/*.md"))
LONGEST = 120
NOT_WRAPPED = ("CHANGELOG.md", "handbook.md")
MADE = {f"reference/{name}.md" for name in ("commands", "python", "training-settings")}
"""Pages of the site that are made from the code (docs/generate.py)."""
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines of a text that can be broken: no code, no row of a table."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.lstrip().startswith("```")
        if not fenced and not line.lstrip().startswith("|"):
            yield number, line


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_fit(path: Path) -> None:
    if path.name in NOT_WRAPPED:
        return
    long = [number for number, line in prose(path.read_text(encoding="utf-8")) if len(line) > LONGEST]
    assert long == [], f"{path.name}: lines of more than {LONGEST} characters"


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files(path: Path) -> None:
    links = LINK.findall(path.read_text(encoding="utf-8"))
    broken = [each for each in links if not (path.parent / each).exists() and each not in MADE]
    assert broken == []


def test_the_readme_is_a_screen_and_a_half() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 90


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 50
