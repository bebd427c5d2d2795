"""Revisions of how the model reasons: in parts, by a plan, from what is given, and checked afterwards."""

from __future__ import annotations

from loriner.propose.catalogue_entry import CatalogueEntry
from loriner.propose.facts import UNKNOWN, Facts
from loriner.propose.snippets.answer_form import form_in_words
from loriner.propose.snippets.literals import constant
from loriner.propose.snippets.new_solve import MOST, around
from loriner.propose.splicing import at_body, with_parts
from loriner.records import Fault

THEN_ANSWER = '''def solve(model, question):
    """The answer that a second call takes from a long piece of reasoning."""
    reasoning = model(question + "\\n\\nWork this out step by step and in full.", max_tokens=1000)
    prompt = (
        question + "\\n\\nReasoning:\\n" + reasoning[-3000:] + "\\n\\nAccording to this, what is the final "
        + "answer? Reply with the answer alone, in exactly the form that is asked for."
    )
    return model(prompt, max_tokens=300).strip() or unreasoned(model, question)
'''

GIVENS = '''def solve(model, question):
    """The answer as before, to the question with what it gives listed behind it."""
    listed = model(
        question + "\\n\\nList every fact, number and rule that this gives, one a line. Do not solve it.",
        max_tokens=400,
    )
    return unlisted(model, question + "\\n\\nWhat is given:\\n" + listed.strip())
'''

PLANNED = '''def solve(model, question):
    """The answer as before, to the question with a plan behind it."""
    plan = model(
        question + "\\n\\nDo not solve this yet. Write a plan of at most six short steps to the answer.",
        max_tokens=300,
    )
    return unplanned(model, question + "\\n\\nFollow this plan, step by step:\\n" + plan.strip())
'''

PARTED = '''def solve(model, question):
    """The answer as before, to the question with answers to its parts behind it."""
    asked = model(
        question + "\\n\\nWhich smaller questions have to be answered first? At most three, one a line.",
        max_tokens=150,
    )
    parts = [line.strip("-*0123456789. ") for line in asked.splitlines() if line.strip()][:3]
    known = ""
    for part in parts:
        reply = model(question + known + "\\n\\nAnswer only this part, briefly: " + part, max_tokens=250)
        known += "\\n\\n" + part + "\\n" + reply.strip()
    return unparted(model, question + "\\n\\nAnswers to parts of it:" + known)
'''

VERIFIED = '''def solve(model, question):
    """The answer as before, corrected where a check of it finds a mistake."""
    answer = str(unverified(model, question)).strip()
    review = model(
        question + "\\n\\nProposed answer:\\n" + answer[:1500] + "\\n\\nCheck it against every condition of "
        + "the question. End with one line: CORRECT, or WRONG and the right answer.", max_tokens=700,
    )
    last = [line for line in review.splitlines() if line.strip()][-1:] or [""]
    corrected = last[0].partition("WRONG")[2].strip(" :.*`")
    return corrected or answer
'''

SIMULATED = '''def solve(model, question):
    """The answer at the end of a simulation that the model writes down, state by state."""
    reply = model(
        question + "\\n\\nCarry out what is described one step at a time. After each step write the complete "
        + "state on a line. At the end write 'Answer:' and the answer alone, in the form that is asked for.",
        max_tokens=1000,
    )
    before, found, answer = reply.rpartition("Answer:")
    return answer.strip().strip("*`").strip() if found else unsimulated(model, question)
'''

CAREFUL = '''class Careful:
    """The model with an instruction in front of everything."""

    def __init__(self, model):
        self.model = model

    def __call__(self, prompt, **options):
        return self.model(prompt, **{"system": CARE, **options})

    def batch(self, prompts, **options):
        return self.model.batch(prompts, **{"system": CARE, **options})

    def chat(self, messages, **options):
        return self.model.chat([{"role": "system", "content": CARE}, *messages], **options)


def solve(model, question):
    """The answer as before, of a model that is told to take care."""
    return careless(Careful(model), question)
'''

CARE = (
    "You solve exact problems. Read every word of the task. Copy names, numbers and symbols exactly. Work in "
    "small steps and check each one. Give the answer in the very form that the task asks for, and no remark."
)

RESTATED = '''def solve(model, question):
    """The answer as before, to the question with its task put plainly in front."""
    plain = model(
        question + "\\n\\nSay in at most three plain sentences what has to be found here and in which form "
        + "it has to be written. Do not solve it.", max_tokens=200,
    )
    return unstated(model, plain.strip() + "\\n\\n" + question)
'''

WORDED = '''WAYS = [
    "",
    "\\n\\nAnswer with the answer alone.",
    "\\n\\nThink about it carefully, then write 'Answer:' and the answer alone on the last line.",
    "\\n\\nYou are an expert. Explain in a few lines, then write 'Answer:' and the answer on the last line.",
    "\\n\\nLook for a trap first. Then write 'Answer:' and the answer alone on the last line.",
]


def solve(model, question):
    """The most frequent answer to the question asked in several ways, and as before."""
    replies = model.batch([question + way for way in WAYS], max_tokens=500)
    answers = [reply.split("Answer:")[-1].strip("*` \\n") for reply in replies]
    return most_given([str(in_one_way(model, question)), *answers])
'''


def _then_answer(source: str, facts: Facts) -> str | None:
    return around(source, "unreasoned", THEN_ANSWER)


def _givens(source: str, facts: Facts) -> str | None:
    return around(source, "unlisted", GIVENS)


def _planned(source: str, facts: Facts) -> str | None:
    return around(source, "unplanned", PLANNED)


def _parted(source: str, facts: Facts) -> str | None:
    return around(source, "unparted", PARTED)


def _verified(source: str, facts: Facts) -> str | None:
    return around(source, "unverified", VERIFIED)


def _simulated(source: str, facts: Facts) -> str | None:
    return around(source, "unsimulated", SIMULATED)


def _careful(source: str, facts: Facts) -> str | None:
    return around(source, "careless", CAREFUL, (constant("CARE", CARE),))


def _restated(source: str, facts: Facts) -> str | None:
    return around(source, "unstated", RESTATED)


def _in_ways(source: str, facts: Facts) -> str | None:
    return around(source, "in_one_way", WORDED, (MOST,))


def _form_in_words(source: str, facts: Facts) -> str | None:
    words = constant("RIGHT_FORM", form_in_words(facts))
    if "\nRIGHT_FORM = " in source:
        return None
    revised = at_body(source, '    question += "\\n\\n" + RIGHT_FORM\n')
    return with_parts(revised, (words,))


def _reasoned(facts: Facts, *also: Fault) -> float:
    return facts.share(*UNKNOWN, *also)


ENTRIES = (
    CatalogueEntry(
        "form_in_words",
        "Say behind the question what right answers look like, with examples of them.",
        _form_in_words,
        lambda facts: 0.7 * facts.share(Fault.FORMAT, Fault.EXTRACTION),
    ),
    CatalogueEntry(
        "reason_then_answer",
        "Let the model reason at length first, and take the answer from that in a call of its own.",
        _then_answer,
        lambda facts: 0.37 * _reasoned(facts, Fault.EXTRACTION),
    ),
    CatalogueEntry(
        "state_by_state",
        "Have the model carry out what is described step by step, writing down the state after each.",
        _simulated,
        lambda facts: 0.33 * _reasoned(facts),
    ),
    CatalogueEntry(
        "what_is_given",
        "Have the model list what the question gives before it answers.",
        _givens,
        lambda facts: 0.31 * _reasoned(facts),
    ),
    CatalogueEntry(
        "plan_first",
        "Have the model make a plan, and answer along it.",
        _planned,
        lambda facts: 0.3 * _reasoned(facts),
    ),
    CatalogueEntry(
        "answer_in_parts",
        "Have the model name smaller questions, answer each, and answer the whole with these in view.",
        _parted,
        lambda facts: 0.29 * _reasoned(facts),
    ),
    CatalogueEntry(
        "verified_answer",
        "Have the model check the answer against every condition, and correct it where it is wrong.",
        _verified,
        lambda facts: 0.28 * _reasoned(facts),
    ),
    CatalogueEntry(
        "task_restated",
        "Have the model say plainly what is asked and in which form, and put that in front of the question.",
        _restated,
        lambda facts: 0.27 * _reasoned(facts, Fault.FORMAT),
    ),
    CatalogueEntry(
        "asked_in_several_ways",
        "Ask in five different ways, and return the most frequent answer.",
        _in_ways,
        lambda facts: 0.26 * _reasoned(facts),
    ),
    CatalogueEntry(
        "told_to_take_care",
        "Put an instruction in front of every call: read closely, copy exactly, keep to the form.",
        _careful,
        lambda facts: 0.25 * _reasoned(facts, Fault.FORMAT),
    ),
)
