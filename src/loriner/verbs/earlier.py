"""A run that is gone on with, or done again from its record: the settings that it began with."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from loriner.config import Settings, changed
from loriner.errors import ConfigError, LorinerError
from loriner.search.history import history
from loriner.store.database import Store
from loriner.store.registry import Registry
from loriner.verbs.workspace import find_harness

logger = logging.getLogger("loriner")


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """Which run, by its id or a part of it; none for a run that begins."""

    resume: str | None = None
    replay: str | None = None
    harnesses: tuple[str, ...] = ()
    """What a replay takes in place of the programs that the run began with."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The settings that were given beside it, nested as in `loriner.toml`, were they the defaults or not."""

    @property
    def rounds(self) -> int | None:
        """The rounds that were given; None where they were not."""
        rounds: int | None = self.given.get("adapt", {}).get("rounds")
        return rounds


FRESH = Earlier()


def as_begun(settings: Settings, command: str, earlier: Earlier) -> Settings:
    """The settings of the run that is resumed or replayed, or those given if none is.

    Home and budget are taken from now, and so are the harnesses of a replay and more rounds for an adaptation
    that is resumed. What else is set now and was not then is logged: it changes nothing.

    Raises:
        ConfigError: no such run, one of another command, or both are asked.
    """
    if earlier.resume is not None and earlier.replay is not None:
        raise ConfigError("--resume goes on with a run, --replay does one again: give one of them")
    name = earlier.resume or earlier.replay
    if name is None:
        return settings
    then = _kept(settings, command, name)
    if command == "adapt" and earlier.resume and earlier.rounds is not None:
        then = changed(then, adapt={"rounds": max(then.adapt.rounds, earlier.rounds)})
    for ignored in _ignored(settings, then, earlier):
        logger.warning(f"note: a resumed run keeps its original settings: {ignored}")
    then = then.model_copy(update={"home": settings.home, "budget": settings.budget})
    if not earlier.replay or not earlier.harnesses:
        return then
    given = list(earlier.harnesses)
    return changed(then, adapt={"harness": given[0]}, evaluate={"harnesses": given})


def _kept(settings: Settings, command: str, name: str) -> Settings:
    """What the run's row holds. Raises as `as_begun`."""
    store = Store.existing(settings.home)
    try:
        row = store.run(name)
        within = row.parent if row.parent and store.run(row.parent).command == "compare" else None
        begun = history(store, row.id).start
    finally:
        store.close()
    if row.command != command or within:
        fit = f"loriner compare --resume {within}" if within else f"loriner {row.command}"
        raise ConfigError(f"run {row.id} cannot be resumed by `{command}`; use `{fit}`")
    then = Settings.model_validate(row.config)
    told = {"rounds": begun.plan["rounds"]} if begun is not None and command == "adapt" else {}
    return changed(then, adapt=told)  # it may have been given more since


def _ignored(now: Settings, then: Settings, earlier: Earlier) -> list[str]:
    """What is set now and was not then, or is given now as the default that it was not then."""
    default, was, told = _leaves(Settings()), _leaves(then), _named(earlier.given)
    if was["evaluate.suite"] is None:  # a run that kept its task where `adapt` does
        was["evaluate.suite"] = was["adapt.task"]
    return [
        f"{name} stays {was.get(name)}, not {value}"
        for name, value in _leaves(now).items()
        if value != was.get(name)
        and (value != default.get(name) or name in told)
        and name.partition(".")[0] not in ("home", "budget", "models", "suites")
        and not (name.endswith((".harness", ".harnesses")) and _known(now, earlier, value, was.get(name)))
    ]


def _known(now: Settings, earlier: Earlier, value: Any, was: Any) -> bool:
    """Whether a program is no other than that of the run, which a run knows by its id; or is taken."""
    if not earlier.resume or not earlier.harnesses:
        return True
    store = Store.existing(now.home)
    try:
        with suppress(LorinerError):
            found = find_harness(str(value), store, Registry.open(now.home), now.adapt.task)
            return bool(found.id == was)
    finally:
        store.close()
    return False


def _named(given: Mapping[str, Any]) -> set[str]:
    """The names of nested settings, such as `adapt.rounds`."""
    return {
        f"{table}.{name}" if name else table
        for table, within in given.items()
        for name in (within if isinstance(within, Mapping) else [""])
    }


def _leaves(settings: Settings) -> dict[str, Any]:
    """Each value under its name, such as `adapt.rounds`."""
    return {
        f"{table}.{name}" if name else table: value
        for table, within in settings.as_json().items()
        for name, value in (within.items() if isinstance(within, dict) else [("", within)])
    }
