"""Figures as plain sentences: what was found, whether it can be believed, and what to do next."""

from __future__ import annotations

import shlex
from collections import Counter

from loriner.diagnosis.faults import Profile
from loriner.diagnosis.faults import bottleneck as diagnosed
from loriner.events import Scores, Standing
from loriner.records import Fault
from loriner.report.facts import SAMPLING, Episode
from loriner.report.scores import interval_of, paired_of
from loriner.statistics import Interval


def score_text(scores: Scores) -> str:
    """`0.62 [0.50, 0.73]`, or a dash."""
    return interval_text(interval_of(scores))


def interval_text(each: Interval | None) -> str:
    return "–" if each is None else f"{each.mean:.2f} [{each.low:.2f}, {each.high:.2f}]"


def difference_text(each: Interval) -> str:
    mean, low, high = (round(value, 2) + 0.0 for value in (each.mean, each.low, each.high))  # no -0.00
    return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"


def outcome(episode: Episode) -> str:
    """The verdict on an episode in a sentence, and in another one what led and was not confirmed."""
    return " ".join(each for each in (_verdict(episode), unconfirmed(episode)) if each)


def _verdict(episode: Episode) -> str:
    if episode.status == "running":
        return _so_far(episode)
    seed, best = episode.seed, episode.best
    if episode.start.mode == SAMPLING and best is not None:
        n = round(episode.n_samples)
        return (
            f"A vote over {n} samples of the seed program scores {score_text(best.test)} on sealed questions."
        )
    if seed is None or best is None:
        return f"The run ended early ({episode.status}); {_reached(episode)} It can be resumed."
    if seed.harness_id == best.harness_id:
        return f"No revision was accepted: the seed program scores {_sealed_or_grade(seed)}."
    if not seed.test or not best.test:
        return f"A revision was accepted ({_grades(seed, best)} on the grade questions), with no sealed test."
    found = paired_of(seed.test, best.test)
    if found is None:
        return "Seed and best were scored on different sealed questions, so they cannot be compared."
    figures = (
        f"{_mean(best.test):.2f} against {_mean(seed.test):.2f}, {difference_text(found.difference)} "
        f"on {found.n} sealed questions"
    )
    if found.difference.low > 0:
        return f"The adapted program is better than the seed: {figures}."
    if found.difference.high < 0:
        return f"The adapted program is worse than the seed: {figures}. Keep the seed."
    return f"The gain on the grade questions ({_grades(seed, best)}) is not confirmed: {figures}."


def bottleneck(standing: Standing) -> str:
    """What was seen in most of the wrong grade trials."""
    counts = Counter({Fault(fault): n for fault, n in standing.faults.items()})
    return diagnosed(Profile(len(standing.grade), counts, {}))


def luck(standing: Standing) -> str:
    """What of a selected score is left, with the luck of the samples and then of the choice taken out."""
    if not (standing.grade and standing.fresh and standing.test):
        return ""
    chosen, fresh, sealed = _mean(standing.grade), _mean(standing.fresh), _mean(standing.test)
    return (
        f"Scored {chosen:.2f} when it was chosen, {fresh:.2f} on the same questions with fresh samples, "
        f"{sealed:.2f} on sealed questions. "
        + (
            "The first is too high: quote the sealed score."
            if chosen - sealed > 0.05
            else "The first score holds."
        )
    )


def unconfirmed(episode: Episode) -> str:
    """What led and was not accepted: its score, why not, and how to take it; empty where nothing did."""
    found, task = episode.candidate, episode.start.task
    if found is None:
        return ""
    return (
        f"A candidate is ahead but was not confirmed; it scores {_sealed_or_grade(found)} "
        f"({found.reason}). To use it anyway: loriner take {shlex.quote(task)}."
    )


def looks(episode: Episode) -> str:
    """What was paid for the number of candidates tried."""
    plan = episode.start.plan
    if plan["accept"] != "paired":
        n = plan["rounds"] * plan["candidates"]
        return f"The rule {plan['accept']} requires no evidence: over {n} tries a gain by luck is likely."
    return (
        f"The leader of each of up to {plan['rounds']} rounds was tested, and the level of 0.05 was spent "
        "over these tests: luck alone is accepted in at most 1 run of 20."
    )


def _so_far(episode: Episode) -> str:
    number, most = len(episode.rounds) + 1, episode.start.plan["rounds"]
    return f"Running: round {number} of at most {most}; {_reached(episode)}"


def _reached(episode: Episode) -> str:
    seed = episode.grade_of(episode.start.harness_id)
    if seed is None:
        return "the seed program has no score yet."
    n = sum(each.accepted is not None for each in episode.rounds)
    after = [episode.grade_of(each.current_id) for each in episode.rounds]
    now = next((each for each in reversed(after) if each), seed)
    words = "no revision" if n == 0 else "1 revision" if n == 1 else f"{n} revisions"
    return (
        f"{words} accepted in {len(episode.rounds)} rounds, from {seed.mean:.2f} "
        f"to {now.mean:.2f} on the grade questions."
    )


def _sealed_or_grade(standing: Standing) -> str:
    if standing.test:
        return f"{score_text(standing.test)} on {len(standing.test)} sealed questions"
    return f"{score_text(standing.grade)} on {len(standing.grade)} grade questions"


def _grades(seed: Standing, best: Standing) -> str:
    return f"{_mean(seed.grade):.2f} to {_mean(best.grade):.2f}"


def _mean(scores: Scores) -> float:
    return sum(scores.values()) / len(scores)
