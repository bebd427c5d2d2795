"""A made-up world: people, towns, regions, firms and works, and the facts that tie them together."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from loriner.seeding import generator
from loriner.tasks.fictional.names import Namer

SHARES: Mapping[str, float] = {"region": 0.05, "town": 0.2, "firm": 0.15, "work": 0.25, "person": 0.35}
"""How the pages are divided among the kinds."""

RELATIONS: Mapping[str, Mapping[str, str]] = {
    "work": {"author": "person", "publisher": "firm", "setting": "town"},
    "person": {"birthplace": "town", "employer": "firm", "teacher": "person"},
    "firm": {"founder": "person", "seat": "town"},
    "town": {"region": "region", "mayor": "person"},
    "region": {"capital": "town"},
}
"""kind → relation → kind of its object. Each thing has exactly one object for each of its relations."""

YEARS: Mapping[str, str] = {"work": "published", "person": "born", "firm": "founded", "town": "chartered"}
"""kind → what its year tells."""


@dataclass(slots=True, eq=False)
class Thing:
    """Whatever has a page."""

    kind: str
    name: str
    by_name: str
    """Another name, told on its own page only; other pages may use it."""
    year: int
    facts: dict[str, Thing] = field(default_factory=dict, repr=False)
    """relation → object."""


@dataclass(frozen=True, slots=True)
class World:
    """All things of a world, in a fixed order."""

    things: tuple[Thing, ...]
    seed: int

    def of_kind(self, kind: str) -> list[Thing]:
        return [thing for thing in self.things if thing.kind == kind]


def make_world(n_pages: int, seed: int) -> World:
    """The world of `n_pages` things (at least 40) that this seed makes, the same everywhere."""
    draw = generator(seed, "fictional", n_pages)
    namer = Namer(draw)
    counts = {kind: max(2, round(n_pages * share)) for kind, share in SHARES.items()}
    counts["person"] += n_pages - sum(counts.values())
    things = [
        Thing(kind, namer.name(kind), namer.by_name(kind), draw.randrange(1780, 1990))
        for kind, count in counts.items()
        for _ in range(count)
    ]
    by_kind = {kind: [thing for thing in things if thing.kind == kind] for kind in SHARES}
    for thing in things:
        for relation, kind in RELATIONS[thing.kind].items():
            thing.facts[relation] = _other(by_kind[kind], thing, draw)
    return World(tuple(things), seed)


def _other(things: list[Thing], than: Thing, draw: random.Random) -> Thing:
    while (thing := draw.choice(things)) is than:
        pass
    return thing
