"""The known revisions: functions of a program's text, with what each is said to do and which faults it cures.

Where a revision does not apply, or is there already, there is none. Each takes a program that compiles and
raises `SyntaxError` for any other; that the revised program compiles is checked where it is offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from loriner.propose.splicing import at_body, before_solve, functions, imported, with_import, wrapped
from loriner.records import Fault

Rewrite = Callable[[str, "Shape"], str | None]
"""A program and the shape of its answers to the revised program, or None where it does not apply."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What right answers look like, read off the feedback."""

    kind: str
    """`integer`, `number`, `line` or `text`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One known revision."""

    name: str
    note: str
    """What it does, as a proposer would say it."""
    cures: tuple[Fault, ...]
    rewrite: Rewrite
    needs: str | None = None
    """A tool without which it is no use."""


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


def _interpreter(source: str, shape: Shape) -> str | None:
    first = "    computed = by_program(model, question)\n    if computed:\n        return computed\n"
    return None if "run_python(" in source else _with_tool(before_solve(source, PROGRAM, first), "run_python")


def _program_vote(source: str, shape: Shape) -> str | None:
    if "by_programs" in functions(source):
        return None
    first = "    computed = by_programs(model, question)\n    if computed:\n        return computed\n"
    return _with_tool(before_solve(source, VOTED, first), "run_python")


def _with_tool(source: str, tool: str) -> str:
    """The program with the import of a tool, which it may have already."""
    return source if tool in imported(source) else with_import(source, f"from tools import {tool}")


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


def _tidy(source: str, shape: Shape) -> str | None:
    if "tidy" in functions(source):
        return None
    solve = "def solve(model, question):\n    return tidy(str(untidy(model, question)))\n"
    revised = wrapped(source, "untidy", f"{CLEAN[shape.kind]}\n\n{solve}")
    if revised is None or "re" in imported(source):
        return revised
    return with_import(revised, "import re")


def _longer(source: str, shape: Shape) -> str | None:
    """Every `max_tokens=N` three times as large, up to 2,048."""

    def grown(match: re.Match[str]) -> str:
        n_tokens = int(match.group(1))
        return f"max_tokens={max(n_tokens, min(2048, n_tokens * 3))}"

    return re.sub(r"max_tokens=(\d+)", grown, source)


def _steps(source: str, shape: Shape) -> str | None:
    line = (
        '    question += "\\n\\nThink step by step first. '
        "Give the final answer alone on the last line, after 'Answer:'.\"\n"
    )
    return None if "Think step by step" in source else at_body(source, line)


RETRY = '''def solve(model, question):
    """The first non-empty answer of up to three tries."""
    answer = ""
    for attempt in range(3):
        try:
            answer = str(once(model, question)).strip()
        except (ValueError, IndexError, KeyError, AttributeError, TypeError):
            answer = ""
        if answer:
            break
        question += "\\n\\nGive the answer; do not leave it out."
    return answer
'''


def _retry(source: str, shape: Shape) -> str | None:
    return wrapped(source, "once", RETRY)


VOTE = '''class Warm:
    """The model at a higher temperature, so that repeated calls differ."""

    def __init__(self, model):
        self.model = model

    def __call__(self, prompt, **options):
        return self.model(prompt, **{**options, "temperature": 0.8})


def solve(model, question):
    """The most frequent of five answers."""
    answers = [str(single(Warm(model), question)).strip() for _ in range(5)]
    answers = [answer for answer in answers if answer]
    return max(answers, key=answers.count) if answers else ""
'''


def _vote(source: str, shape: Shape) -> str | None:
    return None if "model.batch" in source or "model.chat" in source else wrapped(source, "single", VOTE)


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


def _in_form(source: str, shape: Shape) -> str | None:
    return wrapped(source, "formless", IN_FORM)


def _interpreter_in_form(source: str, shape: Shape) -> str | None:
    revised = _interpreter(source, shape)
    return None if revised is None else _in_form(revised, shape)


HOP = '''def second_hop(model, question):
    """The question with passages found by a query that the model makes from a first search."""
    first = search(question, k=3)
    seen = "\\n".join(passage["title"] + ": " + passage["text"] for passage in first)
    query = model(
        seen + "\\n\\nQuestion: " + question + "\\nName the one further thing to look up, and nothing else.",
        max_tokens=32,
    )
    more = search(query.strip().splitlines()[0], k=3) if query.strip() else []
    found = "\\n".join(passage["title"] + ": " + passage["text"] for passage in more)
    return "Also known:\\n" + found + "\\n\\n" + question
'''


def _hop(source: str, shape: Shape) -> str | None:
    if "second_hop" in functions(source):
        return None
    first = "    question = second_hop(model, question)\n"
    return _with_tool(before_solve(source, HOP, first), "search")


ENTRIES = (
    Entry(
        "interpreter_loop",
        "Have the model write a program for the question, run it, and return what it prints.",
        (Fault.REASONING, Fault.EXTRACTION, Fault.FORMAT, Fault.COMMUNICATION),
        _interpreter,
        needs="run_python",
    ),
    Entry(
        "interpreter_in_form",
        "Have the model write a program for the question, and put what it prints in the form asked for.",
        (Fault.FORMAT, Fault.REASONING),
        _interpreter_in_form,
        needs="run_python",
    ),
    Entry(
        "program_vote",
        "Have the model write five programs for the question, and return what most of them print.",
        (Fault.REASONING,),
        _program_vote,
        needs="run_python",
    ),
    Entry(
        "answer_in_form",
        "Write the answer again in exactly the form that the question asks for.",
        (Fault.FORMAT,),
        _in_form,
    ),
    Entry(
        "extract_answer",
        "Return only the answer itself, without the words and marks around it.",
        (Fault.EXTRACTION, Fault.FORMAT),
        _tidy,
    ),
    Entry(
        "longer_replies",
        "Give the model more room, so that its reply is not cut off.",
        (Fault.COMMUNICATION,),
        _longer,
    ),
    Entry(
        "retry_when_empty",
        "Ask again when there is no answer or the program stumbles over the reply.",
        (Fault.COMMUNICATION, Fault.CRASH, Fault.API_MISUSE),
        _retry,
    ),
    Entry(
        "retrieval_hop",
        "Search a second time, for what the first passages leave open.",
        (Fault.REASONING, Fault.EXTRACTION),
        _hop,
        needs="search",
    ),
    Entry(
        "step_by_step",
        "Ask for reasoning before the answer.",
        (Fault.REASONING,),
        _steps,
    ),
    Entry(
        "self_consistency",
        "Answer five times and return the most frequent answer.",
        (Fault.REASONING,),
        _vote,
    ),
)
