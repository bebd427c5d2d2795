"""The facts of any run, and its page."""

from __future__ import annotations

from collections import Counter

from loriner.errors import ConfigError
from loriner.report.comparison.page import comparison_page
from loriner.report.comparison.results import Comparison, read_comparison
from loriner.report.facts import Episode
from loriner.report.page import Page
from loriner.report.reading import read_episode
from loriner.report.run_page import episode_page
from loriner.store.database import Store


def page_of(found: Comparison | Episode) -> Page:
    """The report."""
    return comparison_page(found) if isinstance(found, Comparison) else episode_page(found)


def facts_of(store: Store, run_id: str) -> Comparison | Episode:
    """The facts of an adaptation or a comparison.

    Raises:
        ConfigError: there is no such run, or it is neither.
    """
    run = store.run(run_id)
    found = read_comparison(store, run.id) or read_episode(store, run.id)
    if found is not None:
        return found
    kinds = Counter(each.command for each in store.runs(1_000))
    raise ConfigError(
        f"run {run.id} is one of `{run.command}`, or has not begun: a report needs a run of adapt or "
        f"compare; this home has {kinds['adapt']} and {kinds['compare']} of them (loriner runs list)"
    )
