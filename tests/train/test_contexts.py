"""Contexts are drawn alike from alike, fit their cap, divide into updates, and survive the disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sums import CRASH, GOOD, HALF, SEED, Sums, edit, exercise, laboratory

from loriner.errors import ConfigError
from loriner.propose.prompt import estimate_tokens
from loriner.records import Harness
from loriner.train.contexts import DrawPlan, State, draw, next_state, revisions
from loriner.train.exercise import Exercise, digest, load, names, require_divisible, save
from loriner.train.reward import Rewarder

TASKS = {"sums": Sums()}
STATES = [State(task="sums", harness=SEED), State(task="sums", harness=HALF)]


async def drawn(home: Path, **plan: int) -> tuple[Exercise, ...]:
    async with laboratory(home) as lab:
        return await draw(lab, TASKS, STATES, DrawPlan(**{"n": 12, "pool": 8, "feedback": 4, **plan}))


async def test_the_same_plan_draws_the_same_contexts_and_another_seed_others(tmp_path: Path) -> None:
    first = await drawn(tmp_path / "a")
    again = await drawn(tmp_path / "b")
    other = await drawn(tmp_path / "c", seed=1)
    assert [each.messages for each in first] == [each.messages for each in again]
    assert [each.grade for each in first] == [each.grade for each in again]
    assert [each.messages for each in first] != [each.messages for each in other]


async def test_states_take_turns_and_no_grade_question_is_shown(tmp_path: Path) -> None:
    exercises = await drawn(tmp_path)
    assert [sum(e.context.harness == state.harness for e in exercises) for state in STATES] == [6, 6]
    for each in exercises:
        assert len(each.grade) == 6
        assert len(each.context.feedback) == 4
        shown = {trial.trial.question_id for trial in each.context.feedback}
        assert not shown & set(each.grade)


async def test_every_prompt_keeps_to_its_cap(tmp_path: Path) -> None:
    exercises = await drawn(tmp_path, max_prompt_tokens=1500)
    for each in exercises:
        assert sum(estimate_tokens(message.content) for message in each.messages) <= 1500


async def test_a_cap_below_the_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="max_prompt_tokens = 20"):
        await drawn(tmp_path, max_prompt_tokens=20)


async def test_a_file_gives_back_what_was_frozen(tmp_path: Path) -> None:
    exercises = await drawn(tmp_path)
    path = tmp_path / "contexts.jsonl"
    assert save(exercises, path) == digest(path)
    assert load(path) == exercises


async def test_the_names_that_open_its_tasks_are_no_part_of_a_file_s_digest(tmp_path: Path) -> None:
    exercises, path = await drawn(tmp_path), tmp_path / "contexts.jsonl"
    without = save(exercises, path)
    assert names(path) == {}
    assert save(exercises, path, {"sums": "tasks/sums"}) == without
    assert names(path) == {"sums": "tasks/sums"}
    assert load(path) == exercises
    path.write_text(path.read_text().replace('{"sums": "tasks/sums"}', '["tasks/sums"]', 1))
    with pytest.raises(ConfigError, match="its first line holds no names of tasks"):
        names(path)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda text: text.replace("sums-1", "sums-2", 1), "changed after it was frozen"),
        (lambda text: text[: text.rindex("{")], "changed after it was frozen"),
        (lambda text: "[]\n" + text, "not a file of contexts"),
        (lambda text: "", "not a file of contexts"),
        (lambda text: text.replace('"format": 1', '"format": 99', 1), "format 99"),
    ],
)
async def test_a_spoilt_file_is_refused(tmp_path: Path, spoil: object, words: str) -> None:
    path = tmp_path / "contexts.jsonl"
    save(await drawn(tmp_path), path)
    path.write_text(spoil(path.read_text()))  # type: ignore[operator]
    with pytest.raises(ConfigError, match=words):
        load(path)


def test_a_missing_file_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="loriner train contexts"):
        load(tmp_path / "none.jsonl")


def test_leftover_contexts_are_refused_with_the_numbers() -> None:
    assert require_divisible(640, 40) == 16
    with pytest.raises(
        ConfigError, match=r"75 contexts .* updates of 10: 5 would be left over; use 70 or 80"
    ):
        require_divisible(75, 10)
    with pytest.raises(ConfigError):
        require_divisible(0, 10)


async def test_a_program_too_long_to_show_is_left_out_and_none_is_shown_twice(tmp_path: Path) -> None:
    padded = Harness(GOOD.source + "".join(f"\n# {n} {'x' * 90}" for n in range(40)) + "\n")
    states = [*STATES, State(task="sums", harness=padded)]
    said: list[str] = []
    async with laboratory(tmp_path) as lab:
        quiet = replace(lab, observe=lambda event: said.append(getattr(event, "text", "")))
        plan = DrawPlan(n=12, pool=8, feedback=4, max_prompt_tokens=1100)
        found = await draw(quiet, TASKS, states, plan)
    assert "1 programs are too long to show and left out" in said
    assert len({each.context.id for each in found}) == 12
    assert {each.context.harness for each in found} == {SEED, HALF}


async def test_revision_sequences_give_states_with_their_history(tmp_path: Path) -> None:
    start = exercise(harness=SEED)
    texts = [edit(GOOD), edit(GOOD), edit(HALF), edit(CRASH), "prose"]
    async with laboratory(tmp_path) as lab:
        rewarder = Rewarder(lab=lab, tasks=TASKS)
        scored = await rewarder.scored_all([start] * 5, texts, range(5))
        made = revisions([start], scored, max_round=2)
        scores = await rewarder.unrevised([each for each, _ in made])
        assert scores == [0.0, 0.0]
        states = [next_state(*each, 0.0) for each in made]
        later = await draw(lab, TASKS, states, DrawPlan(n=2, pool=4, feedback=4))
    assert [state.harness for state in states] == [GOOD, HALF]
    assert [state.history[0].after for state in states] == [1.0, 0.5]
    assert {each.context.round for each in later} == {2}
    assert all("Earlier revisions" in each.messages[1].content for each in later)
    assert all(state.history[0].accepted for state in states)
    assert revisions([start], scored, max_round=1) == []


async def test_a_worse_revision_leads_back_to_the_program_with_the_attempt_told(tmp_path: Path) -> None:
    start = exercise(harness=GOOD)
    async with laboratory(tmp_path) as lab:
        rewarder = Rewarder(lab=lab, tasks=TASKS)
        scored = await rewarder.scored_all([start], [edit(HALF, GOOD)], [0])
        (made,), (score,) = revisions([start], scored, max_round=2), await rewarder.unrevised([start])
        assert score == 1.0
        state = next_state(*made, score)
        (later,) = await draw(lab, TASKS, [state], DrawPlan(n=1, pool=4, feedback=4))
    assert (state.harness, state.round) == (GOOD, 2)
    assert "1.00 -> 0.50, not kept" in later.messages[1].content
