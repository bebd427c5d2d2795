"""What an episode says of its rounds."""

from __future__ import annotations

from pathlib import Path

from guessing import SEED, Words, opened
from loriner.models.base import ModelRequest
from loriner.search.adapt import adapt
from loriner.search.episode import Plan
from loriner.statistics import Rule

EDIT = "<<<<<<< SEARCH\n    prompt = {old}\n=======\n    prompt = {new}\n>>>>>>> REPLACE\n"
FIRST, OTHER = '"v0.0: " + question', '"v1.0: " + question'


def stubborn(request: ModelRequest) -> str:
    """Always the same revision of the seed, and back to the seed from there."""
    program = request.messages[-1].content
    return EDIT.format(old=FIRST, new=OTHER) if FIRST in program else EDIT.format(old=OTHER, new=FIRST)


async def verdicts(home: Path, accept: Rule) -> list[str]:
    place = opened(home, lambda _: "no", writer=stubborn)
    run = place.store.start_run("adapt", config={}, seed=0)
    plan = Plan(rounds=3, feedback=2, grade=6, test=0, accept=accept)
    lab = place.evaluator(run, place.model("solver"))
    found = await adapt(Words(6), SEED, lab, place.proposer("writer"), plan=plan, registry=place.registry)
    place.store.close()
    return [each.decision.reason for made in found.rounds for each in made.attempts if each.decision]


async def test_a_program_that_was_scored_before_is_said_to_be_the_same(tmp_path: Path) -> None:
    first, second, third = await verdicts(tmp_path, "paired")
    assert "again" not in first
    assert second.endswith("; it is the program of round 1 again")
    assert third.endswith("; it is the program of round 1 again")


async def test_so_is_the_seed_when_a_revision_takes_everything_back(tmp_path: Path) -> None:
    first, second, third = await verdicts(tmp_path, "always")
    assert "again" not in first
    assert second.endswith("; it is the seed's program again")
    assert third.endswith("; it is the program of round 1 again")
