"""Questions over two to four facts of a made-up world, with their evidence."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from loriner.seeding import generator
from loriner.tasks.fictional.pages import mention
from loriner.tasks.fictional.world import RELATIONS, YEARS, Thing, World

_PHRASES: Mapping[str, Sequence[str]] = {
    "author": ("the author of {x}", "the person who wrote {x}"),
    "publisher": ("the publisher of {x}", "the firm that published {x}"),
    "setting": ("the town where {x} is set", "the town in which the story of {x} takes place"),
    "birthplace": ("the birthplace of {x}", "the town where {x} was born"),
    "employer": ("the employer of {x}", "the firm that {x} works for"),
    "teacher": ("the teacher of {x}", "the person who taught {x}"),
    "founder": ("the founder of {x}", "the person who founded {x}"),
    "seat": ("the town where {x} has its seat", "the town in which {x} is based"),
    "region": ("the region in which {x} lies", "the region that {x} belongs to"),
    "mayor": ("the mayor of {x}", "the person who is mayor of {x}"),
    "capital": ("the capital of {x}", "the town from which {x} is governed"),
}

_YEAR_QUESTIONS: Mapping[str, str] = {
    "published": "In which year did {x} come out?",
    "born": "In which year was {x} born?",
    "founded": "In which year was {x} founded?",
    "chartered": "In which year did {x} receive its charter?",
}

_HOPS = (2, 2, 2, 3, 3, 4)
"""Drawn from: half of the questions take two facts."""


@dataclass(frozen=True, slots=True)
class MadeQuestion:
    """A question, what is right, and the things on whose pages the facts stand."""

    text: str
    answers: tuple[str, ...]
    chain: tuple[Thing, ...]
    """From the thing that the question names; the answer is the last one's fact."""


def make_questions(world: World, n: int) -> list[MadeQuestion]:
    """At most n questions, all different, about two for each thing named."""
    questions: dict[str, MadeQuestion] = {}
    for question in _endless(world, n):
        questions.setdefault(question.text, question)
        if len(questions) == n:
            break
    return list(questions.values())


def _endless(world: World, n: int) -> Iterator[MadeQuestion]:
    draw = generator(world.seed, "questions", len(world.things))
    starts = [thing for thing in world.things if thing.kind != "region"]
    for _ in range(4 * n // len(starts) + 4):
        draw.shuffle(starts)
        for start in starts:
            question = _question(start, draw)
            if question is not None:
                yield question


def _question(start: Thing, draw: random.Random) -> MadeQuestion | None:
    """A question that begins at a thing; None when its chain comes back to a thing it has passed."""
    phrase, chain = mention(start, draw), [start]
    for _ in range(draw.choice(_HOPS) - 1):
        relation = draw.choice(sorted(RELATIONS[chain[-1].kind]))
        phrase = draw.choice(_PHRASES[relation]).format(x=phrase)
        chain.append(chain[-1].facts[relation])
    relation = draw.choice(sorted([*chain[-1].facts, *_year_of(chain[-1])]))
    answer = chain[-1].facts.get(relation)
    if len(set(chain)) < len(chain) or answer in chain:
        return None
    if answer is None:
        text, answers = _YEAR_QUESTIONS[relation].format(x=phrase), [str(chain[-1].year)]
    else:
        asked = draw.choice(_PHRASES[relation]).format(x=phrase)
        text = f"{'Who' if answer.kind == 'person' else 'What'} is {asked}?"
        answers = [answer.name, answer.by_name]
    return MadeQuestion(text, tuple(answers), tuple(chain))


def _year_of(thing: Thing) -> list[str]:
    return [YEARS[thing.kind]] if thing.kind in YEARS else []
