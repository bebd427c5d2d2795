"""Revisions that show the model answered questions: fixed ones, or those nearest to the question."""

from __future__ import annotations

from loriner.propose.catalogue_entry import CatalogueEntry
from loriner.propose.facts import UNKNOWN, Facts
from loriner.propose.snippets.answer_of_reply import asked_first, filled, settled
from loriner.propose.snippets.literals import constants, cut
from loriner.propose.splicing import answered_first, with_parts, with_tool, wrapped
from loriner.records import Fault

LOST_TO_FORM = (*UNKNOWN, Fault.EXTRACTION, Fault.FORMAT)
SHAPED = {"choice": 1.0, "json": 1.0, "date": 0.8, "line": 0.7, "number": 0.3, "integer": 0.2, "text": 0.4}
"""How far a shape of answer is shown by examples, as opposed to computed."""
MOST_FIXED = 3_000
"""Characters of the examples that a program holds."""
MOST_SHOWN = 1_600
"""Characters of the examples in a prompt. A small model on a CPU reads some 60 tokens a second: these take it
seven seconds, and every question of a search pays them."""
LONGEST = 700
"""Characters of a question in an example."""

SHOWN = f'''
def shown(question, answer=""):
    """A question with its answer, or with room for one."""
    text = question if len(question) <= {LONGEST} or not answer else question[:{LONGEST}] + " …"
    return ("Question: " + text + "\\nAnswer: " + answer).strip()
'''
NEAREST = '''
def by_examples(model, question):
    """The model's answer at the end of a talk in which the questions most like this one are answered."""
    turns = [("system", TASK)]
    for each in examples(question, k={k})[::-1]:  # the nearest last
        turns += [("user", each["question"][:{longest}]), ("assistant", each["answer"])]
    messages = [{{"role": role, "content": text}} for role, text in [*turns, ("user", question)]]
    return {call}(model.chat(messages, {options}))
'''
FIXED = '''
def by_fixed_examples(model, question):
    """The model's answer at the end of a talk in which a few unlike questions are answered."""
    turns = [("system", TASK)]
    for asked, answer in EXAMPLES:
        turns += [("user", asked), ("assistant", answer)]
    messages = [{{"role": role, "content": text}} for role, text in [*turns, ("user", question)]]
    return {call}(model.chat(messages, {options}))
'''
IN_PROMPT = '''
def by_examples_in_prompt(model, question):
    """The model's answer to the question behind those most like it, in one prompt, the nearest last."""
    near = examples(question, k={k})[::-1]
    parts = [TASK, *(shown(each["question"], each["answer"]) for each in near), shown(question)]
    return {call}(model("\\n\\n".join(parts), {options}))
'''
ALIKE = '''
def as_the_nearest(model, question):
    """The answer that most of the three nearest questions have; of several, that of the nearest."""
    answers = [each["answer"] for each in examples(question, k=3)]
    return max(answers, key=answers.count) if answers else ""
'''


def _asked(source: str, facts: Facts, code: str, *parts: str) -> str | None:
    """The program that first asks with the examples nearest to the question."""
    revised = asked_first(source, facts, code, *parts, k=_count(facts), longest=LONGEST)
    return None if revised is None else with_tool(revised, "examples")


def _count(facts: Facts) -> int:
    """Examples to show: more of short ones, within `MOST_SHOWN` characters or so."""
    sizes = [min(LONGEST, len(question)) + len(answer) for question, answer in facts.examples] or [400]
    return max(2, min(8, MOST_SHOWN * len(sizes) // max(1, sum(sizes))))


def _nearest(source: str, facts: Facts) -> str | None:
    return _asked(source, facts, NEAREST)


def _in_prompt(source: str, facts: Facts) -> str | None:
    return _asked(source, facts, IN_PROMPT, SHOWN)


def _fixed(source: str, facts: Facts) -> str | None:
    pairs: list[tuple[str, str]] = []
    for question, answer in facts.examples[: _count(facts)]:
        pair = (cut(question, LONGEST), answer)
        if sum(len(text) for each in pairs for text in each) + sum(map(len, pair)) <= MOST_FIXED:
            pairs.append(pair)
    return asked_first(source, facts, FIXED, constants("EXAMPLES", pairs)) if pairs else None


def _copied(source: str, facts: Facts) -> str | None:
    revised = answered_first(source, "as_the_nearest", [ALIKE])
    return None if revised is None else with_tool(revised, "examples")


FALL_BACK = '''
def solve(model, question):
    """The answer, or that of the nearest answered question where there is none of the right shape."""
    answer = str(without_example(model, question))
    return {call}(answer) or as_the_nearest(model, question) or answer
'''


def _fall_back(source: str, facts: Facts) -> str | None:
    """For every shape but one line and text, whose functions take anything for an answer."""
    if facts.shape in ("line", "text"):
        return None
    revised = wrapped(source, "without_example", filled(facts, FALL_BACK).lstrip())
    return revised and with_tool(with_parts(revised, (*settled(facts).parts, ALIKE)), "examples")


def _shaped(facts: Facts, *cured: Fault) -> float:
    return facts.fresh * SHAPED[facts.shape] * (0.4 if facts.searches else 1.0) * facts.share(*cured)


ENTRIES = (
    CatalogueEntry(
        "nearest_examples",
        "Ask at the end of a talk in which the questions most like this one are answered.",
        _nearest,
        lambda facts: 0.95 * _shaped(facts, *LOST_TO_FORM),
        tools=("examples",),
    ),
    CatalogueEntry(
        "fixed_examples",
        "Ask at the end of a talk in which a few questions with unlike answers are answered.",
        _fixed,
        lambda facts: 0.75 * _shaped(facts, *LOST_TO_FORM),
    ),
    CatalogueEntry(
        "examples_in_prompt",
        "Ask behind the answered questions most like this one, all in one prompt.",
        _in_prompt,
        lambda facts: 0.7 * _shaped(facts, *LOST_TO_FORM),
        tools=("examples",),
    ),
    CatalogueEntry(
        "nearest_as_fallback",
        "Where the answer has not the shape of right ones, return that of the nearest answered question.",
        _fall_back,
        lambda facts: 0.4 / facts.fresh * _shaped(facts, *LOST_TO_FORM),
        tools=("examples",),
    ),
    CatalogueEntry(
        "answer_of_the_nearest",
        "Return the answer that most of the three nearest answered questions have, and ask no model.",
        _copied,
        lambda facts: 0.6 * _shaped(facts, *LOST_TO_FORM) if facts.shape == "choice" else 0.0,
        tools=("examples",),
    ),
)
