"""The made-up wiki: the same everywhere, sound, and worth searching more than once."""

from __future__ import annotations

import hashlib
import re
from itertools import pairwise

import pytest

pytest.importorskip("bm25s")

from loriner.errors import TaskError
from loriner.tasks.base import SPLITS
from loriner.tasks.by_name import open_task
from loriner.tasks.check import check
from loriner.tasks.fictional import index_of, make_questions, make_world, open_fictional, page
from loriner.tasks.fictional.questions import MadeQuestion
from loriner.tasks.fictional.world import RELATIONS
from loriner.tasks.multihop.answer_match import normalise
from loriner.tasks.retrieval import Hit


@pytest.fixture(scope="module")
def world():
    return make_world(300, 7)


def share_of_evidence(question: MadeQuestion, hits: list[Hit]) -> float:
    found = {hit.passage.title for hit in hits}
    return sum(thing.name in found for thing in question.chain) / len(question.chain)


def test_a_world_is_the_same_everywhere():
    world = make_world(120, 3)
    text = "\n".join(page(thing, world).text for thing in world.things)
    text += "\n".join(question.text for question in make_questions(world, 50))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "8c634daf6c82bb30"
    assert page(make_world(120, 4).things[0], world).text not in text


@pytest.mark.parametrize("n_pages", [40, 41, 333])
def test_a_world_has_the_size_asked_for(n_pages):
    world = make_world(n_pages, 0)
    names = [name for thing in world.things for name in (thing.name, thing.by_name)]
    assert len(world.things) == n_pages
    assert len({normalise(name) for name in names}) == 2 * n_pages


def test_every_fact_stands_on_its_page_under_one_name_or_the_other(world):
    for thing in world.things:
        text = page(thing, world).text.lower()
        assert set(thing.facts) == set(RELATIONS[thing.kind])
        assert thing.name.lower() in text
        assert thing.by_name.lower() in text
        for other in thing.facts.values():
            assert other is not thing
            assert other.name.lower() in text or other.by_name.lower() in text


def test_an_answer_follows_from_its_chain_and_from_nothing_nearer(world):
    questions = make_questions(world, 200)
    assert len({question.text for question in questions}) == 200
    for question in questions:
        assert 2 <= len(question.chain) <= 4
        for one, next_one in pairwise(question.chain):
            assert next_one in one.facts.values()
        last = question.chain[-1]
        names = {name for thing in last.facts.values() for name in (thing.name, thing.by_name)} | {
            str(last.year)
        }
        assert set(question.answers) <= names
        assert question.chain[0].name in question.text or question.chain[0].by_name in question.text
        rest = question.text.replace(question.chain[0].name, "").replace(question.chain[0].by_name, "")
        assert not any(re.search(rf"\b{re.escape(answer)}\b", rest) for answer in question.answers)


def test_questions_take_two_to_four_facts_in_the_stated_shares(world):
    hops = [len(question.chain) for question in make_questions(world, 300)]
    assert hops.count(2) > hops.count(3) > hops.count(4) > 10


def test_one_search_is_not_enough_and_following_the_chain_is(world):
    index, questions = index_of(world), make_questions(world, 150)
    once, followed = [], []
    for question in questions:
        once.append(share_of_evidence(question, index.search(question.text, 5)))
        hits = index.search(question.text, 3)
        for thing in question.chain[1:]:
            hits += index.search(thing.name, 2)
        followed.append(share_of_evidence(question, hits))
    assert 0.25 < sum(once) / 150 < 0.55
    assert sum(followed) / 150 > 0.85


async def test_it_is_a_task():
    task = open_fictional(80, n_questions=120, seed=1)
    assert task.name == "fictional:80:1"
    assert (await check(task)).passed
    ids = [question.id for split in SPLITS for question in task.questions(split)]
    assert len(set(ids)) == len(ids) == 120
    question = task.questions("test")[0]
    scores = [await task.score(question, f"The {name}.") for name in question.target]
    assert [score.value for score in scores] == [1.0] * len(question.target)
    assert len(await task.tools["search"](query=question.text)) == 5


def test_splits_share_no_first_thing(world):
    task = open_fictional(300, seed=7)
    questions = {question.text: question for question in make_questions(world, 240)}
    starts = [{questions[q.text].chain[0].name for q in task.questions(split)} for split in SPLITS]
    assert sum(map(len, starts)) == len(set.union(*starts))


def test_worlds_open_by_name(tmp_path):
    assert open_task("fictional:50", home=tmp_path).name == "fictional:50:0"
    for name in ("fictional:ten", "fictional:50:1:2", "fictional:-5"):
        with pytest.raises(TaskError, match="expected fictional"):
            open_task(name, home=tmp_path)
    with pytest.raises(TaskError, match="at least 40 pages"):
        open_task("fictional:3", home=tmp_path)
