"""The world's pages: what they tell, in varied wording, with things beside the point."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from loriner.seeding import generator
from loriner.tasks.fictional.world import YEARS, Thing, World
from loriner.tasks.retrieval import Passage

_OPENINGS: Mapping[str, Sequence[str]] = {
    "person": ("{x}, known as {by}, is a public figure.", "{x} is better known to many as {by}."),
    "town": ("{x} is a town, often called {by}.", "Maps show the town of {x}, which people call {by}."),
    "region": ("{x}, or {by}, is a region.", "The region of {x} also goes by the name of {by}."),
    "firm": ("{x} is a firm, traded as {by}.", "Customers of the firm {x} know it as {by}."),
    "work": ("{x} is a novel, first announced as {by}.", "The novel {x} had the working title {by}."),
}

_FACTS: Mapping[str, Sequence[str]] = {
    "author": ("It was written by {o}.", "{o} is its author.", "The manuscript came from the pen of {o}."),
    "publisher": ("{o} published it.", "It appeared with {o}.", "The rights went to {o}."),
    "setting": ("The story takes place in {o}.", "It is set in {o}.", "All its chapters play out in {o}."),
    "birthplace": (
        "{x} was born in {o}.",
        "{o} is the birthplace of {x}.",
        "{x} came into the world in {o}.",
    ),
    "employer": (
        "{x} works for {o}.",
        "{o} is the employer of {x}.",
        "Since youth {x} has earned a living at {o}.",
    ),
    "teacher": ("{x} was taught by {o}.", "{x} studied under {o}.", "{o} was the teacher of {x}."),
    "founder": ("It was founded by {o}.", "{o} set it up.", "Its founder is {o}."),
    "seat": ("Its seat is in {o}.", "It has its head office in {o}.", "The firm is based in {o}."),
    "region": ("It lies in {o}.", "It belongs to {o}.", "{x} is part of {o}."),
    "mayor": ("Its mayor is {o}.", "{o} is mayor of the town.", "The town hall is led by {o}."),
    "capital": ("Its capital is {o}.", "It is governed from {o}.", "{o} is the capital."),
}

_YEARS: Mapping[str, Sequence[str]] = {
    "published": ("It came out in {year}.", "The first printing is dated {year}."),
    "born": ("The year of birth was {year}.", "{x} was born in the year {year}."),
    "founded": ("It was founded in {year}.", "Business began in {year}."),
    "chartered": ("It received its charter in {year}.", "The town's charter dates from {year}."),
}

_ASIDES = (
    "A visit to {z} in {year} was much talked about.",
    "There is a long quarrel with {z} over a portrait.",
    "A letter that mentions {z} was sold at auction in {year}.",
    "Rumours of a tie to {z} were never confirmed.",
    "Some people mix it up with {z}.",
    "An exhibition of {year} named {z} in the same breath.",
)


def page(thing: Thing, world: World) -> Passage:
    """The page of a thing: a title and about seven sentences."""
    draw = generator(world.seed, "page", thing.name)
    facts = [
        draw.choice(_FACTS[relation]).format(x=thing.name, o=mention(other, draw))
        for relation, other in thing.facts.items()
    ]
    if thing.kind in YEARS:
        facts.append(draw.choice(_YEARS[YEARS[thing.kind]]).format(x=thing.name, year=thing.year))
    asides = [_aside(thing, world, draw) for _ in range(draw.randint(1, 3))]
    body = facts + asides
    draw.shuffle(body)
    opening = draw.choice(_OPENINGS[thing.kind]).format(x=thing.name, by=thing.by_name)
    return Passage(thing.name, " ".join(map(_sentence, [opening, *body])))


def mention(thing: Thing, draw: random.Random) -> str:
    """How another page speaks of a thing: by its name, one time in four by its by-name."""
    return thing.by_name if draw.random() < 0.25 else thing.name


def _aside(thing: Thing, world: World, draw: random.Random) -> str:
    near = set(thing.facts.values()) | {thing}
    while (other := draw.choice(world.things)) in near:
        pass
    return draw.choice(_ASIDES).format(z=mention(other, draw), year=draw.randrange(1780, 1990))


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
