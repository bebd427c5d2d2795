"""Reasoning Gym families as tasks, scored without trust. The library is imported only in child processes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from loriner.tasks.base import Split
from loriner.tasks.children import rg
from loriner.tasks.items import Card, ItemTask
from loriner.tasks.reasoning_gym.families import RUNS_ANSWERS, SETTINGS, check_family
from loriner.tasks.reasoning_gym.frozen import freeze, read_frozen
from loriner.tasks.scorer import InWorker, WorkerSpec

Roles = Mapping[Split, str]
"""Which frozen split serves as feedback, grade and test."""

ADAPTING: Roles = {"feedback": "tt_feedback", "grade": "tt_grade", "test": "test"}
TRAINING: Roles = {"feedback": "rl_feedback", "grade": "rl_grade", "test": "val"}

_DESCRIPTION = (
    "Reasoning Gym questions of one family. The answer is text, compared by the family's own scorer: "
    "1 for a right answer, {partial} for another. Outer blanks are ignored."
)


def open_family(
    family: str,
    *,
    home: Path,
    strict: bool = False,
    anyway: bool = False,
    roles: Roles = ADAPTING,
    n: int | None = None,
) -> ItemTask:
    """The task `rg:FAMILY`; its items are made and frozen under `home` at the first use.

    `strict` scores 1 or 0 only. `anyway` opens a family that wrong answers win.

    Raises:
        TaskError: the family cannot be used, or its frozen items are not what they were.
        MissingExtra: reasoning-gym is not installed.
    """
    check_family(family, anyway=anyway)
    frozen = {each.split: each for each in freeze([family], home, splits=roles.values(), n=n)}
    card = Card(
        name=f"rg:{family}" + (":strict" if strict else ""),
        description=_DESCRIPTION.format(partial="0" if strict else "possibly partial credit"),
    )
    splits = {role: read_frozen(frozen[split]) for role, split in roles.items()}
    return ItemTask(card, splits, InWorker(_scorer_spec(family, strict)))


def _scorer_spec(family: str, strict: bool) -> WorkerSpec:
    options = {
        "family": family,
        "settings": SETTINGS.get(family, {}),
        "strict": strict,
        "runs_answers": family in RUNS_ANSWERS,
    }
    return WorkerSpec(file=Path(rg.__file__), function="scorer_for", argument=json.dumps(options))
