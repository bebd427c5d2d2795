"""The report on one adaptation."""

from __future__ import annotations

from loriner.report.evidence import configuration, costs, duration, moment, transcripts
from loriner.report.facts import Episode
from loriner.report.page import Page
from loriner.report.results import by_round, faults, questions, standings
from loriner.report.revisions import changes, invalid, structure, tried
from loriner.report.text import line
from loriner.report.verdicts import bottleneck, looks, luck, outcome


def episode_page(episode: Episode) -> Page:
    """The report on one adaptation."""
    best = episode.best
    remarks = [
        episode.plateau.verdict if episode.plateau else "",
        bottleneck(best) if best and best.grade else "",
        luck(best) if best else "",
        looks(episode) if episode.rounds else "",
        f"The search ended: {line(str(episode.end))}." if episode.end else "",
    ]
    return Page(
        title=f"{line(episode.start.task)}: adaptation {episode.run_id}",
        verdict=outcome(episode),
        remarks=tuple(each for each in remarks if each),
        facts=facts(episode),
        sections=(
            standings(episode),
            by_round(episode),
            tried(episode),
            changes(episode),
            questions(episode),
            faults(episode),
            structure(episode.candidates),
            invalid(episode.candidates, episode.refused),
            costs(episode.spent, episode.statuses),
            transcripts(episode),
            configuration(episode.config),
        ),
    )


def facts(episode: Episode) -> tuple[tuple[str, str], ...]:
    """The head of the page: what ran on what."""
    start = episode.start
    counts = ", ".join(f"{n} {split}" for split, n in start.n_questions.items())
    return (
        ("task", line(start.task)),
        ("frozen solver", line(start.solver)),
        ("proposer", line(start.proposer)),
        ("questions", counts),
        ("mode, seed", f"{start.mode}, {start.seed}"),
        ("status", episode.status),
        ("started", moment(episode.started)),
        ("wall time", duration(episode.seconds)),
    )
