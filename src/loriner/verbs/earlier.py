"""A run that is gone on with, or done again from its record: the settings that it began with."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from loriner.config import Settings, changed
from loriner.errors import ConfigError
from loriner.store.database import Store

logger = logging.getLogger("loriner")


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """Which run, by its id or a part of it; none for a run that begins."""

    resume: str | None = None
    replay: str | None = None
    harnesses: tuple[str, ...] = ()
    """What a replay takes in place of the programs that the run began with."""


FRESH = Earlier()


def as_begun(settings: Settings, command: str, earlier: Earlier) -> Settings:
    """The settings of the run that is resumed or replayed, or those given if none is.

    Home and budget are taken from now, and so are the harnesses of a replay. What else is set now and was not
    then is logged: it changes nothing.

    Raises:
        ConfigError: no such run, one of another command, or both are asked.
    """
    if earlier.resume is not None and earlier.replay is not None:
        raise ConfigError("--resume goes on with a run, --replay does one again: give one of them")
    name = earlier.resume or earlier.replay
    if name is None:
        return settings
    then = _kept(settings, command, name)
    for ignored in _ignored(settings, then):
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
    finally:
        store.close()
    if row.command != command or within:
        fit = f"loriner compare --resume {within}" if within else f"loriner {row.command}"
        raise ConfigError(f"run {row.id} cannot be resumed by `{command}`; use `{fit}`")
    return Settings.model_validate(row.config)


def _ignored(now: Settings, then: Settings) -> list[str]:
    """What is set now and was not then, but for the program, which a run knows by its id."""
    default, was = _leaves(Settings()), _leaves(then)
    if was["evaluate.suite"] is None:  # a run that kept its task where `adapt` does
        was["evaluate.suite"] = was["adapt.task"]
    return [
        f"{name} stays {was.get(name)}, not {value}"
        for name, value in _leaves(now).items()
        if value not in (default.get(name), was.get(name))
        and name.partition(".")[0] not in ("home", "budget", "models", "suites")
        and not name.endswith((".harness", ".harnesses"))
    ]


def _leaves(settings: Settings) -> dict[str, Any]:
    """Each value under its name, such as `adapt.rounds`."""
    return {
        f"{table}.{name}" if name else table: value
        for table, within in settings.as_json().items()
        for name, value in (within.items() if isinstance(within, dict) else [("", within)])
    }
