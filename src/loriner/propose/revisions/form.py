"""Revisions of the form of an answer: what is around it goes, or it is written again as asked for."""

from __future__ import annotations

from loriner.propose.revisions.entry import Entry, Facts
from loriner.propose.splicing import functions, imported, with_import, wrapped
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


ENTRIES = (
    Entry(
        "answer_in_form",
        "Write the answer again in exactly the form that the question asks for.",
        answer_in_form,
        lambda facts: 0.8 * facts.share(Fault.FORMAT),
    ),
    Entry(
        "extract_answer",
        "Return only the answer itself, without the words and marks around it.",
        _tidy,
        lambda facts: 0.75 * facts.share(Fault.EXTRACTION, Fault.FORMAT),
    ),
)
