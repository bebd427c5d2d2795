"""The options that every command takes, wherever they stand on the line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loriner.config import Settings
    from loriner.store.database import Store

_WITH_VALUE = frozenset({"--home", "--config", "--set", "--seed"})
_ALONE = frozenset({"--json", "--offline", "-q", "--quiet", "-v", "--verbose"})


def hoisted(arguments: Sequence[str]) -> list[str]:
    """The arguments with the global options moved to the front, where the root command reads them."""
    front, rest = _parted(arguments)
    return [*front, *rest]


def verb(arguments: Sequence[str]) -> str:
    """The command that is asked for: the first word that belongs to no global option; empty without one."""
    return next(iter(_parted(arguments)[1]), "")


def _parted(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The global options with their values, and the rest."""
    front: list[str] = []
    rest: list[str] = []
    remaining = list(arguments)
    while remaining:
        each = remaining.pop(0)
        if each == "--":
            return front, [*rest, each, *remaining]
        if each in _WITH_VALUE:
            front += [each, *remaining[:1]]
            del remaining[:1]
        elif each in _ALONE or each.partition("=")[0] in _WITH_VALUE:
            front.append(each)
        else:
            rest.append(each)
    return front, rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Globals:
    """The global options as given; None means: not given."""

    home: Path | None
    config: Path | None
    assignments: tuple[str, ...]
    json: bool
    seed: int | None
    offline: bool | None
    verbosity: int
    """-1 quiet, 0, 1 verbose."""
    flags: Mapping[str, Any] = field(default_factory=dict)
    """The settings that were given as options of the command, nested as in `loriner.toml`."""

    def settings(self, **flags: Any) -> Settings:
        """The settings with the file, the environment, `--set` and the given flags laid over the defaults.

        Raises:
            ConfigError: as `loriner.config.load`.
        """
        from loriner import config

        loaded = config.load(self.config, self.assignments)
        return config.changed(loaded, home=self.home, seed=self.seed, offline=self.offline, **flags)

    @property
    def told(self) -> Mapping[str, Any]:
        """The settings that were given on the line, nested as in `loriner.toml`."""
        return {**self.flags, **({} if self.seed is None else {"seed": self.seed})}

    @contextmanager
    def store(self) -> Iterator[Store]:
        """The store of the home directory, to be read, closed afterwards. Raises as `Store.existing`."""
        from loriner.store.database import Store

        opened = Store.existing(self.settings().home)
        try:
            yield opened
        finally:
            opened.close()
