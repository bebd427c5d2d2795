"""What a teacher's revisions must be to be kept, and what becomes of the others."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from sums import CRASH, GOOD, HALF, SEED, Sums, edit, laboratory

from loriner.harness.edits import revise
from loriner.propose.catalogue import catalogue_proposer
from loriner.propose.proposer import Completion, Proposer
from loriner.records import Context, Harness
from loriner.train.contexts import DrawPlan, State, draw
from loriner.train.teacher import Lesson, NothingKept, TeachPlan, export, report, rows, teach

TASKS = {"sums": Sums()}
TABLE = Harness(
    "ANSWERS = {"
    + ", ".join(f"'{n} plus 1': '{n + 1}'" for n in range(100, 132))
    + "}\n\n\ndef solve(model, question):\n    return ANSWERS.get(question, model(question))\n"
)
LOOP = Harness(
    "def solve(model, question):\n"
    "    answer = ''\n"
    "    for _ in range(2):\n"
    "        answer = answer or model(question).split()[-1]\n"
    "    return answer\n"
)
LONG = Harness(
    GOOD.source + "\n\n" + "\n".join(f"UNUSED_{n} = 'some padding text {n}'" for n in range(60)) + "\n"
)
WRITTEN = [edit(GOOD), edit(GOOD), edit(HALF), edit(CRASH), "prose", edit(TABLE), edit(LONG)]


def scripted(texts: list[str]) -> Proposer:
    async def write(context: Context, index: int) -> Completion:
        return Completion(texts[index])

    return Proposer("scripted", write)


async def taught(home: Path, teacher: Proposer, plan: TeachPlan, n: int = 1) -> list[Lesson]:
    async with laboratory(home) as lab:
        states = [State(task="sums", harness=SEED)]
        exercises = await draw(lab, TASKS, states, DrawPlan(n=n, pool=8, feedback=4))
        return await teach(lab, TASKS, exercises, teacher, plan)


async def test_each_fault_has_its_reason(tmp_path: Path) -> None:
    plan = TeachPlan(completions=7, grade=16, max_chars=1_500)
    lessons = await taught(tmp_path, scripted(WRITTEN), plan)
    reasons = {each.rollout.index: each.dropped for each in lessons}
    assert sorted([reasons[0], reasons[1]]) == ["", "near_duplicate"]
    assert reasons[2] == ""  # half right against never right is better
    assert reasons[3] == "not_better"
    assert reasons[4] == "no_edit_block"
    assert reasons[5] == "memorised"
    assert reasons[6] == "too_long"


async def test_the_report_counts_everything_once(tmp_path: Path) -> None:
    plan = TeachPlan(completions=7, grade=16, max_chars=1_500)
    lessons = await taught(tmp_path, scripted(WRITTEN), plan)
    found = report("scripted", lessons, plan)
    assert found.n_completions == 7
    assert found.n_kept + sum(found.dropped.values()) == 7
    assert found.patterns == {"extraction": 1.0}
    assert found.before == 0.0
    assert found.after == 0.75
    assert found.tasks == {"sums": 2}


async def test_one_pattern_has_its_share_of_the_kept(tmp_path: Path) -> None:
    written = [edit(GOOD), edit(HALF), edit(LOOP)]
    plan = TeachPlan(completions=3, grade=16, max_pattern_share=0.5)
    lessons = await taught(tmp_path, scripted(written), plan)
    assert Counter(each.dropped for each in lessons) == {"": 2, "pattern_full": 1}
    assert {each.pattern for each in lessons if not each.dropped} == {"extraction", "retry"}


async def test_the_only_pattern_is_kept_whole(tmp_path: Path) -> None:
    plan = TeachPlan(completions=2, grade=16, max_pattern_share=0.5)
    lessons = await taught(tmp_path, scripted([edit(GOOD), edit(HALF)]), plan)
    assert not any(each.dropped for each in lessons)


async def test_the_same_revision_of_two_programs_is_no_duplicate(tmp_path: Path) -> None:
    plan = TeachPlan(completions=1, grade=16)
    other = Harness(SEED.source.replace("def solve", "# Asks once.\n\n\ndef solve"))
    async with laboratory(tmp_path) as lab:
        states = [State(task="sums", harness=each) for each in (SEED, other)]
        exercises = await draw(lab, TASKS, states, DrawPlan(n=4, pool=8, feedback=4))
        lessons = await teach(lab, TASKS, exercises, scripted([edit(GOOD)]), plan)
    assert Counter(each.dropped for each in lessons) == {"": 2, "near_duplicate": 2}


async def test_exported_rows_are_chat_and_their_edits_apply(tmp_path: Path) -> None:
    plan = TeachPlan(completions=7, grade=16, max_chars=1_500)
    lessons = await taught(tmp_path, scripted(WRITTEN), plan)
    path = tmp_path / "lessons.jsonl"
    with pytest.raises(NothingKept, match=r"none of 1 .* was kept \(no_edit_block 1\).* was not written"):
        export([replace(lessons[0], dropped="no_edit_block")], plan, path)
    assert not path.exists()
    n = export(lessons, plan, path)
    read = [json.loads(line) for line in path.read_text().splitlines()]
    assert n == len(read) == len(rows(lessons, plan)) > 0
    for row in read:
        assert [message["role"] for message in row["prompt"]] == ["system", "user"]
        _, candidate = revise(SEED, row["completion"][0]["content"])
        assert candidate.id in {GOOD.id, HALF.id}


@pytest.mark.parametrize("function_level", [True, False])
async def test_a_lesson_comes_with_whole_functions_if_asked(tmp_path: Path, function_level: bool) -> None:
    rest = "\n\ndef rest(text):\n" + "".join(f"    text += '{n}'\n" for n in range(40)) + "    return text\n"
    old, new = Harness(SEED.source + rest), Harness(GOOD.source + rest)
    plan = TeachPlan(completions=1, grade=16, function_level=function_level)
    async with laboratory(tmp_path) as lab:
        states = [State(task="sums", harness=old)]
        exercises = await draw(lab, TASKS, states, DrawPlan(n=1, pool=8, feedback=4))
        lessons = await teach(lab, TASKS, exercises, scripted([edit(new, old)]), plan)
    found = rows(lessons, plan)
    assert [each["variant"] for each in found] == ["as_written", "function"][: 1 + function_level]
    assert all(revise(old, each["completion"][0]["content"])[1] == new for each in found)


async def test_the_catalogue_teaches_under_ever_new_names(tmp_path: Path) -> None:
    plan = TeachPlan(
        completions=3, grade=16, accept="always", rename=True, n_examples=100, max_pattern_share=1.0
    )
    lessons = await taught(tmp_path, catalogue_proposer(), plan, n=6)
    made = {each.rollout.candidate.id for each in lessons if each.rollout.candidate}
    assert len(made) > 6
    for row in rows(lessons, plan):
        revise(SEED, row["completion"][0]["content"])
