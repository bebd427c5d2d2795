"""`tasks list | show | check | new | freeze`."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loriner.cli import freezing
from loriner.cli.globals import Globals
from loriner.errors import HarnessError

if TYPE_CHECKING:
    from loriner.records import Usage
    from loriner.tasks.base import Task
    from loriner.tasks.check import TaskReport

app = typer.Typer()
freezing.register(app)

TaskArgument = Annotated[str, typer.Argument(help="A task name, rg:FAMILY, or a task folder.")]
ShownArgument = Annotated[str, typer.Argument(help="A task name, rg:FAMILY, a task folder, or a suite.")]


def _open(context: typer.Context, name: str) -> Task:
    from loriner.verbs.workspace import task_of

    return task_of(context.obj.settings(adapt={"task": name}))


@app.command("list")
def list_(context: typer.Context) -> None:
    """Lists the suites, tasks and families."""
    from loriner.cli import documents, render
    from loriner.tasks.by_name import registered_tasks
    from loriner.tasks.multihop.answer_match import DATASETS
    from loriner.tasks.reasoning_gym.families import FAMILIES, WITHOUT_GOLD
    from loriner.tasks.suites import SUITES, spelt_out

    given: Globals = context.obj
    settings = given.settings()
    own = {name: list(spelt_out([name], settings.suites)) for name in settings.suites}
    suites = {name: list(tasks) for name, tasks in {**SUITES, **own}.items()}
    groups = {
        "own": [settings.task.name] if settings.task else [],
        "registered": list(registered_tasks()),
        "questions over documents": ["fictional", *(f"{name}:FILE" for name in DATASETS)],
        "families": [f"rg:{family}" for family in FAMILIES if family not in WITHOUT_GOLD],
    }
    if given.json:
        documents.emit({"suites": suites, **groups})
        return
    render.table("Suites", ["name", "tasks"], [[name, len(tasks)] for name, tasks in suites.items()])
    render.table(
        "Tasks", ["kind", "names"], [[name, ", ".join(each)] for name, each in groups.items() if each]
    )
    typer.echo(
        "Families also as rg:FAMILY:strict and rg:FAMILY+varied (docs/tasks.md). Name a task of your own by "
        "the path of its folder; `loriner tasks new NAME` writes one."
    )


@app.command()
def show(context: typer.Context, task: ShownArgument) -> None:
    """Shows what a task asks, how it is scored, and one feedback question with its right answer; or the
    tasks of a suite.
    """
    from loriner.cli import documents, render
    from loriner.harness.contract import GRANTED
    from loriner.tasks.base import SPLITS
    from loriner.tasks.suites import spelt_out

    given: Globals = context.obj
    tasks = spelt_out([task], given.settings().suites)
    if tasks != (task,):
        freezing.show_suite(given, task, tasks)
        return
    opened = _open(context, task)
    counts = {split: len(opened.questions(split)) for split in SPLITS}
    example = next(iter(opened.questions("feedback")), None)
    document = {
        "name": opened.name,
        "description": opened.description,
        "seed_harness": opened.seed_harness,
        "tools": sorted(GRANTED.union(opened.tools)),
        "questions": counts,
        "example": None if example is None else {"question": example.text, "target": example.target},
    }
    if given.json:
        documents.emit(document)
    else:
        render.table(
            opened.name,
            ["what", "value"],
            [
                ["description", opened.description],
                ["starts from", f"library:{opened.seed_harness}"],
                ["tools", ", ".join(sorted(GRANTED.union(opened.tools)))],
                *[[f"{split} questions", n] for split, n in counts.items()],
                ["one question", "none" if example is None else example.text],
                ["its target", None if example is None else example.target],
            ],
        )


@app.command()
def check(context: typer.Context, task: TaskArgument) -> None:
    """Checks that right answers score 1 and empty ones 0, and looks for empty splits, an invalid seed
    harness and contradictory questions. Exits with 1 if it finds a fault.
    """
    from loriner.cli import documents, render
    from loriner.cli.progress import counting
    from loriner.report.figures import usage
    from loriner.verbs.checking import checked

    given: Globals = context.obj
    opened = _open(context, task)
    with counting(given.verbosity, f"check {opened.name}") as told:
        work = checked(given.settings(), opened, _seed_fault(opened), told)
        report, spent = asyncio.run(work)
    if given.json:
        facts = {"passed": report.passed, "faults": report.faults, "warnings": report.warnings}
        judge = {"usage": usage(spent)} if report.judged else {}
        documents.emit({**asdict(report), **facts, **judge})
    else:
        render.table(f"Check of {report.task}", ["what", "found"], _check_rows(report, spent))
    if not report.passed:
        raise typer.Exit(1)


def _seed_fault(task: Task) -> str:
    """Why the harness that the task names as its seed cannot be used; empty where it can."""
    from loriner.harness.contract import from_library

    try:
        from_library(task.seed_harness)
    except HarnessError as error:
        return f"seed_harness: {error} (a file of yours is given with --harness)"
    return ""


def _judge_rows(report: TaskReport, spent: Usage) -> list[list[str]]:
    tokens = spent.prompt_tokens + spent.completion_tokens
    return [
        ["questions", ", ".join(f"{split} {n}" for split, n in report.n.items())],
        ["the judge agrees with known answers", str(report.agreement or "not known")],
        ["its calls", f"{spent.calls}, {tokens:,} tokens"],
    ]


def _check_rows(report: TaskReport, spent: Usage) -> list[list[str]]:
    return [
        *(_judge_rows(report, spent) if report.judged else _scorer_rows(report)),
        ["median question", f"{report.median_question_length} characters"],
        *[["warning", each] for each in report.warnings],
        ["verdict", "sound" if report.passed else "NOT SOUND"],
        *[["  because", each] for each in report.faults],
    ]


def _scorer_rows(report: TaskReport) -> list[list[str]]:
    n_right = report.n_checked - len(report.wrong_gold)
    stopped = "" if report.n_checked == report.n_right else f" tried; stopped there ({report.n_right} in all)"
    return [
        ["questions", ", ".join(f"{split} {n}" for split, n in report.n.items())],
        ["right answers that score 1", f"{n_right} of {report.n_checked}{stopped}"],
        *[
            [f"  not {each.question_id}", f"scores {each.score:g} {each.detail}"]
            for each in report.wrong_gold[:5]
        ],
        ["an empty answer scores", _known(report.empty_score, "g")],
        [
            "a constant answer scores",
            f"{_known(report.constant_score, '.3f')} ({report.constant_answer[:60]!r})",
        ],
        *(
            []
            if report.listed_score is None
            else [["a list of all answers scores", f"{report.listed_score:.3f}"]]
        ),
    ]


def _known(score: float | None, form: str) -> str:
    return "not known" if score is None else format(score, form)


@app.command()
def new(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The new task's name.")],
    kind: Annotated[
        str, typer.Option(help="Kind of answer: qa, classify, extract (a JSON object) or search (documents).")
    ] = "qa",
    table: Annotated[
        Path | None, typer.Option("--from", help="A CSV file with a header; default: sample items.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="Where to write it; default tasks/NAME.")] = None,
) -> None:
    """Writes a task folder that runs as it is: edit its questions, its description and its scorer."""
    from loriner.cli import documents
    from loriner.errors import ConfigError
    from loriner.tasks.scaffold import KINDS, scaffold

    given: Globals = context.obj
    known = next((each for each in KINDS if each == kind), None)
    if known is None:
        raise ConfigError(f"--kind {kind!r}: expected one of {', '.join(KINDS)}")
    written = scaffold(folder or Path("tasks") / name, name, known, table)
    if given.json:
        documents.emit({"task": name, "folder": str(written)})
        return
    held = ", ".join(sorted(each.name for each in written.iterdir()))
    typer.echo(f"wrote {written}: {held}\ncheck it with: loriner tasks check {written}")
