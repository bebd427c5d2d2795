"""Patterns of library harnesses, likeness, and renaming that changes names and nothing else."""

from __future__ import annotations

import ast
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loriner.harness.contract import from_library, library_names
from loriner.propose.catalogue_list import ENTRIES
from loriner.propose.facts import Facts
from loriner.train.quality import PATTERNS, likeness, pattern
from loriner.train.renaming import own_names, renamed

MINIMAL = from_library("minimal").source

LABELS = {
    "program_of_thought": "interpreter_loop",
    "self_consistency": "voting",
    "reflection": "verification",
    "retrieval": "retrieval_hop",
}


@pytest.mark.parametrize(("name", "label"), LABELS.items())
def test_library_harnesses_are_labelled_by_what_they_add(name: str, label: str) -> None:
    assert pattern(MINIMAL, from_library(name).source) == label


def test_smaller_changes_have_their_labels() -> None:
    plain = "def solve(model, question):\n    return model(question)\n"
    assert pattern(plain, plain.replace("model(question)", "model(question + 'Be brief.')")) == "prompt"
    assert pattern(plain, plain.replace("model(question)", "model(question).strip()")) == "extraction"
    looped = plain.replace("return model", "for _ in range(3):\n        reply = model") + "    return reply\n"
    assert pattern(plain, looped) == "retry"
    chained = "def solve(model, question):\n    return model(model('List the facts: ' + question))\n"
    assert pattern(plain, chained) == "decomposition"


def test_the_catalogue_s_own_revisions_are_labelled() -> None:
    found = {}
    for entry in ENTRIES:
        revised = entry.rewrite(MINIMAL, Facts(shape="line"))
        if revised is not None and revised != MINIMAL:
            found[entry.name] = pattern(MINIMAL, revised)
    assert found["interpreter_loop"] == "interpreter_loop"
    assert found["self_consistency"] == "voting"
    assert set(found.values()) <= set(PATTERNS)


@given(st.text(), st.text())
def test_likeness_is_a_share_symmetric_and_one_for_equals(a: str, b: str) -> None:
    assert 0.0 <= likeness(a, b) <= 1.0
    assert likeness(a, b) == likeness(b, a)
    assert likeness(a, a) == 1.0


def shape(source: str) -> str:
    """The tree with every name replaced by the order in which it first appears."""
    tree, seen = ast.parse(source), dict[str, str]()
    for node in ast.walk(tree):
        for field in ("id", "arg", "name"):
            value = getattr(node, field, None)
            if isinstance(value, str) and not isinstance(node, ast.alias | ast.keyword):
                setattr(node, field, seen.setdefault(value, f"n{len(seen)}"))
    return ast.dump(tree)


@pytest.mark.parametrize("name", library_names())
@pytest.mark.parametrize("seed", [0, 1])
def test_renaming_changes_names_only(name: str, seed: int) -> None:
    source = from_library(name).source
    made = renamed(source, random.Random(seed), share=1.0)
    assert shape(made) == shape(source)
    assert {"solve", "model", "question"} & own_names(source) <= own_names(made)


def test_renaming_leaves_alone_what_it_could_break() -> None:
    source = (
        "import re as regex\n"
        "def helper(text, limit=3):\n"
        "    kept = text[:limit]\n"
        "    return f'{kept}!'\n"
        "def solve(model, question):\n"
        "    reply = model(question)\n"
        "    return helper(reply, limit=2)\n"
    )
    made = renamed(source, random.Random(3), share=1.0)
    scope: dict[str, object] = {}
    exec(made, scope)
    assert scope["solve"](lambda prompt: "abcdef", "?") == "ab!"  # type: ignore[operator]
    assert "regex" in made and "limit=2" in made and "kept" in made
    assert "helper" not in made and "reply" not in made
    assert renamed(source, random.Random(3), keep=own_names(source), share=1.0) == source
