"""`trials`: the trials of a run one by one, each with question, right answer, answer, calls and verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from loriner.cli.globals import Globals

if TYPE_CHECKING:
    from loriner.report.trials.viewer import Listing, Seen


def trials(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="A run id, or its beginning.")],
    trial: Annotated[
        int | None, typer.Argument(help="The number of a trial: shows everything about it.")
    ] = None,
    wrong: Annotated[bool, typer.Option("--wrong", help="Only those that are not right.")] = False,
    fault: Annotated[str, typer.Option(help="Only those with this fault, e.g. `extraction`.")] = "",
    of: Annotated[str, typer.Option("--task", help="Only those of this task.")] = "",
    round_: Annotated[
        int | None, typer.Option("--round", min=0, help="Only programs of this round; 0 is the seed.")
    ] = None,
    split: Annotated[str, typer.Option(help="Only feedback, grade or test.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="Show at most so many.")] = 50,
) -> None:
    """Shows trials: question, right and given answer, calls, the scorer's words."""
    from loriner.report.trials.choice import choice
    from loriner.report.trials.viewer import Viewer, whole_run
    from loriner.verbs.questions import Questions

    given: Globals = context.obj
    wanted = choice({"fault": fault, "task": of, "split": split}, wrong=wrong, round=round_)
    with given.store() as store:
        viewer = Viewer(store, Questions(store, given.settings()))
        run_id = whole_run(store, run)
        if trial is not None:
            _one(given, viewer.one(run_id, trial))
        else:
            _list(given, viewer.listing(run_id, wanted, limit=limit))


def _one(given: Globals, seen: Seen) -> None:
    from rich.text import Text

    from loriner.cli import documents, render
    from loriner.report.trials.document import trial_document
    from loriner.report.trials.words import in_words

    if given.json:
        documents.emit(trial_document(seen, whole=True))
        return
    for name, text in in_words(seen):
        render.console().print(Text(name, style="bold"))
        render.console().print(Text(text), soft_wrap=True)


def _list(given: Globals, found: Listing) -> None:
    from loriner.cli import documents, render
    from loriner.report.trials.document import listing_document

    if given.json:
        documents.emit(listing_document(found))
        return
    render.table(
        f"Trials of run {found.run_id}" + (f": {told}" if (told := found.filter.told) else ""),
        ["trial", "split", "program", "question", "score", "fault", "expected", "answer"],
        [_row(each) for each in found.seen],
    )
    more = "" if found.next is None else "; more follow: --limit, or narrow it down"
    of = "" if found.filter.fault else f" of {found.n:,}"
    typer.echo(f"{len(found.seen):,}{of} trials{more}. One in full: loriner trials {found.run_id} TRIAL")


def _row(each: Seen) -> list[Any]:
    from loriner.report.text import line
    from loriner.report.trials.shown import expected_of, name_of, score_of

    return [
        each.number,
        each.purpose,
        name_of(each),
        line(each.trial.question_id, 30),
        score_of(each),
        each.fault or str(each.trial.status),
        line(expected_of(each), 40),
        line(each.trial.answer, 40),
    ]
