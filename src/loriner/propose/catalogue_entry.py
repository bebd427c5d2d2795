"""An entry of the catalogue: one known revision, and when it is worth a try.

A revision rewrites a program's text. It returns None if it does not apply or was made already, and raises
`SyntaxError` for a program that does not compile. Whether the result compiles is checked where it is offered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loriner.propose.facts import Facts

Rewrite = Callable[[str, Facts], str | None]
"""Takes a program and the facts; returns the revised program, or None."""

Worth = Callable[[Facts], float]
"""How much a revision may gain, in [0, 1]: the higher, the earlier it is offered. Below 0: never."""


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One known revision."""

    name: str
    note: str
    """What it does, in one sentence, as a proposer would say it."""
    rewrite: Rewrite
    worth: Worth
    tools: tuple[str, ...] = ()
    """Tools that it needs."""

    @property
    def title(self) -> str:
        """The name in words: the first line of a completion."""
        return self.name.replace("_", " ").capitalize()
