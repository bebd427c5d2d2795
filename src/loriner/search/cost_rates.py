"""The mean cost of a trial in earlier runs, as a guess at the cost of the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loriner.config import Settings
from loriner.models.tokens import ASSUMED_REPLY, CHARACTERS_PER_TOKEN
from loriner.records import Call
from loriner.search.allowance import usage_of
from loriner.store.connection import FILE_NAME
from loriner.store.database import Store
from loriner.store.runs import RunRow

N_RUNS = 3
"""Number of latest runs that are read."""
N_TRIALS = 8
"""Runs with fewer trials are ignored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Means over trials. Replies from the cache count like others."""

    calls: float
    prompt_tokens: float
    completion_tokens: float
    seconds: float | None
    """Wall time of a run by its trials; None where nothing was timed."""
    source: str
    """Where the means come from, in words."""


def assumed(characters: float) -> Rates:
    """The rates assumed for questions of so many characters if there is no earlier run."""
    return Rates(
        calls=1.0,
        prompt_tokens=characters / CHARACTERS_PER_TOKEN + 60,
        completion_tokens=ASSUMED_REPLY,
        seconds=None,
        source=f"one call a trial and replies of {ASSUMED_REPLY} tokens, as no run with this solver is known",
    )


def of_earlier_runs(settings: Settings, task: str) -> Rates | None:
    """The rates of the latest runs with the same solver, those on the same task if there are any."""
    if not (settings.home / FILE_NAME).is_file():
        return None
    store = Store.existing(settings.home)
    try:
        rows = [each for each in store.runs(200) if _solver(each) == settings.adapt.solver]
        same = [each for each in rows if each.summary.get("task") == task]
        what = f"on {task} " if same else ""
        return _mean(store, (same or rows)[:N_RUNS], f"with this solver {what}".strip())
    finally:
        store.close()


def _solver(row: RunRow) -> str | None:
    found = row.config.get("adapt", {}).get("solver")
    return found if row.command in ("adapt", "evaluate") else None


def _mean(store: Store, rows: Sequence[RunRow], words: str) -> Rates | None:
    calls, n_trials, n_timed, seconds, n_runs = list[Call](), 0, 0, 0.0, 0
    for row in rows:
        trials = store.trials(row.id, with_calls=True)
        if len(trials) < N_TRIALS:
            continue
        its = [call for trial in trials for call in trial.calls if call.kind == "model"]
        calls, n_trials, n_runs = calls + its, n_trials + len(trials), n_runs + 1
        if 2 * sum(not call.cached for call in its) >= len(its):
            n_timed, seconds = n_timed + len(trials), seconds + row.seconds
    if not n_trials:
        return None
    used = usage_of(calls)
    return Rates(
        calls=used.calls / n_trials,
        prompt_tokens=used.prompt_tokens / n_trials,
        completion_tokens=used.completion_tokens / n_trials,
        seconds=seconds / n_timed if n_timed else None,
        source=f"the means of {n_runs} earlier run{'s' if n_runs > 1 else ''} {words}",
    )
