"""`compare-proposers`: who revises best, on the same programs and questions."""

from __future__ import annotations

from typing import Any

import typer

from loriner.cli.flags import settled
from loriner.cli.globals import Globals
from loriner.config import Settings


@settled("compare_proposers", "adapt.solver")
def compare_proposers(given: Globals, settings: Settings) -> None:
    """Compares proposers, each of which revises the same programs once: score, validity, best of k."""
    from loriner.cli import documents
    from loriner.cli.session import carried_out
    from loriner.verbs.compare_proposers import compare_proposers as verb

    found = carried_out(given, settings, verb)
    if given.json:
        documents.emit(found)
    else:
        _print(found)


def _print(found: dict[str, Any]) -> None:
    settings = found.get("settings", {})
    for setting, part in settings.items():
        _print_standings(setting, part)
    _print_standings("both settings" if settings else "", found)
    typer.echo(
        f"One revision, {found['completions']} completions in each of {found['n']} contexts "
        f"({found['digest'][:12]}); solver {found['solver']}, frozen. A completion without a candidate "
        f"scores 0; `or seed` counts the unrevised program instead. In brackets 95 % intervals; n counts "
        f"families, or contexts where there is one family. "
        f"Run {found['run']}"
    )


def _print_standings(setting: str, found: dict[str, Any]) -> None:
    """How each did, then every two of them against each other."""
    from loriner.cli import render

    shown = found["proposers"]
    ks = sorted(next(iter(shown.values()))["best_of"])[1:]  # best of one is the score
    rows = [
        [
            name,
            _interval(each["score"]),
            _interval(each["score_or_seed"]),
            _interval(each["gain"]["difference"]),
            _p(each["gain"]["p_value"]),
            " ".join(f"{each[part]:.0%}" for part in ("parsed", "applied", "completion_rate")),
            " ".join(f"{each['best_of'][k]:.2f}" for k in ks) or "-",
        ]
        for name, each in shown.items()
    ]
    best_of = f"best of {' '.join(map(str, ks)) or '1'}"
    columns = ["proposer", "score", "or seed", "gain", "p", "parsed applied ran", best_of]
    title = f"After one revision{f', {setting}' if setting else ''}, n = {found['unrevised']['n']}"
    render.table(title, columns, rows)
    typer.echo(f"Unrevised: {_interval(found['unrevised'])}")
    render.choices({name: each["choices"] for name, each in shown.items()})
    pairs = [
        [f"{name} less {other}", _interval(each["difference"]), _p(each["p_value"])]
        for name, row in shown.items()
        for other, each in row["against"].items()
    ]
    if pairs:
        render.table("Against each other", ["or seed", "difference", "p"], pairs)


def _interval(each: dict[str, Any]) -> str:
    return f"{each['mean']:.2f} [{each['low']:.2f}, {each['high']:.2f}]"


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"
