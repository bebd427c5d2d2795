"""From the name on a command line to a task: a registered name, a Reasoning Gym family, or a folder.

    rg:FAMILY            a family with partial credit
    rg:FAMILY:strict     right or wrong only
    rg:FAMILY:anyway     a family that wrong answers can win
    rg:FAMILY+varied     a family in the format-varied setting (before any other mark)
    musique:FILE         questions of MuSiQue (likewise hotpotqa, 2wikimultihopqa) with search over a corpus
    musique:FILE,CORPUS  the same over a corpus file
    musique:FILE:pool    the same with each question's passages in its text; `:train` takes the train rows
    musique:hub:NAME     the same from a hub: OWNER/NAME or OWNER/NAME/CONFIG
    primes               counting primes: the task of the demo, which ships with the package
    fictional            a made-up wiki; fictional:PAGES:SEED is another one
    ./folder             a folder with a task.toml

A package registers its own tasks as entry points of the group `loriner.tasks`: each is a function that is
called with the home directory and returns a `Task`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from loriner.errors import LorinerError, TaskError
from loriner.tasks.base import Task
from loriner.tasks.fictional import DEFAULT_PAGES, open_fictional
from loriner.tasks.jsonl import load_folder
from loriner.tasks.multihop.answer_match import DATASETS
from loriner.tasks.multihop.hub import PREFIX
from loriner.tasks.multihop.task import open_multihop
from loriner.tasks.reasoning_gym.families import FAMILIES, WITHOUT_GOLD
from loriner.tasks.reasoning_gym.task import ADAPTING, Roles, open_family
from loriner.tasks.suites import SUITES
from loriner.tasks.varied.task import VariedTask

_MARKS = ("strict", "anyway")
SHIPPED = ("primes",)
"""Tasks whose folders lie in this package."""


def open_task(name: str, *, home: Path, offline: bool = False, roles: Roles = ADAPTING) -> Task:
    """The task called `name`; what has to be made for it is kept under `home`. `offline` fetches nothing.

    `roles` are the splits that a Reasoning Gym family is opened in.

    Raises:
        TaskError: there is no such task (the nearest names are shown), or it cannot be opened.
        MissingExtra: it needs a library that is not installed.
    """
    registered = _registered()
    if name in registered:
        return _open_registered(registered[name], home)
    if name in SHIPPED:
        return load_folder(Path(__file__).parent / name)
    if name.startswith("rg:"):
        return _open_family(name, home, roles)
    if name.partition(":")[0] in DATASETS:
        return _open_multihop(name, offline)
    if name.partition(":")[0] == "fictional":
        return _open_fictional(name)
    if name in SUITES:
        raise TaskError(
            f"{name} is a suite of {len(SUITES[name])} tasks, not a task; one is {SUITES[name][0]}"
        )
    if Path(name).is_dir():
        return load_folder(name)
    raise TaskError(_unknown(name))


def _open_family(name: str, home: Path, roles: Roles) -> Task:
    family, *marks = name.removeprefix("rg:").split(":")
    for mark in marks:
        if mark not in _MARKS:
            raise TaskError(f"{name}: no mark is called {mark!r}; expected {' or '.join(_MARKS)}")
    family, plus, setting = family.partition("+")
    if plus and setting != "varied":
        raise TaskError(f"{name}: no setting is called {setting!r}; expected varied")
    task = open_family(family, home=home, strict="strict" in marks, anyway="anyway" in marks, roles=roles)
    return VariedTask(task) if plus else task


def _open_multihop(name: str, offline: bool) -> Task:
    dataset, *rest = name.split(":")
    marks = set()
    while rest[1:] and rest[-1] in ("pool", "train"):
        marks.add(rest.pop())
    file, _, corpus = ":".join(rest).partition(",")
    if not file:
        raise TaskError(f"{name}: expected a file, as in {dataset}:FILE")
    if offline and file.startswith(PREFIX):
        raise TaskError(f"{name} is read from a hub, which --offline forbids; name a file of it")
    part = "train" if "train" in marks else "dev"
    return open_multihop(dataset, file, part=part, pool="pool" in marks, corpus=corpus or None)


def _open_fictional(name: str) -> Task:
    numbers = name.split(":")[1:]
    if len(numbers) > 2 or not all(number.isdecimal() for number in numbers):
        raise TaskError(f"{name}: expected fictional, fictional:PAGES or fictional:PAGES:SEED")
    n_pages, seed, *_ = [*map(int, numbers), *[DEFAULT_PAGES, 0][len(numbers) :]]
    return open_fictional(n_pages, seed=seed)


def known_tasks() -> tuple[str, ...]:
    """Every name that can be opened without a file: the registered ones, the made-up wiki, the families."""
    families = [f"rg:{family}" for family in FAMILIES if family not in WITHOUT_GOLD]
    return (*registered_tasks(), "fictional", *families)


def registered_tasks() -> tuple[str, ...]:
    """The names under which installed packages, this one too, offer tasks."""
    return (*SHIPPED, *sorted(_registered()))


def _registered() -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group="loriner.tasks")}


def _open_registered(point: EntryPoint, home: Path) -> Task:
    try:
        task: Task = point.load()(home)
    except LorinerError:
        raise
    except Exception as error:
        raise TaskError(
            f"the registered task {point.name} ({point.value}) does not open: {error!r}"
        ) from error
    return task


def _unknown(name: str) -> str:
    names = known_tasks()
    bare = {each.removeprefix("rg:"): each for each in names}
    near = difflib.get_close_matches(name, [*names, *bare], 3, 0.6)
    shown = dict.fromkeys(bare.get(each, each) for each in near)
    hint = f"did you mean {', '.join(shown)}?" if shown else "`loriner tasks list` names them"
    return f"no task is called {name!r}, and it is no folder with a task.toml; {hint}"
