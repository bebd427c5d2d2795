"""How hard the made-up wiki is for a small model: without passages, with one search, with more hops.

    python experiments/fictional.py MODEL.gguf [--questions 16] [--pages 600]

Each setting shows at most five passages. `one hop more` also searches for the second thing of the chain,
`every hop` for each of them: what a harness can win that reads off what to search for next.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
from collections.abc import Callable
from pathlib import Path

from loriner.models.base import Message, Model, ModelRequest
from loriner.models.llama import LlamaModel
from loriner.tasks.fictional import index_of, make_questions, make_world
from loriner.tasks.fictional.questions import MadeQuestion
from loriner.tasks.multihop.answer_match import exact_match, f1
from loriner.tasks.retrieval import Bm25, Passage

Setting = Callable[[Bm25, MadeQuestion], list[Passage]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--questions", type=int, default=16)
    parser.add_argument("--pages", type=int, default=600)
    asyncio.run(measure(parser.parse_args()))


async def measure(given: argparse.Namespace) -> None:
    world = make_world(given.pages, 0)
    index, questions = index_of(world), make_questions(world, given.questions)
    model = LlamaModel(given.model)
    print(f"{given.model.name}, {given.pages} pages, {given.questions} questions")
    print(f"{'setting':14} {'EM':>6} {'F1':>6} {'evidence':>9}")
    for name, setting in SETTINGS.items():
        print(f"{name:14} {await row(model, index, questions, setting)}", flush=True)
    await model.close()


async def row(model: Model, index: Bm25, questions: list[MadeQuestion], setting: Setting) -> str:
    em, partial, evidence = [], [], []
    for question in questions:
        passages = list(dict.fromkeys(setting(index, question)))[:5]
        answer = await ask(model, question.text, passages)
        em.append(exact_match(answer, question.answers))
        partial.append(f1(answer, question.answers, dataset="musique"))
        titles = {passage.title for passage in passages}
        evidence.append(sum(thing.name in titles for thing in question.chain) / len(question.chain))
    return f"{statistics.fmean(em):6.2f} {statistics.fmean(partial):6.2f} {statistics.fmean(evidence):9.2f}"


async def ask(model: Model, question: str, passages: list[Passage]) -> str:
    shown = "\n\n".join(f"{passage.title}\n{passage.text}" for passage in passages)
    prompt = f"{shown}\n\nQuestion: {question}\nReply with the name or the year only, in <answer></answer>."
    request = ModelRequest(messages=(Message("user", prompt.strip()),), max_tokens=32)
    text = (await model.complete(request)).text
    found = re.search(r"<answer>(.*?)(</answer>|$)", text, re.DOTALL)
    return (found.group(1) if found else text).strip()


def found(index: Bm25, query: str, k: int) -> list[Passage]:
    return [hit.passage for hit in index.search(query, k)]


def hops(index: Bm25, question: MadeQuestion, n: int) -> list[Passage]:
    """Passages for the question, after the best one for each of the first n things that follow its first."""
    named = [passage for thing in question.chain[1 : n + 1] for passage in found(index, thing.name, 1)]
    return found(index, question.text, 1) + named + found(index, question.text, 5)


SETTINGS: dict[str, Setting] = {
    "no passage": lambda index, question: [],
    "one search": lambda index, question: found(index, question.text, 5),
    "one hop more": lambda index, question: hops(index, question, 1),
    "every hop": lambda index, question: hops(index, question, 3),
}


if __name__ == "__main__":
    main()
