"""What an episode draws, shows and keeps, and why it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from guessing import SEED, Words, chance, guesser, opened, renaming
from loriner.events import End, Event, Round, Standing, Start, TrialDone
from loriner.models.base import ModelRequest
from loriner.records import Harness
from loriner.report.page import html
from loriner.report.pages import facts_of, page_of
from loriner.search.adapt import adapt
from loriner.search.completions import N_REDRAWS
from loriner.search.history import Adaptation, history
from loriner.search.plan import Plan

EDIT = "Another.\n\n<<<<<<< SEARCH\n    prompt = {old}\n=======\n    prompt = {new}\n>>>>>>> REPLACE\n"
FIRST, OTHER = '"v0.0: " + question', '"v1.0: " + question'

Mind = Callable[[ModelRequest], str]


def stubborn(request: ModelRequest) -> str:
    """Always the same revision of the seed, and back to the seed from there."""
    program = request.messages[-1].content.split("# Result")[0]
    return EDIT.format(old=FIRST, new=OTHER) if FIRST in program else EDIT.format(old=OTHER, new=FIRST)


def undecided(request: ModelRequest) -> str:
    """One of two revisions of the seed."""
    return EDIT.format(old=FIRST, new=f'"v{1 + (request.seed or 0) % 2}.0: " + question')


def at_least(version: int, share: float = 1.0) -> Mind:
    """Right on this share of the questions from that version of the program on, before on none."""

    def reply(request: ModelRequest) -> str:
        head, _, question = request.messages[-1].content.partition(": ")
        right = int(head.split(".")[0].removeprefix("v")) >= version and chance(question) < share
        return "yes" if right else "no"

    return reply


async def adapted(
    home: Path,
    mind: Mind,
    writer: Mind = renaming,
    *,
    task: Words | None = None,
    seed: Harness = SEED,
    **plan: object,
) -> Adaptation:
    place = opened(home, mind, writer=writer)
    given = Plan(**{"rounds": 3, "feedback": 2, "grade": 24, "test": 6, **plan})  # type: ignore[arg-type]
    try:
        with place.run("adapt") as (run, _):
            lab = place.evaluator(run, place.model("solver"))
            return await adapt(
                task or Words(24), seed, lab, place.proposer("writer"), plan=given, registry=place.registry
            )
    finally:
        place.store.close()


def reasons(found: Adaptation) -> list[list[str]]:
    return [[each.reason for each in made.attempts] for made in found.rounds]


async def test_a_program_that_was_tried_is_drawn_again_and_never_scored_again(tmp_path: Path) -> None:
    found = await adapted(tmp_path, guesser(0.0), stubborn)
    first, second, third = reasons(found)
    assert len(first) == 1 and first[0].startswith("refused: +0.000")
    again = ["not scored again: it is the program of round 1"] * (1 + N_REDRAWS)
    assert second == third == again
    assert [each.index for each in found.rounds[1].attempts] == list(range(1 + N_REDRAWS))
    assert found.stopped.reason == "proposer has nothing left"


async def test_what_takes_everything_back_is_the_program_of_the_seed(tmp_path: Path) -> None:
    found = await adapted(tmp_path, guesser(0.0), stubborn, accept="always")
    assert set(reasons(found)[1]) == {"not scored again: it is the seed's program"}


async def test_a_redraw_brings_the_program_that_was_not_tried(tmp_path: Path) -> None:
    found = await adapted(tmp_path, guesser(0.0), undecided, candidates=2, rounds=1)
    tried = {each.harness_id for each in found.rounds[0].attempts if each.considered}
    assert len(tried) == 2
    assert found.stopped.reason == "rounds"


async def test_a_gain_on_every_question_is_accepted_and_nothing_failed_ends_the_search(
    tmp_path: Path,
) -> None:
    found = await adapted(tmp_path, at_least(1))
    assert found.best.harness_id != SEED.id
    assert len(found.rounds) == 1
    assert found.stopped.reason == "nothing failed"


async def test_it_goes_on_while_feedback_fails_though_the_grade_questions_are_right(tmp_path: Path) -> None:
    class Uneven(Words):
        """Only the last feedback question is hard."""

    def mind(request: ModelRequest) -> str:
        return "no" if request.messages[-1].content.endswith("words 0 23") else "yes"

    found = await adapted(tmp_path, mind, task=Uneven(24))
    assert found.rounds == ()
    assert str(found.stopped).startswith("nothing can be accepted any more: the current program scores 1.00")
    assert len(found.seed.grade) == 24


async def test_each_round_shows_other_feedback_questions(tmp_path: Path) -> None:
    await adapted(tmp_path, guesser(0.0))
    place = opened(tmp_path, guesser(0.0))
    run = place.store.runs(1)[0].id
    shown = [[each.question for each in context.feedback] for context in place.store.contexts(run)]
    place.store.close()
    assert shown == [[f"words 0 {n}", f"words 0 {n + 1}"] for n in (0, 2, 4)]


async def test_history_carries_the_edit_the_whole_note_and_the_reason(tmp_path: Path) -> None:
    await adapted(tmp_path, guesser(0.0))
    place = opened(tmp_path, guesser(0.0))
    (past, *_), *_ = (
        each.history for each in place.store.contexts(place.store.runs(1)[0].id) if each.history
    )
    place.store.close()
    assert past.summary == "Another wording."
    assert past.edit.startswith("<<<<<<< SEARCH\n    prompt = ") and past.edit.endswith(">>>>>>> REPLACE\n")
    assert past.reason.startswith("refused: +0.000") and (past.before, past.after) == (0.0, 0.0)


async def test_what_leads_and_is_not_confirmed_is_kept_scored_and_taken_on_a_persons_word(
    tmp_path: Path,
) -> None:
    found = await adapted(tmp_path, at_least(1, 0.2), rounds=1, grade=12)
    assert found.best.harness_id == SEED.id
    kept = found.candidate
    assert kept is not None and kept.test and kept.reason.startswith("refused")
    place = opened(tmp_path, guesser(0.0))
    told = history(place.store, found.run_id)
    assert told.standings["candidate"] == kept
    assert told.end == found.stopped and str(told.end) == "rounds"
    assert place.registry.harness("candidate/words") == found.programs["candidate"]
    assert place.registry.harness("best", task="words") == SEED
    place.registry.take("words")
    assert place.registry.harness("best", task="words") == found.programs["candidate"]
    assert place.registry.harness("words") == found.programs["candidate"]
    place.store.close()


async def test_what_does_not_lead_is_no_candidate(tmp_path: Path) -> None:
    found = await adapted(tmp_path, guesser(0.0))
    assert found.candidate is None
    assert found.stopped.reason == "rounds"


@pytest.mark.parametrize("candidates", [1, 3])
async def test_the_leader_alone_meets_further_questions(tmp_path: Path, candidates: int) -> None:
    found = await adapted(tmp_path, guesser(0.5), candidates=candidates, grade=24, rounds=2)
    stages = Plan(rounds=2, candidates=candidates).schedule(24).stages
    choosing = [stage.end for stage in stages if stage.n_candidates > 1]
    for made in found.rounds:
        for each in made.attempts:
            assert each.after is not None
            if not each.reason:
                assert n_graded(tmp_path, found.run_id, each.harness_id) <= choosing[-1] < 24


def n_graded(home: Path, run_id: str, harness_id: str | None) -> int:
    """Grade trials that a program had in the search."""
    place = opened(home, guesser(0.0))
    trials = place.store.trials(run_id, harness_id=harness_id, purpose="grade")
    place.store.close()
    return sum(not each.sample for each in trials)


def layout_alone(request: ModelRequest) -> str:
    """First another program, then that one with a comment that changes nothing."""
    old = "    prompt = " + FIRST
    comment = "" if "Earlier revisions" not in request.messages[-1].content else "  # the same"
    return f"Another.\n\n<<<<<<< SEARCH\n{old}\n=======\n    prompt = {OTHER}{comment}\n>>>>>>> REPLACE\n"


async def test_a_program_that_differs_in_a_comment_alone_is_not_scored(tmp_path: Path) -> None:
    found = await adapted(tmp_path, guesser(0.0), layout_alone, rounds=2)
    again = found.rounds[1].attempts[0]
    assert again.harness_id is not None and again.after is None
    assert "it is the program of round 1" in again.reason
    place = opened(tmp_path, guesser(0.0))
    assert again.harness_id not in {each.harness_id for each in place.store.trials(found.run_id)}
    assert "it is the program of round 1" in html(page_of(facts_of(place.store, found.run_id)))
    place.store.close()


async def test_what_the_observer_hears_is_what_the_history_holds(tmp_path: Path) -> None:
    heard: list[Event] = []
    place = opened(tmp_path, at_least(1, 0.2))
    with place.run("adapt") as (run, _):
        lab = place.evaluator(run, place.model("solver"), heard.append)
        plan = Plan(rounds=2, feedback=2, grade=12, test=6)
        found = await adapt(
            Words(24), SEED, lab, place.proposer("writer"), plan=plan, registry=place.registry
        )
    told = [each for each in heard if isinstance(each, (Start, Round, End, Standing))]
    assert told == [found.start, *found.rounds, found.stopped, found.seed, found.best, found.candidate]
    assert history(place.store, run).rounds == found.rounds
    trials = place.store.trials(run, with_calls=True)
    assert sum(isinstance(each, TrialDone) for each in heard) == len(trials)
    place.store.close()


async def test_a_tree_revises_a_program_that_the_test_refused_and_the_chain_does_not(tmp_path: Path) -> None:
    chain = await adapted(tmp_path / "chain", at_least(2), rounds=4)
    assert chain.best.harness_id == SEED.id
    found = await adapted(tmp_path / "tree", at_least(2), rounds=4, revise="tree")
    assert set(found.best.test.values()) == {1.0}
    first, second = found.rounds[:2]
    assert first.parent_id == SEED.id and first.accepted is None
    assert second.parent_id == first.attempts[0].harness_id and second.accepted is not None
    place = opened(tmp_path / "tree", guesser(0.0))
    shown = [each.history for each in place.store.contexts(found.run_id) if each.history]
    plan = history(place.store, found.run_id).start
    place.store.close()
    assert [(each.round, each.accepted) for each in shown[0]] == [(1, True)]
    assert plan is not None and plan.plan["revise"] == "tree"
