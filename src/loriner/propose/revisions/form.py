"""Revisions of the form of an answer: what is around it goes, or it is written again as asked for."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from loriner.propose.catalogue_entry import CatalogueEntry
from loriner.propose.facts import UNKNOWN, Facts
from loriner.propose.snippets.literals import constant
from loriner.propose.splicing import functions, imported, with_import, with_parts, wrapped
from loriner.records import Fault

CLEAN = {
    "integer": r'''def tidy(answer):
    """The last whole number in the answer."""
    numbers = re.findall(r"-?\d+", answer.replace(",", ""))
    return numbers[-1] if numbers else answer.strip()
''',
    "number": r'''def tidy(answer):
    """The last number in the answer."""
    numbers = re.findall(r"-?\d+(?:\.\d+)?", answer.replace(",", ""))
    return numbers[-1] if numbers else answer.strip()
''',
    "line": r'''def tidy(answer):
    """The answer without tags, fences, emphasis and the words around it: one line."""
    tagged = re.findall(r"<(\w+)>(.*?)</\1>", answer, re.S)
    text = tagged[-1][1] if tagged else answer
    boxed = re.findall(r"\\boxed\{([^{}]*)\}", text)
    text = boxed[-1] if boxed else text
    lines = [line for line in text.replace("```", "\n").splitlines() if line.strip()]
    text = lines[-1] if lines else ""
    text = re.split(r"(?i)\banswer(?: is)?\s*:?\s*", text)[-1]
    return text.strip().strip("*`\"'").rstrip(".").strip()
''',
    "text": r'''def tidy(answer):
    """The answer without tags and fences."""
    tagged = re.findall(r"<(\w+)>(.*?)</\1>", answer, re.S)
    text = tagged[-1][1] if tagged else answer
    fenced = re.findall(r"```\w*\n(.*?)```", text, re.S)
    return (fenced[-1] if fenced else text).strip()
''',
}


def _tidy(source: str, facts: Facts) -> str | None:
    if "tidy" in functions(source):
        return None
    solve = "def solve(model, question):\n    return tidy(str(untidy(model, question)))\n"
    revised = wrapped(source, "untidy", f"{CLEAN.get(facts.shape, CLEAN['line'])}\n\n{solve}")
    if revised is None or "re" in imported(source):
        return revised
    return with_import(revised, "import re")


IN_FORM = '''def solve(model, question):
    """The answer, written again in exactly the form that the question asks for."""
    answer = str(formless(model, question)).strip()
    prompt = (
        question + "\\n\\nThe answer is known already; do not solve anything. It is:\\n" + answer
        + "\\n\\nWrite this answer in exactly the output format that is asked for above, and nothing else."
    )
    reply = model(prompt, max_tokens=300).strip()
    return reply.removeprefix("```json").removesuffix("```").strip() if "```json" in reply else reply
'''


def answer_in_form(source: str, facts: Facts) -> str | None:
    return wrapped(source, "formless", IN_FORM)


PATTERN = r'''
def solve(model, question):
    """What in the answer, or else alone in the question, is written as right answers are."""
    answer = str(unmatched(model, question))
    found, asked = re.findall(PATTERN, answer), set(re.findall(PATTERN, question))
    return found[-1] if found else asked.pop() if len(asked) == 1 else answer
'''


def pattern_of(answers: Sequence[str]) -> str:
    """A regex for answers that are codes of the same runs of letters, digits and signs; empty for others."""
    runs = [re.findall(r"[A-Z]+|[a-z]+|\d+|[^A-Za-z\d]", each) for each in answers]
    kinds = {tuple(_kind(run) for run in each) for each in runs}
    if len(set(answers)) < 3 or len(kinds) != 1 or not 2 <= len(runs[0]) <= 12:
        return ""
    parts = [_run(column) for column in zip(*runs, strict=True)]
    digits = any("\\d" in part for part in parts)
    return rf"(?<!\w){''.join(parts)}(?!\w)" if digits and "[a-z]" not in "".join(parts) else ""


def _kind(run: str) -> str:
    return "A" if run[0] in string.ascii_uppercase else "a" if run.isalpha() and run.isascii() else _sign(run)


def _sign(run: str) -> str:
    return "0" if run.isdecimal() else run


def _run(column: Sequence[str]) -> str:
    """One run of each answer: a class of signs with the lengths seen, or the sign itself."""
    kind, lengths = _kind(column[0]), sorted(map(len, column))
    known = {"A": "[A-Z]", "a": "[a-z]", "0": r"\d"}
    if kind not in known:
        return re.escape(kind)
    return known[kind] + (f"{{{lengths[0]},{lengths[-1]}}}" if lengths[-1] > 1 else "")


def _matched(source: str, facts: Facts) -> str | None:
    pattern = pattern_of([answer for _, answer in facts.examples])
    revised = wrapped(source, "unmatched", PATTERN.lstrip()) if pattern else None
    return revised and with_parts(revised, ("import re", constant("PATTERN", pattern)))


ENTRIES = (
    CatalogueEntry(
        "pattern_of_answers",
        "Return what in the answer is written as right answers are, in runs of letters, digits and signs.",
        _matched,
        lambda facts: (
            0.8 * facts.share(Fault.EXTRACTION, Fault.FORMAT, *UNKNOWN) if facts.shape == "line" else 0
        ),
    ),
    CatalogueEntry(
        "answer_in_form",
        "Write the answer again in exactly the form that the question asks for.",
        answer_in_form,
        lambda facts: 0.8 * facts.share(Fault.FORMAT),
    ),
    CatalogueEntry(
        "extract_answer",
        "Return only the answer itself, without the words and marks around it.",
        _tidy,
        lambda facts: 0.75 * facts.share(Fault.EXTRACTION, Fault.FORMAT),
    ),
)
