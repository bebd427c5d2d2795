"""What a person reads on stdout: tables with n and intervals, diffs, and what to do next."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from loriner.events import Scores, Standing
from loriner.models.base import Message
from loriner.records import Harness, Rollout, Status, Trial, Usage
from loriner.report.text import plain
from loriner.search.caveats import remarks
from loriner.search.history import Adaptation
from loriner.statistics import Interval, interval
from loriner.tasks.scorer import FAILURES

BAR_WIDTH = 24
_LONGEST = 100_000
"""Characters of a cell."""


def console() -> Console:
    """Stdout. Off a terminal it is plain text, wide enough for a diff."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=120)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Prints a table; numbers stand to the right."""
    made = Table(title=title or None, title_justify="left", header_style="bold")
    listed = [list(row) for row in rows]
    for index, name in enumerate(columns):
        numeric = bool(listed) and all(isinstance(row[index], (int, float)) for row in listed)
        whole = index == 0 and all(len(_cell(row[0])) <= BAR_WIDTH for row in listed)
        made.add_column(name, justify="right" if numeric else "left", overflow="fold", no_wrap=whole)
    for row in listed:
        made.add_row(*(escape(_cell(each)) for each in row))
    console().print(made)


def _cell(value: Any) -> str:
    return "-" if value is None else plain(str(value), _LONGEST)


def interval_text(each: Interval) -> str:
    return f"{each.mean:.2f} [{each.low:.2f}, {each.high:.2f}]"


def _score(scores: Scores) -> tuple[str, int]:
    return (interval_text(interval(list(scores.values()))), len(scores)) if scores else ("-", 0)


def outcome(trial: Trial) -> str:
    """The status of a trial; where its answer is wrong since the scorer failed on it, how the scorer did."""
    scorer_failed = trial.status is Status.WRONG and trial.detail in FAILURES
    return trial.detail if scorer_failed else str(trial.status)


def adaptation(episode: Adaptation, solver: str, spent: Usage) -> None:
    """The table of seed, best and candidate, the rounds, the diffs, the faults before and after, the bill."""
    out = console()
    shown = {"seed": episode.seed, "best": episode.best, "candidate": episode.candidate}
    rows = [_standing_row(name, each) for name, each in shown.items() if each is not None]
    start, programs = episode.start, episode.programs
    beside = {"(constant answer)": start.constant_scores, "(nearest item copied)": start.copied_scores}
    rows += [_baseline_row(name, scores) for name, scores in beside.items() if scores]
    table(
        f"{start.task}: solver {solver} (frozen), proposer {start.proposer}",
        ["harness", "id", "grade, 95 % interval", "n", "sealed test, 95 % interval", "n"],
        rows,
    )
    _rounds(episode)
    if episode.best.harness_id == episode.seed.harness_id:
        out.print("No revision was accepted: the seed harness is still the best.")
    else:
        out.print("\n[bold]What was accepted[/bold]")
        diff(programs["seed"].source, programs["best"].source, "seed", "best")
    if episode.candidate is not None:
        _unconfirmed(episode, episode.candidate)
    _faults(episode.seed.faults, episode.best.faults)
    for remark in remarks(episode):
        out.print(Text(remark), soft_wrap=True)
    out.print(Text(f"\nThe search ended: {episode.stopped}."), soft_wrap=True)
    out.print(f"{bill(spent)} Run {episode.run_id}")


def _unconfirmed(episode: Adaptation, candidate: Standing) -> None:
    """The candidate that led: what it changes, why it was not accepted, and how to take it all the same."""
    console().print("\n[bold]Ahead, but not confirmed[/bold]")
    diff(episode.programs["best"].source, episode.programs["candidate"].source, "best", "candidate")
    words = f"{candidate.reason}. To use it anyway: loriner take {shlex.quote(episode.start.task)}"
    console().print(Text(words), soft_wrap=True)


def bill(spent: Usage) -> str:
    """What was spent, in one sentence; a call without a known price leaves the sum unpriced."""
    usd = "unpriced" if spent.usd is None else f"USD {spent.usd:.4f}"
    return (
        f"Spent: {spent.calls} model calls, {spent.prompt_tokens:,} + {spent.completion_tokens:,} tokens, "
        f"{usd}, {spent.seconds:.0f} s."
    )


def _standing_row(name: str, each: Standing) -> list[Any]:
    grade, n_grade = _score(each.grade)
    test, n_test = _score(each.test)
    return [name, each.harness_id[:12], grade, n_grade, test, n_test]


def _baseline_row(name: str, scores: Mapping[str, float]) -> list[Any]:
    """What needs no model, on the sealed questions."""
    return [name, "", "", "", interval_text(interval(list(scores.values()))), str(len(scores))]


def _rounds(episode: Adaptation) -> None:
    rows = [
        [
            each.number,
            index + 1,
            _what(attempt.code, attempt.note),
            "-" if attempt.after is None else f"{attempt.after:.2f}",
            attempt.reason,
        ]
        for each in episode.rounds
        for index, attempt in enumerate(each.attempts)
    ]
    if rows:
        table("Rounds", ["round", "candidate", "revision", "grade", "verdict"], rows)


def _what(code: str, note: str) -> str:
    if code:
        return f"refused: {code}"
    return note.strip().splitlines()[0][:70] if note.strip() else "(no note)"


def _faults(before: Mapping[str, int], after: Mapping[str, int]) -> None:
    if not before and not after:
        return
    out = console()
    out.print("\n[bold]Faults on the grade questions[/bold]")
    top = max([*before.values(), *after.values(), 1])
    for fault in sorted({*before, *after}, key=lambda each: -before.get(each, 0)):
        for label, count in (("before", before.get(fault, 0)), ("after", after.get(fault, 0))):
            name = fault if label == "before" else ""
            out.print(f"  {name:<14} {label:<7} {'█' * round(BAR_WIDTH * count / top)} {count}")


def diff_text(old: Harness, new: Harness) -> str:
    """A unified diff as text."""
    lines = difflib.unified_diff(
        old.source.splitlines(), new.source.splitlines(), old.id[:12], new.id[:12], lineterm=""
    )
    return "\n".join(lines)


def diff(old: str, new: str, old_name: str, new_name: str) -> None:
    """A unified diff, coloured on a terminal."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), old_name, new_name, lineterm="")
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in lines:
        shown = Text(plain(line, _LONGEST), style=colours.get(line[:1], ""))
        console().print(shown, soft_wrap=True)


def next_steps(episode: Adaptation) -> None:
    """The three commands to try after the demo."""
    best, run = episode.best.harness_id[:12], episode.run_id
    steps = [
        (f"loriner report {run} -o report.html", "every round, diff, fault and cost, in one file"),
        (f"loriner export {best} -o best/", "the program, to run without this package"),
        ("loriner tasks new mine", "your own task; then: loriner adapt tasks/mine --solver URL::MODEL"),
    ]
    console().print("\n[bold]Next[/bold]")
    for command, what in steps:
        console().print(f"  {command:<50} # {what}", soft_wrap=True)


def prompt(messages: Sequence[Message]) -> None:
    """The prompt of a proposer, as it reads it."""
    for each in messages:
        console().print(Text(f"--- {each.role} ---", style="bold"))
        console().print(Text(plain(each.content, 10 * _LONGEST)), soft_wrap=True)


def proposals(harness: Harness, rollouts: Sequence[Rollout]) -> None:
    """Each completion as a diff, or the reason why it is none."""
    for each in rollouts:
        title = f"Candidate {each.index + 1}"
        if each.failure is not None or each.candidate is None:
            refused(title, each)
            continue
        words = _what("", each.revision.note if each.revision else "")
        console().print(Text(f"{title}: {words}"))
        diff(harness.source, each.candidate.source, harness.id[:12], each.candidate.id[:12])


def refused(title: str, each: Rollout) -> None:
    """A reply that made no candidate: why, and what it said; cut when it is long, `--json` has it whole."""
    code, message = (each.failure.code, each.failure.message) if each.failure else ("none", "")
    words = f"{title}: refused: {code}\n{message}\nThe reply was:\n{each.completion or '(nothing)'}"
    console().print(Text(plain(words)), soft_wrap=True)


def choices(found: Mapping[str, Mapping[str, Any]]) -> None:
    """What each chose (`train.choices.report`), of all valid revisions and of the better ones."""
    rows = [
        [
            f"{name}, {part}",
            each["n"],
            f"{each['n_contexts']} of {each['n_families']}",
            each["choices_often"],
            f"{each['information_beyond_chance']:+.2f}",
            f"{each['information_p']:.3f}",
            ", ".join(f"{kind} {share:.0%}" for kind, share in list(each["choices"].items())[:4]),
        ]
        for name, parts in found.items()
        for part, each in parts.items()
        if each["n"]
    ]
    head = ["revisions", "n", "contexts of families", "10 % each", "bits by family", "p", "most often"]
    if rows:
        table("Revisions chosen, and whether the choice depends on the family", head, rows)
