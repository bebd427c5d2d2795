"""Revisions of how a program for one question is asked for: in other words, from data, mended, checked."""

from __future__ import annotations

from loriner.propose.catalogue_entry import CatalogueEntry
from loriner.propose.facts import UNKNOWN, Facts
from loriner.propose.snippets.new_solve import CODE, MOST, WRITES, around
from loriner.records import Fault

SHOWN_FORM = '''def solve(model, question):
    """What a program prints that was asked for with answered questions in view; else as before."""
    shown = examples(question, k=3)
    pairs = [each["question"][:1500] + "\\nprints: " + each["answer"] for each in shown]
    prompt = (
        "Tasks, and what a right program for each prints:\\n\\n" + "\\n\\n".join(pairs)
        + "\\n\\nNow this task:\\n" + question + "\\n\\nWrite a short Python program that solves it "
        + "and prints only the answer, in the form seen above. Reply with one ```python block."
    )
    return printed_by(model(prompt, max_tokens=500)) or formed_otherwise(model, question)
'''

SEARCHING = '''def solve(model, question):
    """What a program prints that tries every possibility; else as before."""
    prompt = (
        "Solve this task with a Python program that searches: it goes through every possibility (itertools, "
        + "or a search with a queue), keeps what meets each condition, and prints only the answer."
        + "\\n\\nTask:\\n" + question + "\\n\\nReply with one ```python block."
    )
    return printed_by(model(prompt, max_tokens=600)) or unsearched(model, question)
'''

FROM_DATA = '''def solve(model, question):
    """What a program prints over the data that the model first copied out of the question; else as before."""
    data = code_in(model(
        "Copy all data that this task gives into Python assignments, exactly and completely. Do not solve it."
        + "\\n\\nTask:\\n" + question + "\\n\\nReply with one ```python block of assignments.",
        max_tokens=500,
    )).strip()
    prompt = (
        "Task:\\n" + question + "\\n\\nIts data:\\n```python\\n" + data + "\\n```\\n\\nWrite the rest of "
        + "the program: it uses these names, works the answer out, and prints only the answer. "
        + "Reply with one ```python block."
    )
    code = code_in(model(prompt, max_tokens=500))
    printed = run_python(data + "\\n\\n" + code).strip()
    return unread(model, question) if "Error: " in printed or not printed else printed
'''

MENDED = '''def solve(model, question):
    """What a program prints that is shown its errors until it runs, four times at most; else as before."""
    talk = [{"role": "user", "content": program_prompt(question)}]
    for _ in range(4):
        reply = model.chat(talk, max_tokens=500)
        printed = run_python(code_in(reply)).strip()
        if printed and "Error: " not in printed:
            return printed
        fault = printed[-400:] or "It printed nothing."
        talk += [
            {"role": "assistant", "content": reply},
            {"role": "user", "content": fault + "\\n\\nCorrect the program. Reply with one ```python block."},
        ]
    return unmended_program(model, question)
'''

ASSERTED = '''def solve(model, question):
    """What a program prints that checks its own answer with assert; one that fails is sampled again."""
    prompt = (
        "Write a Python program that solves this task. Before it prints, it checks the answer against every "
        + "condition of the task with assert statements. It prints only the answer.\\n\\nTask:\\n" + question
        + "\\n\\nReply with one ```python block."
    )
    for temperature in (0.0, 0.7, 0.7):
        printed = printed_by(model(prompt, temperature=temperature, max_tokens=600))
        if printed:
            return printed
    return unchecked(model, question)
'''

WORDED = '''WORDS = [
    "Work it out with a simple loop.",
    "Read the numbers and words of the task with the re module first.",
    "Write small functions, one for each part of the task.",
    "Follow the rules of the task step by step, and keep the state in variables.",
]


def solve(model, question):
    """What most of five programs print that were asked for in different words; as before where none runs."""
    prompt = program_prompt(question)
    replies = model.batch([prompt, *(prompt + "\\n" + each for each in WORDS)], max_tokens=450)
    return most_given(map(printed_by, replies)) or in_no_words(model, question)
'''


def _shown_form(source: str, facts: Facts) -> str | None:
    return around(source, "formed_otherwise", SHOWN_FORM, WRITES[:2], ("run_python", "examples"))


def _searching(source: str, facts: Facts) -> str | None:
    return around(source, "unsearched", SEARCHING, WRITES[:2], ("run_python",))


def _from_data(source: str, facts: Facts) -> str | None:
    return around(source, "unread", FROM_DATA, (CODE,), ("run_python",))


def _mended(source: str, facts: Facts) -> str | None:
    return around(source, "unmended_program", MENDED, (WRITES[0], WRITES[2]), ("run_python",))


def _asserted(source: str, facts: Facts) -> str | None:
    return around(source, "unchecked", ASSERTED, WRITES[:2], ("run_python",))


def _worded(source: str, facts: Facts) -> str | None:
    return around(source, "in_no_words", WORDED, (*WRITES, MOST), ("run_python",))


def _computed(facts: Facts) -> float:
    narrow = {"json": 0.1, "choice": 0.3, "date": 0.5}.get(facts.shape, 1.0)
    return narrow * (0.1 if facts.searches else 1.0) * facts.share(*UNKNOWN, Fault.FORMAT)


_PROGRAMS = ("run_python",)
ENTRIES = (
    CatalogueEntry(
        "program_in_shown_form",
        "Have the model write a program with answered questions in view, so that it prints in their form.",
        _shown_form,
        lambda facts: 0.76 * _computed(facts),
        tools=("run_python", "examples"),
    ),
    CatalogueEntry(
        "program_mended",
        "Have the model write a program, and show it its errors until it runs.",
        _mended,
        lambda facts: 0.74 * _computed(facts),
        tools=_PROGRAMS,
    ),
    CatalogueEntry(
        "programs_in_other_words",
        "Ask for a program in five different ways, and return what most of them print.",
        _worded,
        lambda facts: 0.66 * _computed(facts),
        tools=_PROGRAMS,
    ),
    CatalogueEntry(
        "program_over_copied_data",
        "Have the model copy the data of the question into Python first, then write a program over it.",
        _from_data,
        lambda facts: 0.52 * _computed(facts),
        tools=_PROGRAMS,
    ),
    CatalogueEntry(
        "program_that_searches",
        "Have the model write a program that goes through every possibility and checks each condition.",
        _searching,
        lambda facts: 0.5 * _computed(facts),
        tools=_PROGRAMS,
    ),
    CatalogueEntry(
        "program_that_checks",
        "Have the model write a program that checks its own answer, and sample again where the check fails.",
        _asserted,
        lambda facts: 0.46 * _computed(facts),
        tools=_PROGRAMS,
    ),
)
