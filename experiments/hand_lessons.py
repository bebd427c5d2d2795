"""Lessons that were written by hand.

    python experiments/hand_lessons.py CONTEXTS REPLIES --home TREES_HOME --out FILE

CONTEXTS is a file of `train contexts --trees`, REPLIES a folder of `NUMBER.md`: what is said in the context
of that number. Each candidate is run on the grade questions that the trees of the home asked of its program,
with a model that says nothing useful, so its score is what it earns without one. A row is kept where the
paired test accepts that over the program's own score, which the trees have with the real solver.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from loriner.config import Settings
from loriner.diagnosis.memorised import check as check_memorised
from loriner.errors import LorinerError
from loriner.propose.proposer import Completion, read
from loriner.records import Evaluation, target_texts
from loriner.statistics import accepts
from loriner.store.database import Store
from loriner.tasks.base import Task
from loriner.train import exercise, jsonl
from loriner.train.exercise import Exercise
from loriner.train.settings import ContextsTable
from loriner.train.teacher import Lesson, row
from loriner.train.trees import grade_scores
from loriner.verbs.laboratory import Laboratory, laboratory
from loriner.verbs.workspace import workspace

MODEL = "scripted:echo"
PATTERN = "hand"


async def measure(arguments: argparse.Namespace) -> list[Lesson]:
    """Every reply with what became of it."""
    names = tuple(exercise.names(arguments.contexts).values())
    exercises = exercise.load(arguments.contexts)
    settings = Settings(home=arguments.home, allow_reduced=True, cache=False)
    wanted = settings.adapt.model_copy(update={"solver": MODEL})
    suite = ContextsTable(tasks=names, settings=("canonical",))
    files = sorted(arguments.replies.glob("*.md"), key=lambda file: int(file.stem))
    said = {int(file.stem): file.read_text(encoding="utf-8").strip() for file in files}
    async with (
        workspace(settings.model_copy(update={"adapt": wanted})) as lab,
        laboratory(lab, suite, "hand lessons") as here,
    ):
        return [await judged(here, exercises[number], text) for number, text in said.items()]


async def judged(here: Laboratory, shown: Exercise, text: str) -> Lesson:
    """One reply, run where its program was run."""
    rollout = read(shown.context, 0, Completion(text))
    lesson = Lesson(exercise=shown, rollout=rollout, pattern=PATTERN, before=None, after=None, dropped="")
    if rollout.candidate is None:
        return replace(lesson, dropped=rollout.failure.code if rollout.failure else "no_candidate")
    task = here.tasks[shown.context.task]
    before = known(here.lab.store, task, shown.context.harness.id)
    questions = [each for each in task.questions("grade") if each.id in before]
    if not questions:
        return replace(lesson, dropped="not_in_trees")
    after = await here.evaluator.evaluate(task, rollout.candidate, questions, purpose="grade")
    found = replace(lesson, before=fmean(before.values()), after=after.mean_score)
    return replace(found, dropped=fault(task, shown, found, before, after))


def known(store: Store, task: Task, harness_id: str) -> Mapping[str, float]:
    """The scores of a program on the task's grade questions in all trees of the store."""
    asked = {each.id for each in task.questions("grade")}
    found: dict[str, float] = {}
    for run in store.runs():
        if run.command == "train trees":
            found |= grade_scores(store, run.id, task.name).get(harness_id, {})
    return {question: score for question, score in found.items() if question in asked}


def fault(task: Task, shown: Exercise, lesson: Lesson, before: Mapping[str, float], after: Evaluation) -> str:
    """Why a reply is no lesson; empty where it is one."""
    if not accepts("paired", before, after.scores).accepted:
        return "not_better"
    asked = [each for each in task.questions("grade") if each.id in before]
    known = [(text, each.text) for each in asked for text in target_texts(each.target)]
    known += [(each.target, each.question) for each in shown.context.feedback]
    answers, texts = zip(*known, strict=True)
    candidate, source = lesson.rollout.candidate, shown.context.harness.source
    assert candidate is not None
    held = check_memorised(candidate.source, answers, texts, baseline=source)
    return "" if held is None else "memorised"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("contexts", type=Path)
    parser.add_argument("replies", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    try:
        found = asyncio.run(measure(arguments))
    except LorinerError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    kept = [each for each in found if not each.dropped]
    lines = [json.dumps(row(each, each.rollout.completion, "as_written")) for each in kept]
    jsonl.write_text(arguments.out, "".join(line + "\n" for line in lines))
    print(f"{len(kept)} of {len(found)} kept in {arguments.out}")
    print("dropped:", dict(Counter(each.dropped for each in found if each.dropped)))


if __name__ == "__main__":
    main()
