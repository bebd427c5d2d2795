"""Trees of revised programs: what is tried, what is kept, and what can be learnt from them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from sums import CRASH, EMPTY, GOOD, HALF, SEED, Solver, Sums, edit, laboratory

from loriner.errors import ConfigError, InfrastructureError
from loriner.events import Event, Grown
from loriner.records import Context, Harness, Question
from loriner.store.database import Store
from loriner.store.merge import merge
from loriner.tasks.base import Split
from loriner.train import gains, tree_contexts
from loriner.train.contexts import DrawPlan, State, draw, parted
from loriner.train.teacher import Lesson
from loriner.train.tree_contexts import replayed, take_over
from loriner.train.tree_lessons import LessonPlan, depth_of, lessons, rows, summary, weighed
from loriner.train.trees import Grower, TreeNode, TreePlan, TreeStart, read_nodes

TASKS = {"sums": Sums()}
PLAN = TreePlan(depth=2, beam=1, rungs=(2, 4, 8), fresh=8, finalists=1, feedback=4, at_once=2)
LESSONS = LessonPlan(max_share=1.0)
PART = LessonPlan(max_share=0.15)
BAD = [Harness(EMPTY.source.replace("return ''", f"return '{n}'")) for n in range(3)]


def shown(context: Context) -> Iterable[tuple[str, str]]:
    """Half right on the seed, all right on what is half right; the rest is no use."""
    old = context.harness
    better = {SEED.id: HALF, HALF.id: GOOD}.get(old.id)
    if better is not None:
        yield "better", edit(better, old)
    for number, each in enumerate([*BAD, CRASH]):
        if each != old:
            yield f"bad {number}", edit(each, old)
    yield "twin", edit(BAD[0], old)
    yield "prose", "Nothing comes to mind."


async def grown(
    home: Path, solver: Solver | None = None, seconds: float | None = None, plan: TreePlan = PLAN
) -> list[TreeNode]:
    async with laboratory(home, solver) as lab:
        grower = Grower(lab=lab, tasks=TASKS, plan=plan, offers=shown)
        await grower.grow([TreeStart(task="sums", harness=SEED)], seconds)
        found = read_nodes(lab.store, [lab.run_id])
        assert [each.context.id for each in found] == [each.context.id for each in grower.nodes]
        assert found == grower.nodes
        return found


async def test_halving_keeps_the_right_ones_and_the_best_is_revised_again(tmp_path: Path) -> None:
    first, second = await grown(tmp_path)
    assert (first.context.harness, second.context.harness) == (SEED, HALF)
    assert [each.entry for each in first.children] == ["better", "bad 0", "bad 1", "bad 2", "bad 3"]
    assert Counter(len(each.scores) for each in first.children) == {16: 1, 4: 1, 2: 3}
    assert first.finished[0].entry == "better" and first.finished[0].harness == HALF
    assert first.gain(first.finished[0], first.chosen_on) == pytest.approx(0.5, abs=0.4)
    assert (second.path, second.origin) == (("better",), first.context.id)
    assert second.finished[0].harness == GOOD
    assert second.gain(second.finished[0], second.fresh) > 0
    assert len(first.fresh) == 8 and not set(first.fresh) & set(first.chosen_on)


async def test_what_did_harm_is_not_tried_again_below(tmp_path: Path) -> None:
    async with laboratory(tmp_path) as lab:
        grower = Grower(lab=lab, tasks=TASKS, plan=PLAN, offers=shown)
        await grower.grow([TreeStart(task="sums", harness=HALF)])
        assert {each.entry for each in grower.nodes[0].children} == {
            "better",
            "bad 0",
            "bad 1",
            "bad 2",
            "bad 3",
        }
        assert len(grower.nodes) == 2
        lost = {each.entry for each in grower.nodes[0].children if each.entry != "better"}
        assert not lost & {each.entry for each in grower.nodes[1].children}


async def test_a_run_that_was_killed_goes_on_to_the_same_tree_without_paying_twice(tmp_path: Path) -> None:
    whole = await grown(tmp_path / "whole")
    solver = Solver()
    async with laboratory(tmp_path / "cut", solver) as lab:
        store, run_id = lab.store, lab.run_id
        grower = Grower(lab=lab, tasks=TASKS, plan=PLAN, offers=shown)
        work = asyncio.create_task(grower.grow([TreeStart(task="sums", harness=SEED)]))
        while solver.n_calls < 20:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        n_paid = len(store.trials(run_id))
        again = Grower(lab=lab, tasks=TASKS, plan=PLAN, offers=shown)
        await again.grow([TreeStart(task="sums", harness=SEED)])
        assert [(each.path, each.scores, each.children) for each in again.nodes] == [
            (each.path, each.scores, each.children) for each in whole
        ]
        assert 0 < n_paid < len(store.trials(run_id))
        rows = store.reader.rows("SELECT count(*) FROM trials WHERE status != 'infra_error'")
        assert rows[0][0] == len(store.trials(run_id))


async def test_time_over_leaves_what_is_grown(tmp_path: Path) -> None:
    solver = Solver()
    async with laboratory(tmp_path, solver) as lab:

        def slower(event: Event) -> None:
            solver.delay_s = 60.0 if isinstance(event, Grown) else solver.delay_s

        lab.observe = slower
        grower = Grower(lab=lab, tasks=TASKS, plan=PLAN, offers=shown)
        begun = asyncio.get_running_loop().time()
        await grower.grow([TreeStart(task="sums", harness=SEED)], 3.0)
        assert 2.5 < asyncio.get_running_loop().time() - begun < 10
        assert [each.path for each in read_nodes(lab.store, [lab.run_id])] == [()]


async def test_no_time_reads_what_there_is(tmp_path: Path) -> None:
    assert await grown(tmp_path, seconds=0.0) == []


async def test_a_dead_solver_stops_the_run_and_is_no_score(tmp_path: Path) -> None:
    solver = Solver()
    solver.down = True
    with pytest.raises(InfrastructureError, match="no program could be revised"):
        await grown(tmp_path, solver)


async def test_a_lesson_is_the_best_child_with_the_refused_as_history(tmp_path: Path) -> None:
    nodes = await grown(tmp_path)
    found = lessons(nodes, TASKS, LessonPlan(max_share=1.0, max_refused=2))
    assert {each.dropped for each in found} <= {"", "not_better", "first_round_full"}
    taught = {depth_of(each): each for each in found}
    assert set(taught) == {1, 2}
    assert taught[2].exercise.context.harness == HALF
    assert taught[2].pattern == "better" and taught[2].after > taught[2].before
    for each in found:
        history = each.exercise.context.history
        assert [past.round for past in history] == list(range(1, len(history) + 1))
        assert each.exercise.context.round == len(history) + 1
        assert all((past.after > past.before) == past.accepted for past in history)
        assert each.rollout.context_id == each.exercise.context.id
        assert each.exercise.messages
    assert any(past.accepted for past in taught[2].exercise.context.history)


async def test_several_lessons_of_a_program_are_its_best_children_in_unlike_histories(tmp_path: Path) -> None:
    def ways(context: Context) -> Iterable[tuple[str, str]]:
        """Three ways to the right answer, and some that are no use."""
        if context.harness == SEED:
            for number in range(3):
                text = f"{GOOD.source}\n\nWAY = {number}\n"
                yield f"way {number}", edit(Harness(text), SEED)
            yield from shown(context)

    plan = replace(PLAN, rungs=(2, 8), kept=1.0)
    async with laboratory(tmp_path) as lab:
        grower = Grower(lab=lab, tasks=TASKS, plan=plan, offers=ways)
        await grower.grow([TreeStart(task="sums", harness=SEED)])
        (first, *_) = grower.nodes
    expected = gains.expected_gains([first])
    by_entry = {each.entry: expected(first, each) for each in first.children}
    assert by_entry["way 0"] > by_entry["better"] > by_entry["bad 0"]
    found = lessons([first], TASKS, LessonPlan(accept="mean", max_share=1.0, max_refused=3, per_program=3))
    assert {each.pattern for each in found} == {"way 0", "way 1", "way 2"}
    assert len({each.exercise.context.id for each in found}) > 1


def named(lesson: Lesson, pattern: str) -> Lesson:
    return replace(lesson, pattern=pattern, dropped="")


async def test_rows_keep_to_the_weights(tmp_path: Path) -> None:
    nodes = await grown(tmp_path)
    found = lessons(nodes, TASKS, LESSONS)
    one, two = (next(each for each in found if depth_of(each) == depth) for depth in (1, 2))
    many = [named(one, f"a{n % 8}") for n in range(40)] + [named(two, f"b{n % 9}") for n in range(24)]
    many += [named(two, "b0") for _ in range(30)]
    kept = [each for each in weighed(many, PART) if not each.dropped]
    by_depth = Counter(map(depth_of, kept))
    assert by_depth[1] <= by_depth[2]
    assert len(kept) >= 20
    assert max(Counter(each.pattern for each in kept).values()) <= 0.15 * len(kept)
    assert {each.dropped for each in weighed(many, PART)} == {"", "pattern_full", "first_round_full"}
    without = weighed(many, LessonPlan(max_share=0.15, later_half=False, min_rows=4))
    assert {each.dropped for each in without} == {"", "pattern_full", "pattern_rare"}
    assert min(Counter(each.pattern for each in without if not each.dropped).values()) >= 4
    assert weighed([named(one, f"a{n}") for n in range(8)], PART)[0].dropped == ""


async def test_rows_are_what_sft_reads(tmp_path: Path) -> None:
    found = lessons(await grown(tmp_path), TASKS, LESSONS)
    for each in rows(found):
        assert [one["role"] for one in each["prompt"]] == ["system", "user"]
        assert each["completion"][0]["content"].startswith("Change it.")
        assert each["depth"] in (1, 2)
    assert summary(found)["n_rows"] == len(rows(found))


async def test_gains_are_of_questions_that_every_child_met(tmp_path: Path) -> None:
    nodes = await grown(tmp_path)
    table = gains.table(nodes, {"solver": "scripted"})
    assert table["provenance"] == {"solver": "scripted", "nodes": 2, "questions_a_node": 2}
    better = table["gains"]["better"]
    first = [each.gain(each.children[0], each.chosen_on[:2]) for each in nodes]
    assert better["all"][:2] == [2, round(sum(first) / 2, 4)]
    assert better["depth=1"][0] == better["depth=2"][0] == 1
    assert better["shape=integer"][0] == better["setting=canonical"][0] == 2
    layers = gains.by_depth(nodes)
    assert layers[1]["gain"][1] == pytest.approx(
        nodes[0].gain(nodes[0].finished[0], nodes[0].fresh), abs=1e-4
    )
    assert layers[2]["score"] > layers[1]["score"] and layers[2]["same_for_all"][0] == "better"


async def test_contexts_come_from_trees_with_their_history_and_without_a_solver(tmp_path: Path) -> None:
    nodes = await grown(tmp_path / "trees")
    down = Solver()
    down.down = True
    async with laboratory(tmp_path / "training", down) as lab:
        assert await take_over(lab, TASKS, nodes) == 8
        states = tree_contexts.states(nodes, LESSONS, depth=2)
        assert [each.harness for each in states] == [SEED, HALF]
        assert [sum(past.accepted for past in each.history) for each in states] == [0, 1]
        whole, plan = replayed(lab, TASKS, states, DrawPlan(n=4, feedback=4, grade=3))
        drawn = await draw(lab, TASKS, whole, plan)
    assert sorted(each.context.harness.id for each in drawn) == sorted([SEED.id, HALF.id] * 2)
    tried = {each.context.harness.id: each.context for each in nodes}
    for each in drawn:
        known = {one.trial.question_id: one.trial.answer for one in tried[each.context.harness.id].feedback}
        assert {one.trial.question_id: one.trial.answer for one in each.context.feedback} == known
        assert each.context.round == len(each.context.history) + 1
        assert len(each.grade) == 3 and each.messages
    assert down.n_calls == 0


async def test_a_better_revision_that_was_not_revised_itself_is_tried_anew(tmp_path: Path) -> None:
    nodes = await grown(tmp_path / "trees", plan=replace(PLAN, depth=1))
    solver = Solver()
    async with laboratory(tmp_path / "training", solver) as lab:
        await take_over(lab, TASKS, nodes)
        assert [each.harness for each in tree_contexts.states(nodes, LESSONS, depth=0)] == [SEED]
        states = tree_contexts.states(nodes, LESSONS, depth=1)
        assert [each.harness for each in states] == [SEED, HALF]
        assert states[1].history[-1].accepted and states[1].history[-1].round == len(states[1].history)
        plan = DrawPlan(n=2, pool=4, feedback=4, grade=3)
        assert [each.harness for each in replayed(lab, TASKS, states, plan)[0]] == [SEED]
        drawn = await draw(lab, TASKS, states, plan)
    assert solver.n_calls == 4, "four questions for the one that no tree tried"
    assert {each.context.harness.id for each in drawn} == {SEED.id, HALF.id}


async def test_a_program_that_is_always_right_is_no_context(tmp_path: Path) -> None:
    first, second = await grown(tmp_path)
    right = dict.fromkeys(second.scores, 1.0)
    best = first.finished[0]
    children = tuple(replace(each, scores=right) if each == best else each for each in first.children)
    nodes = [replace(first, children=children), replace(second, scores=right, children=())]
    assert [each.harness for each in tree_contexts.states(nodes, LESSONS, depth=3)] == [SEED]


async def test_a_program_on_which_too_little_was_gained_is_no_context(tmp_path: Path) -> None:
    nodes = await grown(tmp_path)
    most = nodes[0].gain(nodes[0].finished[0], nodes[0].chosen_on)
    shown = [each.harness for each in tree_contexts.states(nodes, LESSONS, depth=0, gain=most)]
    assert shown == [SEED]
    assert tree_contexts.states(nodes, LESSONS, depth=0, gain=most + 0.01) == []


async def test_a_trial_of_a_question_that_changed_is_not_taken_over(tmp_path: Path) -> None:
    nodes = await grown(tmp_path / "trees")

    class Changed(Sums):
        def questions(self, split: Split) -> Sequence[Question]:
            return [replace(each, target="0") for each in super().questions(split)]

    async with laboratory(tmp_path / "training") as lab:
        assert await take_over(lab, {"sums": Changed()}, nodes) == 0


def test_held_out_families_are_parted_from_the_others() -> None:
    states = [State(task=each, harness=SEED) for each in ("rg:gcd", "rg:gcd+varied", "rg:lcm")]
    training, held = parted(states, ["rg:gcd"])
    assert [each.task for each in training] == ["rg:lcm"]
    assert [each.task for each in held] == ["rg:gcd", "rg:gcd+varied"]
    assert parted(states, []) == (states, [])
    with pytest.raises(ConfigError, match="no program of rg:ab, but of rg:gcd, rg:lcm"):
        parted(states, ["rg:ab"])
    with pytest.raises(ConfigError, match="nothing is left"):
        parted(states, ["rg:gcd", "rg:lcm"])


async def test_trees_of_two_machines_are_read_from_one_store(tmp_path: Path) -> None:
    here, there = await grown(tmp_path / "here"), await grown(tmp_path / "there")
    merge(tmp_path / "here", tmp_path / "there")
    store = Store.open(tmp_path / "here")
    try:
        runs = [each.id for each in store.runs()]
        assert len(runs) == 2
        assert read_nodes(store, runs[:1]) == here == there
        assert read_nodes(store, runs) == here
    finally:
        store.close()
