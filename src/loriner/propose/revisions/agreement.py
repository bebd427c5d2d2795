"""Revisions that answer in two ways and take what they agree on, what fits, or what examples speak for."""

from __future__ import annotations

from loriner.propose.catalogue_entry import CatalogueEntry
from loriner.propose.facts import UNKNOWN, Facts
from loriner.propose.snippets.answer_form import fits_part
from loriner.propose.snippets.new_solve import MOST, SAME, WRITES, around
from loriner.records import Fault

PROGRAM_IF_FIT = '''def solve(model, question):
    """What a program for the question prints, where that is made as right answers are; else as before."""
    printed = printed_by(model(program_prompt(question), max_tokens=400))
    return printed if fits(printed) else unprogrammed(model, question)
'''

DIRECT_IF_FIT = '''def solve(model, question):
    """The answer as before, where it is made as right answers are; else what a program prints."""
    answer = str(asked_first(model, question)).strip()
    if fits(answer):
        return answer
    printed = printed_by(model(program_prompt(question), max_tokens=400))
    return printed if fits(printed) else printed or answer
'''

AGREED = '''def solve(model, question):
    """What a program and the answer as before agree on; else most of these and three programs."""
    prompt = program_prompt(question)
    answer = str(on_its_own(model, question)).strip()
    printed = printed_by(model(prompt, max_tokens=400))
    if printed and same(printed, answer):
        return answer
    more = [printed_by(reply) for reply in model(prompt, n=3, temperature=0.8, max_tokens=400)]
    return most_given([printed, answer, *more])
'''

TWO_PROGRAMS = '''def solve(model, question):
    """What two programs agree on that were asked for in different words; else as before."""
    prompt = program_prompt(question)
    other = prompt + "\\nTry every possibility, and print the one that fits all that the task says."
    one, two = [printed_by(reply) for reply in model.batch([prompt, other], max_tokens=500)]
    return one if one and same(one, two) else undisputed(model, question)
'''

JUDGED = '''def solve(model, question):
    """What a program and the answer as before agree on; else the one that the model chooses."""
    answer = str(unjudged(model, question)).strip()
    printed = printed_by(model(program_prompt(question), max_tokens=400))
    if not printed or same(printed, answer):
        return answer
    prompt = (
        question + "\\n\\nTwo answers were given.\\nA: " + answer[:600] + "\\nB: " + printed[:600]
        + "\\n\\nCheck both against the question. Which one is right? Reply with A or B."
    )
    return printed if model(prompt, max_tokens=4).strip().upper().startswith("B") else answer
'''

MIXED = '''def solve(model, question):
    """The most frequent of answers that were found in different ways: as before, by programs, in steps."""
    prompt = program_prompt(question)
    steps = question + "\\n\\nThink step by step. Then write 'Answer:' and the answer alone on the last line."
    reasoned = [reply.split("Answer:")[-1].strip().strip("*`. ") for reply in
                model(steps, n=2, temperature=0.8, max_tokens=700)]
    replies = [model(prompt, max_tokens=400), *model(prompt, n=2, temperature=0.8, max_tokens=400)]
    programs = [printed_by(reply) for reply in replies]
    return most_given([*programs, str(one_way(model, question)), *reasoned])
'''

BEST_WAY = '''def solve(model, question):
    """The answer found in the way that is right more often on the shown examples: as before, or a program."""
    shown = examples(k=4)
    before = sum(same(first_way(model, each["question"]), each["answer"]) for each in shown)
    prompts = [program_prompt(each["question"]) for each in shown]
    printed = [printed_by(reply) for reply in model.batch(prompts, max_tokens=400)] if prompts else []
    programs = sum(same(one, each["answer"]) for one, each in zip(printed, shown))
    if programs > before:
        computed = printed_by(model(program_prompt(question), max_tokens=400))
        if computed:
            return computed
    return first_way(model, question)
'''

BEST_WORDS = '''ADVICE = [
    "\\n\\nAnswer with the answer alone, in as few words as possible.",
    "\\n\\nThink step by step. Then write 'Answer:' and the answer alone on the last line.",
    "\\n\\nFirst write down all that the question gives, then the rule, then 'Answer:' and the answer alone.",
]


def advised(advice):
    """A way to answer: with this advice behind the question."""
    def way(model, question):
        reply = model(question + advice, max_tokens=600)
        return reply.split("Answer:")[-1].strip().strip("*`").strip()
    return way


def solve(model, question):
    """The answer found in the way of asking that is right most often on the shown examples."""
    ways = [plainly, *map(advised, ADVICE)]
    shown = examples(k=3)
    right = [sum(same(way(model, each["question"]), each["answer"]) for each in shown) for way in ways]
    return ways[right.index(max(right))](model, question)
'''


def _program_if_fit(source: str, facts: Facts) -> str | None:
    parts = ("import re", *WRITES, fits_part(facts))
    return around(source, "unprogrammed", PROGRAM_IF_FIT, parts, ("run_python",))


def _direct_if_fit(source: str, facts: Facts) -> str | None:
    parts = ("import re", *WRITES, fits_part(facts))
    return around(source, "asked_first", DIRECT_IF_FIT, parts, ("run_python",))


def _agreed(source: str, facts: Facts) -> str | None:
    return around(source, "on_its_own", AGREED, (*WRITES, SAME, MOST), ("run_python",))


def _two_programs(source: str, facts: Facts) -> str | None:
    return around(source, "undisputed", TWO_PROGRAMS, (*WRITES, SAME), ("run_python",))


def _judged(source: str, facts: Facts) -> str | None:
    return around(source, "unjudged", JUDGED, (*WRITES, SAME), ("run_python",))


def _mixed(source: str, facts: Facts) -> str | None:
    return around(source, "one_way", MIXED, (*WRITES, MOST), ("run_python",))


def _best_way(source: str, facts: Facts) -> str | None:
    return around(source, "first_way", BEST_WAY, (*WRITES, SAME), ("run_python", "examples"))


def _best_words(source: str, facts: Facts) -> str | None:
    return around(source, "plainly", BEST_WORDS, (SAME,), ("examples",))


def _reasoned(facts: Facts) -> float:
    narrow = {"json": 0.1, "choice": 0.3, "date": 0.5}.get(facts.shape, 1.0)
    return narrow * (0.2 if facts.searches else 1.0) * facts.share(*UNKNOWN, Fault.FORMAT)


PROGRAMS = ("run_python",)
ENTRIES = (
    CatalogueEntry(
        "best_way_on_examples",
        "Try a program and the present way on shown examples, and take the one that is right more often.",
        _best_way,
        lambda facts: 0.82 * _reasoned(facts),
        tools=("run_python", "examples"),
    ),
    CatalogueEntry(
        "program_if_it_fits",
        "Have the model write a program, and take what it prints only where it is made as right answers are.",
        _program_if_fit,
        lambda facts: 0.78 * _reasoned(facts),
        tools=PROGRAMS,
    ),
    CatalogueEntry(
        "program_where_unfit",
        "Keep an answer that is made as right ones are; else have the model write a program.",
        _direct_if_fit,
        lambda facts: 0.7 * _reasoned(facts),
        tools=PROGRAMS,
    ),
    CatalogueEntry(
        "agreed_or_voted",
        "Take what a program and the present answer agree on; where they differ, vote with further programs.",
        _agreed,
        lambda facts: 0.6 * _reasoned(facts),
        tools=PROGRAMS,
    ),
    CatalogueEntry(
        "two_programs_agree",
        "Trust a program only where a second one, asked for in other words, prints the same.",
        _two_programs,
        lambda facts: 0.5 * _reasoned(facts),
        tools=PROGRAMS,
    ),
    CatalogueEntry(
        "judged_by_the_model",
        "Where a program and the present answer differ, have the model check both and choose.",
        _judged,
        lambda facts: 0.4 * _reasoned(facts),
        tools=PROGRAMS,
    ),
    CatalogueEntry(
        "mixed_vote",
        "Answer by programs, in steps and as before, and return the most frequent answer.",
        _mixed,
        lambda facts: 0.45 * _reasoned(facts),
        tools=PROGRAMS,
    ),
    CatalogueEntry(
        "best_words_on_examples",
        "Try four ways of asking on shown examples, and ask in the one that is right most often.",
        _best_words,
        lambda facts: 0.38 * _reasoned(facts),
        tools=("examples",),
    ),
)
