"""`compare-proposers`: who revises best, on the same programs and questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loriner.config import CompareProposersSettings, Settings
from loriner.errors import ConfigError
from loriner.events import Note, Observer, silent
from loriner.propose.proposer import Proposer
from loriner.tasks.by_name import known_tasks
from loriner.tasks.suites import spelt_out, split_names
from loriner.train import exercise
from loriner.train.compare import Sample, chosen, difference, keep, kept, sample, standing, unrevised
from loriner.train.contexts import draw
from loriner.train.exercise import Exercise
from loriner.train.reward import Rewarder
from loriner.train.settings import ContextsTable, checked
from loriner.train.suites import in_settings, states
from loriner.verbs.laboratory import Laboratory, draw_plan, laboratory
from loriner.verbs.workspace import Workspace, named, shown


async def compare_proposers(lab: Workspace, settings: Settings, observe: Observer = silent) -> dict[str, Any]:
    """The figures of every proposer, as written to `comparison.json`. Samples that are there are kept.

    Raises:
        ConfigError: no suite or proposer is named, or the contexts cannot be scored here.
        InfrastructureError, ModelError: a completion could not be scored or written.
    """
    wanted, models = settings.compare_proposers, _models(settings.compare_proposers.proposers)
    suite, table = named(wanted.suite, "suite", "SUITE"), _table(settings)
    async with laboratory(
        lab.fresh(settings, "training"), table, "compare-proposers", observe, training=False
    ) as here:
        opened = {name: here.lab.proposer(model) for name, model in models.items()}
        exercises, digest = await _exercises(here, suite, table, wanted.out)
        rewarder = Rewarder(lab=here.evaluator, tasks=here.tasks)
        _require_questions(suite, rewarder, exercises)
        asked = {
            "solver": settings.adapt.solver,
            "n": len(exercises),
            "digest": digest,
            "completions": wanted.completions,
        }
        contest = _Contest(rewarder, exercises, wanted, {**asked, "settings": _settings_of_samples(settings)})
        samples = {name: await contest.samples(name, models[name], opened[name], observe) for name in models}
    found = {"run": here.run_id, **asked, **_standings(models, samples)}
    (wanted.out / "comparison.json").write_text(json.dumps(found, indent=2), encoding="utf-8")
    return found


@dataclass(frozen=True, slots=True)
class _Contest:
    """What every proposer is given alike."""

    rewarder: Rewarder
    exercises: Sequence[Exercise]
    wanted: CompareProposersSettings
    asked: Mapping[str, Any]
    """What samples depend on beside their proposer."""

    async def samples(self, name: str, model: str, proposer: Proposer, observe: Observer) -> list[Sample]:
        """A proposer's samples: those of its file, or new ones, which are kept there."""
        n, k = len(self.exercises), self.wanted.completions
        path = self.wanted.out / f"samples-{name}.jsonl"
        head = {"proposer": model, **self.asked}
        if found := kept(path, head, n * k):
            observe(Note(text=f"{name}: the samples in {path}"))
            return found
        observe(Note(text=f"{name}: {k} completions in each of {n} contexts"))
        found = await sample(self.rewarder, self.exercises, proposer, k)
        keep(path, head, found)
        return found


def _models(given: Sequence[str]) -> dict[str, str]:
    """The models by the names of their proposers, from NAME=MODEL."""
    models: dict[str, str] = {}
    for each in given:
        name, _, model = each.partition("=")
        if not name or name in models:
            told = ",".join(given)
            raise ConfigError(f"--proposers {told}: expected distinct NAME=MODEL, separated by commas")
        models[name] = model or name
    if not models:
        raise ConfigError("no proposer: give --proposers NAME=MODEL, or set it under [compare_proposers]")
    return models


def _table(settings: Settings) -> ContextsTable:
    """What contexts are drawn from. A frozen file says itself which tasks it needs."""
    wanted = settings.compare_proposers
    suite = named(wanted.suite, "suite", "SUITE")
    if suite.endswith(".jsonl"):
        tasks, asked = _tasks_of(Path(suite)), ["canonical"]
    else:
        tasks = spelt_out(split_names(suite), settings.suites)
        asked = ["canonical", "varied"] if wanted.setting == "both" else [wanted.setting]
    values = {
        "tasks": tasks,
        "settings": asked,
        "n": wanted.per_task * len(in_settings(tasks, asked)),
        "grade": wanted.grade,
        "max_prompt_tokens": settings.propose.prompt_tokens,
    }
    return checked(ContextsTable, values, "options")


def _tasks_of(path: Path) -> tuple[str, ...]:
    """The names that open the tasks of frozen contexts: those that the file keeps, else the tasks' own.

    Raises:
        ConfigError: one of them opens nothing here.
    """
    names, own = exercise.names(path), sorted({each.context.task for each in exercise.load(path)})
    tasks = tuple(dict.fromkeys(names.get(each, each) for each in own))
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


def _settings_of_samples(settings: Settings) -> dict[str, Any]:
    """The settings that samples depend on, beside solver, proposer and contexts."""
    seen = asdict(shown(settings.adapt))
    return {"seed": settings.seed, **settings.propose.model_dump(mode="json"), **seen}


async def _exercises(
    here: Laboratory, suite: str, table: ContextsTable, out: Path
) -> tuple[Sequence[Exercise], str]:
    """The contexts with their digest: those of the file, or drawn and frozen now."""
    if suite.endswith(".jsonl"):
        return exercise.load(Path(suite)), exercise.digest(Path(suite))
    seed = here.evaluator.seed
    starts = states(table, here.tasks, seed)
    drawn = await draw(here.evaluator, here.tasks, starts, draw_plan(table, table.n, seed))
    return drawn, exercise.save(drawn, out / "contexts.jsonl", here.names)


def _require_questions(suite: str, rewarder: Rewarder, exercises: Sequence[Exercise]) -> None:
    """Refuses contexts that could not be scored, before a proposer is asked and paid.

    Raises:
        ConfigError: a grade question of theirs is in none of the opened tasks.
    """
    for each in exercises:
        lacking = rewarder.lacking(each)
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
    names = list(samples)
    return {
        "unrevised": asdict(unrevised(samples[names[0]])),
        "proposers": {
            name: {
                "model": proposers[name],
                **asdict(standing(name, samples[name])),
                "choices": chosen(samples[name]),
                "against": {
                    other: asdict(difference(samples[other], samples[name])) for other in names[:place]
                },
            }
            for place, name in enumerate(names)
        },
    }
