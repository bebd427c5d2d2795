"""A made-up wiki: multi-hop questions over invented people, towns, regions, firms and works.

It needs no download, no model can know it, and it has any size. Things go by two names, pages mention what is
beside the point, and many names resemble one another.
"""

from __future__ import annotations

import hashlib

from loriner.errors import TaskError
from loriner.tasks.base import SPLITS, Split
from loriner.tasks.fictional.pages import page
from loriner.tasks.fictional.questions import MadeQuestion, make_questions
from loriner.tasks.fictional.world import World, make_world
from loriner.tasks.items import Item, ItemTask
from loriner.tasks.multihop.task import SHARES, open_card, score
from loriner.tasks.retrieval import Bm25
from loriner.tasks.scorer import InProcess
from loriner.tasks.splits import split_of

DEFAULT_PAGES = 600
DEFAULT_QUESTIONS = 240


def open_fictional(
    n_pages: int = DEFAULT_PAGES, *, n_questions: int = DEFAULT_QUESTIONS, seed: int = 0
) -> ItemTask:
    """The task `fictional`: questions of two to four hops with `search` over the pages.

    Questions that begin at the same thing are in one split.

    Raises:
        TaskError: a world too small.
        MissingExtra: bm25s is not installed.
    """
    if n_pages < 40:
        raise TaskError(f"a made-up world has at least 40 pages; asked for {n_pages}")
    world = make_world(n_pages, seed)
    name = "fictional" if (n_pages, seed) == (DEFAULT_PAGES, 0) else f"fictional:{n_pages}:{seed}"
    splits: dict[Split, list[Item]] = {split: [] for split in SPLITS}
    for question in make_questions(world, n_questions):
        splits[split_of(question.chain[0].name, SHARES)].append(_item(question))
    return ItemTask(open_card(name, index_of(world)), splits, InProcess(score))


def index_of(world: World) -> Bm25:
    """The index over all pages of a world."""
    return Bm25([page(thing, world) for thing in world.things])


def _item(question: MadeQuestion) -> Item:
    return {
        "id": hashlib.sha256(question.text.encode()).hexdigest()[:16],
        "question": question.text,
        "answer": list(question.answers),
        "dataset": "musique",  # whose rules of F1 it follows
    }
