"""The registry's verbs: `log`, `show`, `diff`, `revert`, `take`, `tag`, `blame`, `export`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loriner.cli.globals import Globals

if TYPE_CHECKING:
    from loriner.config import Settings
    from loriner.records import Harness
    from loriner.store.registry import Registry

app = typer.Typer()

VersionArgument = Annotated[str, typer.Argument(help="A version (id, tag, branch), library:NAME or a file.")]


TaskArgument = Annotated[str, typer.Argument(help="A task's name, or its folder.")]


def _task_name(task: str) -> str:
    """The name of a task that is given by its folder; any other as it is.

    Raises:
        TaskError: the folder holds no task that can be read.
    """
    if not (Path(task) / "task.toml").is_file():
        return task
    from loriner.tasks.jsonl import load_folder

    return load_folder(task).name


def _harness(given: Globals, name: str) -> Harness:
    from loriner.store.ref_names import is_best
    from loriner.verbs.workspace import find_harness, solver_name, unrecorded

    if (found := unrecorded(name)) is not None:
        return found
    with given.store() as store, _registry(given) as registry:
        solver = solver_name(given.settings()) if is_best(name) else None
        return find_harness(name, store, registry, solver=solver)


@contextmanager
def _registry(given: Globals) -> Iterator[Registry]:
    from loriner.store.connection import require_store
    from loriner.store.registry import Registry

    home = given.settings().home
    require_store(home)
    yield Registry.open(home)


@app.command()
def log(context: typer.Context, task: TaskArgument) -> None:
    """Lists the versions of a task, newest first."""
    from loriner.cli import documents, render

    given: Globals = context.obj
    with _registry(given) as registry:
        entries = registry.log(task := _task_name(task))
    if given.json:
        documents.emit([each.as_json() for each in entries])
        return
    rows = [
        [each.sha[:10], each.harness_id[:12], each.round, _score(each.score), each.subject, each.when]
        for each in entries
    ]
    render.table(f"Versions of {task}", ["commit", "harness", "round", "score", "what", "when"], rows)


def _score(score: float | None) -> str | None:
    return None if score is None else f"{score:.2f}"


@app.command()
def show(context: typer.Context, harness: VersionArgument) -> None:
    """Prints the source of a harness."""
    from loriner.cli import documents

    given: Globals = context.obj
    found = _harness(given, harness)
    if given.json:
        documents.emit({"harness": found.id, "source": found.source})
    else:
        typer.echo(found.source, nl=False)


@app.command()
def diff(context: typer.Context, old: VersionArgument, new: VersionArgument) -> None:
    """Shows what changed between two harnesses, and how the structure grew."""
    from loriner.cli import documents, render
    from loriner.harness.structure import compare

    given: Globals = context.obj
    before, after = _harness(given, old), _harness(given, new)
    growth = compare(before.source, after.source)
    if given.json:
        documents.emit(
            {
                "old": before.id,
                "new": after.id,
                "growth": growth.label,
                "diff": render.diff_text(before, after),
            }
        )
    else:
        render.diff(before.source, after.source, before.id[:12], after.id[:12])
        typer.echo(f"Structure: {growth.label}")


@app.command()
def revert(
    context: typer.Context,
    task: TaskArgument,
    version: Annotated[str, typer.Argument(help="The version to go back to.")],
) -> None:
    """Makes an earlier version the task's current one again, as a new commit."""
    from loriner.cli import documents

    given: Globals = context.obj
    with _registry(given) as registry:
        commit = registry.revert(task := _task_name(task), version)
    if given.json:
        documents.emit({"task": task, "commit": commit, "version": version})
    else:
        typer.echo(f"{task} is at {commit[:10]}, with the source of {version}")


@app.command()
def take(context: typer.Context, task: TaskArgument) -> None:
    """Makes the unconfirmed leading candidate of a task its best version."""
    from loriner.cli import documents

    given: Globals = context.obj
    with _registry(given) as registry:
        commit = registry.take(task := _task_name(task))
    if given.json:
        documents.emit({"task": task, "commit": commit})
    else:
        typer.echo(f"best/{task} is {commit[:10]}, which was candidate/{task}")


@app.command()
def tag(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The new name.")],
    version: Annotated[str, typer.Argument(help="The version that gets it.")],
) -> None:
    """Gives a version a name."""
    from loriner.cli import documents

    given: Globals = context.obj
    with _registry(given) as registry:
        commit = registry.tag(name, version)
    if given.json:
        documents.emit({"tag": name, "commit": commit})
    else:
        typer.echo(f"{name} is {commit[:10]}")


@app.command()
def blame(context: typer.Context, version: Annotated[str, typer.Argument(help="A version.")]) -> None:
    """Shows for each line the version that introduced it, and the change in score that came with it."""
    from loriner.cli import documents

    given: Globals = context.obj
    from loriner.store.blame import blame as find

    with _registry(given) as registry:
        lines = find(registry, version)
    if given.json:
        documents.emit([each.as_json() for each in lines])
        return
    for each in lines:
        change = "" if each.entry.change is None else f"{each.entry.change:+.2f}"
        typer.echo(f"{each.entry.sha[:8]} round {each.entry.round:<3} {change:>6} | {each.text}")


@app.command()
def bisect(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="A run of adapt.")],
    question: Annotated[str, typer.Argument(help="A question's id.")],
    task: Annotated[
        str | None, typer.Option(help="The task, if several have a question with this id.")
    ] = None,
) -> None:
    """Finds the version of a run from which a question was answered wrongly, using recorded trials."""
    from loriner.cli import documents, render
    from loriner.store.bisect import bisect as find

    given: Globals = context.obj
    with given.store() as store, _registry(given) as registry:
        name = None if task is None else _task_name(task)
        turn = find(store, registry, store.run(run).id, question, task=name)
    wrong = turn.first_wrong.entry.sha if turn.first_wrong else None
    if given.json:
        steps = [
            {"sha": each.entry.sha, "harness": each.entry.harness_id, "score": each.score}
            for each in turn.steps
        ]
        documents.emit({"question": question, "steps": steps, "first_wrong": wrong})
        return
    rows = [
        [each.entry.sha[:10], each.entry.round, each.entry.subject, _score(each.score)] for each in turn.steps
    ]
    render.table(f"Question {question}", ["commit", "round", "what", "score"], rows)
    typer.echo(f"wrong from {wrong[:10]} on" if wrong else "right at the end")


@app.command()
def export(
    context: typer.Context,
    harness: VersionArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="The directory to write.")] = Path("harness"),
    task: Annotated[
        str | None,
        typer.Option("--task", help="The task whose examples it uses; default: that of its run."),
    ] = None,
) -> None:
    """Writes a harness that runs with plain Python, without this package."""
    from loriner.cli import documents
    from loriner.store.harness_folder import export_harness, uses_examples

    given: Globals = context.obj
    found = _harness(given, harness)
    package = export_harness(found, out, _examples(given, harness, task) if uses_examples(found) else None)
    if given.json:
        documents.emit(
            {
                "harness": found.id,
                "files": [str(path) for path in package.paths],
                "kept": [str(path) for path in package.kept],
                "missing": list(package.missing),
            }
        )
    else:
        typer.echo("\n".join(str(path) for path in package.paths))
    for path in package.kept:
        typer.echo(
            f"note: {path} has changes of yours and is kept; delete it to have it written again", err=True
        )
    if package.missing:
        names = ", ".join(package.missing)
        typer.echo(
            f"note: the harness imports tools that {package.tools} lacks: {names}; write them there",
            err=True,
        )


def _examples(given: Globals, version: str, name: str | None) -> list[tuple[str, str]] | None:
    """The examples of the task called `name`, or of the one whose run made the version; None where neither is
    known, or the task has a tool of that name itself.
    """
    from loriner.errors import LorinerError
    from loriner.evaluation.examples import feedback_examples
    from loriner.verbs.workspace import task_of

    try:
        task = task_of(_settings(given, version, name))
        return None if "examples" in task.tools else feedback_examples(task).pairs
    except LorinerError as error:
        if name is not None:
            raise
        typer.echo(f"note: no examples were written; name their task with --task TASK: {error}", err=True)
        return None


def _settings(given: Globals, version: str, task: str | None) -> Settings:
    """The settings with the task called `task`; else those of the run that made the version."""
    from loriner.config import AdaptSettings, Settings, changed

    settings = given.settings()
    if task is not None:
        return settings.model_copy(update={"task": None, "adapt": AdaptSettings(task=task)})
    with given.store() as store, _registry(given) as registry:
        run = store.run(registry.resolve(version).run)
    return changed(Settings.model_validate(run.config), home=settings.home)
