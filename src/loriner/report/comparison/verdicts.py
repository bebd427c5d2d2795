"""What a comparison shows, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

from loriner.report.comparison.results import ORACLE, SEED, Comparison, Contrast
from loriner.report.verdicts import difference_text, interval_text
from loriner.statistics import Interval


def verdict(comparison: Comparison) -> str:
    """Which mode is better, in one sentence; or that none is shown to be."""
    honest = [each for each in comparison.methods if each.name not in (SEED, ORACLE)]
    if len(honest) < 2:
        return f"{progress(comparison)}: not enough arms are complete to compare anything."
    best = max(honest, key=lambda each: each.test.mean)
    others = [each for each in comparison.contrasts if best.name in (each.first, each.second)]
    rivals = [each for each in others if SEED not in (each.first, each.second)]
    beaten = [_other(each, best.name) for each in rivals if each.told]
    tied = [_other(each, best.name) for each in rivals if not each.told]
    so_far = "" if comparison.status == "done" else f"{progress(comparison)}, so far: "
    if not tied:
        return f"{so_far}{best.name} is better than {_list(beaten)}, at {interval_text(best.test)}."
    level = [each.name for each in honest if abs(each.test.mean - best.test.mean) < 1e-9]
    rest = [name for name in tied if name not in level]
    has = "has" if len(level) == 1 else "share"
    shown = f"{_list(level)} {has} the highest sealed score, {interval_text(best.test)}"
    doubt = f", but it cannot be told from {_list(rest)}" if rest else ""
    if not beaten and (hopeless := comparison.hopeless(rivals[0])):
        return (
            f"{so_far}No mode could be shown to be the best: {hopeless}. {shown}{_ahead(best.name, rivals)}."
        )
    if not beaten:
        return f"{so_far}No mode is shown to be the best: {shown}{doubt}."
    return f"{so_far}{shown}: better than {_list(beaten)}{doubt}."


def remarks(comparison: Comparison) -> tuple[str, ...]:
    """The two questions that are always asked: against sampling, and against the seed program."""
    said = [
        sentence
        for pair in (("sequential", "sampling"), ("sequential", ORACLE), ("sequential", SEED))
        if (sentence := _pair(comparison, *pair))
    ]
    n_seeds = len({arm.seed for arm, _ in comparison.arms})
    if n_seeds < 3:
        few = f"{n_seeds} seeds say" if n_seeds > 1 else "1 seed says"
        said.append(f"{few} little about the spread between runs.")
    return tuple(said)


def progress(comparison: Comparison) -> str:
    """How far it has come."""
    done = sum(episode is not None and episode.status == "done" for _, episode in comparison.arms)
    return f"{comparison.status}, {done} of {len(comparison.arms)} arms begun are done"


def _pair(comparison: Comparison, first: str, second: str) -> str:
    a, b = comparison.method(first), comparison.method(second)
    if a is None or b is None:
        return ""
    found = next(
        (each for each in comparison.contrasts if {each.first, each.second} == {first, second}), None
    )
    if found is None:  # the oracle is in no contrast
        return f"{first}: {a.test.mean:.2f}; {second}, which no one could have picked: {b.test.mean:.2f}."
    difference = _of(found, first)
    seen = f"{difference_text(difference)} on {found.paired.n} questions"
    if hopeless := "" if found.told else comparison.hopeless(found):
        return f"{first} against {second}: {seen}. No difference could have been shown: {hopeless}."
    won = "beats" if difference.mean > 0 else "is beaten by"
    return f"{first} {won if found.told else 'is not shown to differ from'} {second}: {seen}."


def _ahead(name: str, rivals: Sequence[Contrast]) -> str:
    """The widest difference that was seen; empty where there is none."""
    widest = max(rivals, key=lambda each: _of(each, name).mean)
    difference = _of(widest, name)
    if difference.mean < 1e-9:
        return ""
    return f", {difference_text(difference)} against {_other(widest, name)}"


def _of(contrast: Contrast, name: str) -> Interval:
    """The difference as seen from one of the two."""
    difference = contrast.paired.difference
    return difference if contrast.first == name else _turned(difference)


def _turned(each: Interval) -> Interval:
    return Interval(-each.mean, -each.high, -each.low, each.n)


def _other(each: Contrast, name: str) -> str:
    return each.second if each.first == name else each.first


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
