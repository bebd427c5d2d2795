"""`compare-proposers`: who revises best, on the same programs and questions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from loriner.cli.flags import settled
from loriner.cli.globals import Globals
from loriner.config import Settings

if TYPE_CHECKING:
    from loriner.cli.laboratory import Laboratory
    from loriner.train.compare import Sample
    from loriner.train.exercise import Exercise
    from loriner.train.reward import Scorer
    from loriner.train.settings import ContextsTable


@settled("compare_proposers", "adapt.solver")
def compare_proposers(given: Globals, settings: Settings) -> None:
    """Has each proposer revise the same programs once, and scores it: score, validity, best of k."""
    from loriner.cli import documents
    from loriner.workspace import named

    wanted = settings.compare_proposers
    suite, out = named(wanted.suite, "suite", "SUITE"), wanted.out
    solver = named(settings.adapt.solver, "solver", "--solver")
    table = _table(given, suite, wanted.setting, wanted.per_task, wanted.grade)
    models = _named(wanted.proposers)
    found = asyncio.run(_compare(given, suite, table, solver, models, wanted.completions, out))
    (out / "comparison.json").write_text(json.dumps(found, indent=2), encoding="utf-8")
    if given.json:
        documents.emit(found)
    else:
        _print(found)


def _named(given: Sequence[str]) -> dict[str, str]:
    from loriner.errors import ConfigError

    named: dict[str, str] = {}
    for each in given:
        name, _, model = each.partition("=")
        if not name or name in named:
            raise ConfigError(
                f"--proposers {','.join(given)}: expected distinct NAME=MODEL, separated by commas"
            )
        named[name] = model or name
    if not named:
        raise ConfigError("no proposer: give --proposers NAME=MODEL, or set proposers in [compare_proposers]")
    return named


def _table(given: Globals, suite: str, setting: str, per_task: int, grade: int) -> ContextsTable:
    """What contexts are drawn from. A frozen file says itself which tasks it needs."""
    from loriner.tasks.suites import spelt_out, split_names
    from loriner.train.settings import ContextsTable, checked
    from loriner.train.suites import in_settings

    settings = given.settings()
    if suite.endswith(".jsonl"):
        tasks, asked = _tasks_of(Path(suite)), ["canonical"]
    else:
        tasks = spelt_out(split_names(suite), settings.suites)
        asked = ["canonical", "varied"] if setting == "both" else [setting]
    wanted = {
        "tasks": tasks,
        "settings": asked,
        "n": per_task * len(in_settings(tasks, asked)),
        "grade": grade,
        "max_prompt_tokens": settings.propose.prompt_tokens,
    }
    return checked(ContextsTable, wanted, "options")


def _tasks_of(path: Path) -> tuple[str, ...]:
    """The names that open the tasks of frozen contexts: those that the file keeps, else the tasks' own.

    Raises:
        ConfigError: one of them opens nothing here.
    """
    from loriner.errors import ConfigError
    from loriner.tasks.named import known_tasks
    from loriner.train.exercise import load, names

    kept, own = names(path), sorted({each.context.task for each in load(path)})
    tasks = tuple(dict.fromkeys(kept.get(each, each) for each in own))
    gone = [
        name for name in tasks if ":" not in name and name not in known_tasks() and not Path(name).is_dir()
    ]
    if gone:
        raise ConfigError(
            f"{path}: its tasks are opened as {', '.join(tasks)}, but from here no task or folder is called "
            f"{', '.join(gone)} (contexts that keep no such name know a task by its own, as in its "
            "task.toml). Run from the folder that holds it under that name"
        )
    return tasks


async def _compare(
    given: Globals,
    suite: str,
    table: ContextsTable,
    solver: str,
    proposers: dict[str, str],
    completions: int,
    out: Path,
) -> dict[str, Any]:
    from loriner.cli.laboratory import laboratory, tell
    from loriner.train.compare import keep, kept, sample
    from loriner.train.reward import Scorer

    async with laboratory(given, table, solver, "compare-proposers", training=False) as here:
        opened = {name: here.opened.proposer(model) for name, model in proposers.items()}
        exercises, digest = await _exercises(given, here, suite, table, out)
        scorer = Scorer(lab=here.lab, tasks=here.tasks)
        _require_questions(suite, scorer, exercises)
        samples: dict[str, list[Sample]] = {}
        settings = _settings_of_samples(given)
        asked = {"solver": solver, "n": len(exercises), "digest": digest, "completions": completions}
        for name, model in proposers.items():
            path, head = out / f"samples-{name}.jsonl", {"proposer": model, **asked, "settings": settings}
            samples[name] = kept(path, head, len(exercises) * completions)
            if samples[name]:
                tell(given, f"{name}: the samples in {path}")
                continue
            tell(given, f"{name}: {completions} completions in each of {len(exercises)} contexts")
            samples[name] = await sample(scorer, exercises, opened[name], completions)
            keep(path, head, samples[name])
        return {"run": here.lab.run_id, **asked, **_standings(proposers, samples)}


def _settings_of_samples(given: Globals) -> dict[str, Any]:
    """The settings that samples depend on, beside solver, proposer and contexts."""
    from loriner.workspace import shown

    settings = given.settings()
    seen = asdict(shown(settings.adapt))
    return {"seed": settings.seed, **settings.propose.model_dump(mode="json"), **seen}


async def _exercises(
    given: Globals, here: Laboratory, suite: str, table: ContextsTable, out: Path
) -> tuple[Sequence[Exercise], str]:
    """The contexts with their digest: those of the file, or drawn and frozen now."""
    from loriner.cli.laboratory import draw_plan
    from loriner.train.contexts import draw
    from loriner.train.exercise import digest, load, save
    from loriner.train.suites import states

    if suite.endswith(".jsonl"):
        return load(Path(suite)), digest(Path(suite))
    seed = here.lab.seed
    starts = states(table, here.tasks, seed)
    exercises = await draw(here.lab, here.tasks, starts, draw_plan(table, table.n, seed))
    return exercises, save(exercises, out / "contexts.jsonl", here.names)


def _require_questions(suite: str, scorer: Scorer, exercises: Sequence[Exercise]) -> None:
    """Refuses contexts that could not be scored, before a proposer is asked and paid.

    Raises:
        ConfigError: a grade question of theirs is in none of the opened tasks.
    """
    from loriner.errors import ConfigError

    for each in exercises:
        lacking = scorer.lacking(each)
        if lacking:
            raise ConfigError(
                f"{suite}: its contexts are scored on question {lacking[0]}, which the task "
                f"{each.context.task} does not have in a comparison. Contexts of `train contexts` "
                "hold questions of training, and a comparison opens other ones; or the task changed since. "
                "Give the suite or the task by name, or a contexts.jsonl that compare-proposers wrote"
            )


def _standings(proposers: dict[str, str], samples: dict[str, list[Sample]]) -> dict[str, Any]:
    """The figures over all contexts, and over those of each setting where there are two."""
    whole = _side_by_side(proposers, samples)
    parts = {
        setting: {name: [each for each in found if each.varied == varied] for name, found in samples.items()}
        for setting, varied in (("canonical", False), ("varied", True))
    }
    if not all(found for part in parts.values() for found in part.values()):
        return whole
    return {**whole, "settings": {name: _side_by_side(proposers, part) for name, part in parts.items()}}


def _side_by_side(proposers: dict[str, str], samples: dict[str, list[Sample]]) -> dict[str, Any]:
    """The figures of every proposer, also against each that is named before it."""
    from loriner.train.compare import difference, standing, unrevised

    names = list(samples)
    return {
        "unrevised": asdict(unrevised(samples[names[0]])),
        "proposers": {
            name: {
                "model": proposers[name],
                **asdict(standing(name, samples[name])),
                "against": {
                    other: asdict(difference(samples[other], samples[name])) for other in names[:place]
                },
            }
            for place, name in enumerate(names)
        },
    }


def _print(found: dict[str, Any]) -> None:
    settings = found.get("settings", {})
    for setting, part in settings.items():
        _print_standings(setting, part)
    _print_standings("both settings" if settings else "", found)
    typer.echo(
        f"One revision, {found['completions']} completions in each of {found['n']} contexts "
        f"({found['digest'][:12]}); solver {found['solver']}, frozen. No candidate scores 0; `or seed` keeps "
        f"the program. In brackets 95 % intervals; n counts families, or contexts where there is one family. "
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
