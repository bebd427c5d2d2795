"""What a proposer chooses: kinds of revisions, and information between family and kind beyond chance."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from statistics import fmean

import pytest
from sums import GOOD, HALF, SEED, edit, exercise

from loriner.propose.catalogue import offered
from loriner.propose.proposer import Completion, read
from loriner.records import Harness
from loriner.train.choices import Choice, choices, kind_of


def kind(text: str, program: Harness = SEED) -> str:
    context = exercise(harness=program).context
    return kind_of(program, read(context, 0, Completion(text)))


def of(rows: list[tuple[str, str]]) -> list[Choice]:
    """A choice for each family and kind, every one in a context of its own."""
    return [Choice(context=f"c{n}", task=f"rg:{family}", kind=kind) for n, (family, kind) in enumerate(rows)]


def test_a_known_revision_is_known_by_its_first_sentence() -> None:
    context = replace(exercise().context, tools=("examples", "run_python"))
    for entry, text in offered(context):
        assert kind(text) == entry.name
    assert len(list(offered(context))) > 10


def test_other_revisions_are_told_apart_by_what_they_add_but_not_by_their_texts() -> None:
    asking = "def solve(model, question):\n    return model('{}' + question)\n"
    one, other = (edit(Harness(asking.format(text))) for text in ("Think. ", "Answer shortly. "))
    assert kind(one) == kind(other) != kind(edit(GOOD))
    assert kind(edit(GOOD)) != kind(edit(HALF))
    assert kind("prose") == ""


def test_a_choice_that_follows_the_family_has_its_whole_information() -> None:
    found = choices(of([("a", "one"), ("b", "two")] * 20))
    assert found.information == pytest.approx(1.0)
    assert found.by_chance < 0.05
    assert found.p_value < 0.01
    assert (found.n, found.n_contexts, found.n_families, found.n_often) == (40, 40, 2, 2)


def test_one_choice_for_all_has_none() -> None:
    found = choices(of([("a", "one"), ("b", "one"), ("c", "one")] * 5))
    assert (found.information, found.beyond_chance, found.p_value) == (0.0, 0.0, 1.0)
    assert found.kinds == {"one": 1.0}


def test_contexts_that_each_have_a_family_of_their_own_say_nothing() -> None:
    found = choices(of([(f"f{n}", f"kind {n % 4}") for n in range(20)]))
    assert found.information == pytest.approx(2.0)
    assert (found.beyond_chance, found.p_value) == (pytest.approx(0.0), 1.0)


def test_the_completions_of_one_context_are_no_independent_draws() -> None:
    """Two contexts a family, eight equal completions in each: thirty-two rows, but four draws."""
    rows = [
        Choice(context=f"{family}{n}", task=f"rg:{family}", kind=family)
        for family in "ab"
        for n in range(2)
        for _ in range(8)
    ]
    assert choices(rows).p_value > 0.25
    alone = [replace(each, context=f"{each.context}-{n}") for n, each in enumerate(rows)]
    assert choices(alone).p_value < 0.01


def test_both_settings_are_of_one_family() -> None:
    rows = [Choice(context=name, task=name, kind="one") for name in ("rg:gcd", "rg:gcd+varied")]
    assert choices(rows).n_families == 1


def test_chance_alone_is_seldom_called_more() -> None:
    found = []
    for seed in range(40):
        draw = Random(seed)
        found.append(choices(of([(f"f{n % 6}", f"kind {draw.randrange(5)}") for n in range(60)]), seed=seed))
    assert fmean(each.information for each in found) > 0.2, "the plug-in estimate is above 0"
    assert abs(fmean(each.beyond_chance for each in found)) < 0.05
    assert sum(each.p_value < 0.05 for each in found) <= 6
