"""Revisions that compute: the model writes a program, the host runs it."""

from __future__ import annotations

from loriner.propose.catalogue_entry import CatalogueEntry
from loriner.propose.facts import UNKNOWN, Facts
from loriner.propose.revisions.form import answer_in_form
from loriner.propose.splicing import before_solve, functions, with_tool
from loriner.records import Fault

COMPUTED = {"integer": 1.0, "number": 1.0, "line": 0.8, "text": 0.8, "date": 0.4, "choice": 0.1, "json": 0.1}
"""How far answers of a shape are computed, as opposed to read in the question or in documents."""
_INTERPRETER = (*UNKNOWN, Fault.EXTRACTION, Fault.FORMAT, Fault.COMMUNICATION)


PROGRAM = '''def by_program(model, question):
    """The output of a program that the model writes for the question, or an empty string."""
    prompt = (
        "Write a short Python program, without comments, that solves this task and prints only the answer."
        + "\\n\\nTask:\\n" + question + "\\n\\nReply with one ```python block."
    )
    printed = run_python(code_in(model(prompt, max_tokens=400)))
    if "Error: " in printed or not printed.strip():
        prompt += "\\n\\nA first program failed: " + (printed[-200:] or "it printed nothing, use print().")
        printed = run_python(code_in(model(prompt, max_tokens=400)))
    return "" if "Error: " in printed else printed.strip()


def code_in(reply):
    """The code of the last Python block of a reply, or the whole reply."""
    return reply.split("```python")[-1].split("```")[0]
'''


VOTED = '''def by_programs(model, question):
    """What most of five programs print that the model writes for the question, or an empty string."""
    prompt = (
        "Write a short Python program, without comments, that solves this task and prints only the answer."
        + "\\n\\nTask:\\n" + question + "\\n\\nReply with one ```python block."
    )
    replies = [model(prompt, max_tokens=400), *model(prompt, n=4, temperature=0.8, max_tokens=400)]
    printed = [run_python(reply.split("```python")[-1].split("```")[0]).strip() for reply in replies]
    printed = [each for each in printed if each and "Error: " not in each]
    return max(printed, key=printed.count) if printed else ""
'''


def _interpreter(source: str, facts: Facts) -> str | None:
    first = "    computed = by_program(model, question)\n    if computed:\n        return computed\n"
    return None if "run_python(" in source else with_tool(before_solve(source, PROGRAM, first), "run_python")


def _program_vote(source: str, facts: Facts) -> str | None:
    if "by_programs" in functions(source):
        return None
    first = "    computed = by_programs(model, question)\n    if computed:\n        return computed\n"
    return with_tool(before_solve(source, VOTED, first), "run_python")


def _interpreter_in_form(source: str, facts: Facts) -> str | None:
    revised = _interpreter(source, facts)
    return None if revised is None else answer_in_form(revised, facts)


def _computed(facts: Facts, *cured: Fault) -> float:
    return COMPUTED[facts.shape] * (0.1 if facts.searches else 1.0) * facts.share(*cured)


ENTRIES = (
    CatalogueEntry(
        "interpreter_loop",
        "Have the model write a program for the question, run it, and return what it prints.",
        _interpreter,
        lambda facts: 0.9 * _computed(facts, *_INTERPRETER),
        tools=("run_python",),
    ),
    CatalogueEntry(
        "interpreter_in_form",
        "Have the model write a program for the question, and put what it prints in the form asked for.",
        _interpreter_in_form,
        lambda facts: 0.85 * _computed(facts, Fault.FORMAT, *UNKNOWN),
        tools=("run_python",),
    ),
    CatalogueEntry(
        "program_vote",
        "Have the model write five programs for the question, and return what most of them print.",
        _program_vote,
        lambda facts: 0.8 * _computed(facts, *UNKNOWN),
        tools=("run_python",),
    ),
)
