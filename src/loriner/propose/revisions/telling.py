"""Revisions that tell the model what the task asks: its description, its options, its keys, its form."""

from __future__ import annotations

import re
from collections.abc import Callable

from loriner.propose.catalogue_entry import CatalogueEntry
from loriner.propose.facts import UNKNOWN, Facts
from loriner.propose.snippets.answer_of_reply import asked_first, filled, settled
from loriner.propose.snippets.literals import constant, cut, table
from loriner.propose.splicing import after_rewording, at_body, with_parts, wrapped
from loriner.records import Fault

DIRECT = '''
def by_the_task(model, question):
    """The model's answer to the question behind the words of the task, and nothing but the answer."""
    return {call}(model("\\n\\n".join([question, TASK]), {options}))
'''
FIELD_BY_FIELD = '''
def by_fields(model, question):
    """The object that the model fills key by key, each asked for alone."""
    asked = [
        question + "\\n\\nWhat is the " + name + " (" + KINDS[name] + ")? Answer with it alone, or with null."
        for name in KINDS
    ]
    values = [reply.strip().strip('"') for reply in model.batch(asked, max_tokens=48, stop="\\n")]
    return json.dumps(repaired(dict(zip(KINDS, values))), ensure_ascii=False)
'''
TOLD = '''
class Told:
    """The model with the description of the task before each prompt."""

    def __init__(self, model):
        self.model = model

    def __call__(self, prompt, **options):
        return self.model(DESCRIPTION + "\\n\\n" + prompt, **options)
'''
AS_SYSTEM = '''
class Instructed:
    """The model with the description of the task as its system message."""

    def __init__(self, model):
        self.model = model

    def __call__(self, prompt, **options):
        return self.model(prompt, **{"system": DESCRIPTION, **options})
'''
BY_SHAPE = '''
def solve(model, question):
    """The answer in the shape of right ones; as it is where it does not hold one."""
    answer = str(unshaped(model, question))
    return {call}(answer) or answer
'''
CHECKED = '''
def solve(model, question):
    """The answer; where the model finds it wrong on a second look, one that it gives instead."""
    answer = str(unchecked(model, question))
    asked = question + "\\n\\nProposed answer: " + answer
    verdict = model(asked + "\\n\\nIs the proposed answer right? Reply yes or no.", max_tokens=4)
    if not verdict.strip().lower().startswith("no"):
        return answer
    return {call}(model(asked + "\\n\\nThis is wrong. " + WORDS, {options})) or answer
'''


def _direct(source: str, facts: Facts) -> str | None:
    return asked_first(source, facts, DIRECT)


def _by_fields(source: str, facts: Facts) -> str | None:
    if not facts.fields:
        return None
    kinds = {each.name: each.in_words for each in facts.fields}
    return asked_first(source, facts, FIELD_BY_FIELD, table("KINDS", kinds))


def _description(source: str, facts: Facts) -> str | None:
    """Before the question; before each prompt where the question is searched for as it stands."""
    if re.search(r"(?<![.\w])search\(", source):
        return _with_class(source, facts, TOLD, "Told")
    if not facts.description or _tells(source):
        return None
    line = '    question = DESCRIPTION + "\\n\\n" + question\n'
    return after_rewording(with_parts(source, [_described(facts)]), line)


def _system(source: str, facts: Facts) -> str | None:
    return _with_class(source, facts, AS_SYSTEM, "Instructed")


def _with_class(source: str, facts: Facts, code: str, name: str) -> str | None:
    """The program whose model is wrapped; one that talks in turns or batches keeps its own."""
    if not facts.description or _tells(source) or re.search(r"model\.(chat|batch)", source):
        return None
    return at_body(with_parts(source, [_described(facts), code]), f"    model = {name}(model)\n")


def _tells(source: str) -> bool:
    """Whether the program holds the description already, from here or from a revision that asks with it."""
    return re.search(r"(?m)^(DESCRIPTION|TASK) = ", source) is not None


def _described(facts: Facts) -> str:
    return constant("DESCRIPTION", cut(facts.description, 1500))


def _by_shape(source: str, facts: Facts) -> str | None:
    revised = wrapped(source, "unshaped", filled(facts, BY_SHAPE).lstrip())
    return revised and with_parts(revised, settled(facts).parts)


def _checked(source: str, facts: Facts) -> str | None:
    revised = wrapped(source, "unchecked", filled(facts, CHECKED).lstrip())
    return revised and with_parts(revised, (*settled(facts).parts, constant("WORDS", settled(facts).words)))


def _of(*shapes: str) -> Callable[[Facts], float]:
    """1.0 for answers of these shapes, 0.0 for others."""
    return lambda facts: float(facts.shape in shapes)


_TOLD_LITTLE = (*UNKNOWN, Fault.FORMAT, Fault.EXTRACTION)

ENTRIES = (
    CatalogueEntry(
        "options_named",
        "Name the answers that were seen as a list of choices, and return the nearest of them.",
        _direct,
        lambda facts: facts.fresh * 0.7 * _of("choice")(facts) * facts.share(*_TOLD_LITTLE),
    ),
    CatalogueEntry(
        "keys_named",
        "Name the keys and types of right answers, and repair the object that comes back field by field.",
        _direct,
        lambda facts: facts.fresh * 0.8 * _of("json")(facts) * facts.share(*_TOLD_LITTLE),
    ),
    CatalogueEntry(
        "answer_only",
        "Ask for the answer alone, in the words of the task, with little room and an end to it.",
        _direct,
        lambda facts: facts.fresh * 0.5 * _of("line", "date", "number")(facts) * facts.share(*_TOLD_LITTLE),
    ),
    CatalogueEntry(
        "nearest_option",
        "Return the option that is nearest to the answer.",
        _by_shape,
        lambda facts: 0.55 * _of("choice")(facts) * facts.share(*_TOLD_LITTLE),
    ),
    CatalogueEntry(
        "object_repaired",
        "Read the object in the answer and repair it field by field: keys, numbers, dates.",
        _by_shape,
        lambda facts: 0.6 * _of("json")(facts) * facts.share(*_TOLD_LITTLE),
    ),
    CatalogueEntry(
        "typed_answer",
        "Return the number or the date in the answer, written as right answers are.",
        _by_shape,
        lambda facts: 0.7 * _of("date", "number")(facts) * facts.share(Fault.FORMAT, Fault.EXTRACTION),
    ),
    CatalogueEntry(
        "field_by_field",
        "Ask for each key of the object alone, and put the object together.",
        _by_fields,
        lambda facts: facts.fresh * 0.5 * _of("json")(facts) * facts.share(*_TOLD_LITTLE),
    ),
    CatalogueEntry(
        "description_first",
        "Put the description of the task before the question.",
        _description,
        lambda facts: 0.45 * facts.share(*_TOLD_LITTLE),
    ),
    CatalogueEntry(
        "description_as_system",
        "Give the model the description of the task as its system message.",
        _system,
        lambda facts: 0.3 * facts.share(*_TOLD_LITTLE),
    ),
    CatalogueEntry(
        "second_look",
        "Ask whether the answer is right, and for another one where it is not.",
        _checked,
        lambda facts: 0.2 * facts.share(*UNKNOWN),
    ),
)
