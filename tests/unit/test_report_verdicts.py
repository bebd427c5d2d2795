"""What a report says in words, for each way that a run can come out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from loriner.records import Harness, Usage
from loriner.report.comparison.results import SEED as SEED_METHOD
from loriner.report.comparison.results import Comparison, Contrast, Method
from loriner.report.comparison.verdicts import remarks, verdict
from loriner.report.facts import Episode
from loriner.report.pages import facts_of
from loriner.report.verdicts import bottleneck, looks, luck, outcome
from loriner.statistics import Interval, Paired
from loriner.store.database import Store
from recorded import LOOP, record


async def episode(home: Path, solves: Callable[[Harness, str, int], bool]) -> Episode:
    store = Store.open(home)
    found = facts_of(store, await record(store, solves=solves))
    store.close()
    assert isinstance(found, Episode)
    return found


def better(harness: Harness, split: str, n: int) -> bool:
    return n % 3 != 0 if harness == LOOP else n % 5 == 0


def lucky(harness: Harness, split: str, n: int) -> bool:
    """The accepted program is better on the grade questions alone."""
    return n % 4 == 0 if split == "test" or harness != LOOP else n % 4 != 0


def worse(harness: Harness, split: str, n: int) -> bool:
    return (n % 8 == 0) if harness == LOOP and split == "test" else n % 2 == 0


@pytest.mark.parametrize(
    ("solves", "words"),
    [
        (better, "The adapted program is better than the seed: 0.67 against 0.20"),
        (lucky, "The gain on the grade questions (0.25 to 0.75) is not confirmed: 0.27 against 0.27"),
        (worse, "The adapted program is worse than the seed"),
    ],
)
async def test_the_verdict_follows_the_sealed_questions(
    tmp_path: Path, solves: Callable[[Harness, str, int], bool], words: str
) -> None:
    assert outcome(await episode(tmp_path, solves)).startswith(words)


async def test_luck_is_named_where_the_sealed_score_is_lower(tmp_path: Path) -> None:
    found = await episode(tmp_path, lucky)
    assert found.best is not None
    assert luck(found.best).endswith("too high: quote the sealed score.")
    honest = await episode(tmp_path / "2", better)
    assert honest.best is not None
    assert luck(honest.best).endswith("The first score holds.")


async def test_nothing_accepted_and_ended_early_are_said(tmp_path: Path) -> None:
    found = await episode(tmp_path, better)
    assert found.seed is not None
    stood = replace(found, best=replace(found.seed, name="best"))
    assert outcome(stood).startswith("No revision was accepted: the seed program scores 0.20 [0.08, 0.38]")
    early = replace(found, status="budget", seed=None, best=None)
    assert outcome(early).startswith("The run ended early (budget); 1 revision accepted in 3 rounds")


async def test_where_the_failures_lie_is_said_and_not_what_helps(tmp_path: Path) -> None:
    best = (await episode(tmp_path, better)).best
    assert best is not None
    assert "never appears in any reply" in bottleneck(best)
    lost = replace(best, faults={"extraction": 6, "reasoning": 1})
    assert bottleneck(lost).startswith("In 6 of 7 wrong trials") and "lost in extraction" in bottleneck(lost)
    assert bottleneck(replace(best, faults={})) == "All 20 trials were right."


async def test_the_looks_are_counted(tmp_path: Path) -> None:
    found = await episode(tmp_path, better)
    assert "up to 3 rounds was tested, and the level of 0.05" in looks(found)
    plan = {**found.start.plan, "accept": "mean"}
    assert "likely" in looks(replace(found, start=replace(found.start, plan=plan)))


def comparison(
    *methods: tuple[str, float], told: tuple[tuple[str, str], ...] = (), n: int = 40
) -> Comparison:
    """Methods with these scores on `n` questions, of which these pairs can be told apart."""
    made = tuple(_method(name, score) for name, score in methods)
    contrasts = tuple(
        _contrast(first, second, first.test.mean - second.test.mean, (first.name, second.name) in told, n)
        for place, first in enumerate(made)
        for second in made[place + 1 :]
    )
    return Comparison(
        run_id="r",
        status="done",
        started="2026-01-01T00:00:00Z",
        seconds=1.0,
        arms=(),
        methods=made,
        contrasts=contrasts,
        unit="calls",
        config={},
    )


def _method(name: str, score: float) -> Method:
    return Method(
        name=name,
        test=Interval(score, score - 0.1, score + 0.1, 40),
        gain=None,
        n_seeds=3,
        n_arms=3,
        search=Usage(),
        n_cached=0,
        solver_calls=10,
        proposer_calls=1,
        served=1.0,
        accepted=0,
    )


def _contrast(first: Method, second: Method, difference: float, told: bool, n: int) -> Contrast:
    width = 0.01 if told else 1.0
    found = Interval(difference, difference - width, difference + width, n)
    return Contrast(
        first=first.name,
        second=second.name,
        paired=Paired(n, found, 0.01 if told else 0.5),
        p_adjusted=0.02 if told else 1.0,
    )


def test_a_comparison_names_the_best_only_where_it_is_shown() -> None:
    both = comparison(("sequential", 0.6), ("sampling", 0.3), told=(("sequential", "sampling"),))
    assert verdict(both) == "sequential is better than sampling, at 0.60 [0.50, 0.70]."
    assert remarks(both)[0] == "sequential beats sampling: +0.30 [+0.29, +0.31] on 40 questions."
    neither = comparison(("sequential", 0.6), ("sampling", 0.55), ("independent", 0.5))
    assert verdict(neither) == (
        "No mode is shown to be the best: sequential has the highest sealed score, 0.60 [0.50, 0.70], "
        "but it cannot be told from sampling and independent."
    )
    assert remarks(neither)[0] == (
        "sequential is not shown to differ from sampling: +0.05 [-0.95, +1.05] on 40 questions."
    )
    some = comparison(
        ("sequential", 0.6), ("sampling", 0.55), ("independent", 0.2), told=(("sequential", "independent"),)
    )
    assert verdict(some).endswith("better than independent, but it cannot be told from sampling.")
    level = comparison(("sequential", 0.0), ("sampling", 0.0), ("independent", 0.0))
    assert verdict(level) == (
        "No mode is shown to be the best: sequential, sampling and independent share the highest sealed "
        "score, 0.00 [-0.10, 0.10]."
    )


def test_a_comparison_on_too_few_questions_says_that_nothing_could_have_been_shown() -> None:
    found = comparison(
        (SEED_METHOD, 0.0),
        ("sequential", 1.0),
        ("independent", 1.0),
        ("best-of-n", 1.0),
        ("sampling", 0.0),
        n=8,
    )
    why = "with 10 contrasts, 8 questions can never pass, the least is 9, all of them better."
    assert verdict(found) == (
        f"No mode could be shown to be the best: {why} sequential, independent and best-of-n share the "
        "highest sealed score, 1.00 [0.90, 1.10], +1.00 [+0.00, +2.00] against sampling."
    )
    assert remarks(found)[0] == (
        "sequential against sampling: +1.00 [+0.00, +2.00] on 8 questions. "
        f"No difference could have been shown: {why}"
    )
    assert "could" not in verdict(comparison(("sequential", 1.0), ("sampling", 0.0), n=6))


def test_a_mode_that_loses_to_sampling_is_said_to_lose() -> None:
    lost = comparison(
        ("sampling", 0.7), ("sequential", 0.4), (SEED_METHOD, 0.3), told=(("sampling", "sequential"),)
    )
    assert verdict(lost) == "sampling is better than sequential, at 0.70 [0.60, 0.80]."
    assert remarks(lost)[0].startswith("sequential is beaten by sampling: -0.30")
