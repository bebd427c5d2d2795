"""Puts a new `solve` around a program's own. The old one still answers if the new one has no answer."""

from __future__ import annotations

from collections.abc import Iterable

from loriner.propose.splicing import functions, with_parts, with_tool, wrapped

ASKED = '''def program_prompt(question):
    """What a program for a question is asked for with."""
    return (
        "Write a short Python program, without comments, that solves this task and prints only the answer."
        + "\\n\\nTask:\\n" + question + "\\n\\nReply with one ```python block."
    )
'''
"""The words of `program.PROGRAM`, so that equal questions are equal calls in all revisions."""

CODE = '''def code_in(reply):
    """The code of the last Python block of a reply, or the whole reply."""
    return reply.split("```python")[-1].split("```")[0]
'''

RUN = '''def printed_by(reply):
    """What the program in a reply prints, or an empty string where it fails."""
    printed = run_python(code_in(reply)).strip()
    return "" if "Error: " in printed else printed
'''

SAME = '''def same(one, other):
    """Whether two answers are the same but for blanks and case."""
    return "".join(str(one).split()).casefold() == "".join(str(other).split()).casefold()
'''

MOST = '''def most_given(answers):
    """The answer that is given most often, of several the first; an empty string where there is none."""
    answers = [str(answer).strip() for answer in answers]
    answers = [answer for answer in answers if answer]
    return max(answers, key=answers.count) if answers else ""
'''

WRITES = (CODE, RUN, ASKED)
"""What a revision needs that has the model write a program for the question."""


def around(
    source: str, inner: str, solve: str, parts: Iterable[str] = (), tools: Iterable[str] = ()
) -> str | None:
    """The program with its `solve` renamed to `inner` and the new one after it, or None where it has that.

    `parts` are definitions and imports that the new one needs; a name that the program has already is not
    given again.
    """
    revised = wrapped(source, inner, solve)
    if revised is None:
        return None
    needed = [each for each in parts if _name(each) not in functions(source)]
    revised = with_parts(revised, needed)
    for tool in tools:
        revised = with_tool(revised, tool)
    return revised


def _name(part: str) -> str:
    """The function that a part defines; empty for any other."""
    return part.partition("(")[0].removeprefix("def ") if part.startswith("def ") else ""
