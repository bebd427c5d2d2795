"""Code that makes a reply an answer of the right shape, and the words that ask for that shape."""

from __future__ import annotations

from dataclasses import dataclass

from loriner.propose.facts import Facts
from loriner.propose.snippets.json_objects import DATE, DATES, VALUES, fields_in_words, object_parts
from loriner.propose.snippets.literals import constant, cut
from loriner.propose.snippets.options import option_parts, options_in_words
from loriner.propose.splicing import answered_first

LINE = r'''
def first_line(reply):
    """The first line of a reply that holds an answer, without the marks and words around it."""
    tagged = re.search(r"<(\w+)>(.*?)(?:</\1>|$)", reply, re.S)
    lines = [line for line in (tagged[2] if tagged else reply).splitlines() if line.strip(" `*")]
    text = re.sub(r"(?i)^\W*(the )?(final )?answer( is)?\s*:?\s*", "", lines[0]) if lines else ""
    return text.strip().removesuffix(".").strip("*`\"' ").removesuffix(".")
'''
NUMBER = r'''
def number_in(reply):
    """The last number of a reply as text, or an empty string."""
    number = as_number(reply)
    return "" if number is None else str(int(number) if number == int(number) else number)
'''
WHOLE = r'''
def whole_text(reply):
    """The reply without a fence around it."""
    fenced = re.findall(r"```\w*\n(.*?)```", reply, re.S)
    return (fenced[-1] if fenced else reply).strip("\n").rstrip()
'''


@dataclass(frozen=True, slots=True)
class Settled:
    """How a reply becomes an answer of the shape of right ones."""

    parts: tuple[str, ...]
    """Definitions that `call` needs."""
    call: str
    """The function that takes a reply and returns an answer, or an empty string where there is none."""
    words: str = ""
    """What the model is asked for."""


def settled(facts: Facts) -> Settled:
    """The code and the words for the shape of right answers."""
    if facts.shape == "choice":
        return Settled(option_parts(facts), "nearest_option", options_in_words(facts))
    if facts.shape == "json":
        return Settled(object_parts(facts), "object_text", fields_in_words(facts))
    if facts.shape in ("integer", "number"):
        return Settled((*VALUES[:1], VALUES[3], NUMBER), "number_in", "Answer with a number only.")
    if facts.shape == "date":
        return Settled(_date_parts(facts), "date_in", f"Answer with a date only, written as {_seen(facts)}.")
    if facts.shape == "line":
        return Settled(("import re", LINE), "first_line", "Answer in a few words, with the answer only.")
    return Settled(("import re", WHOLE), "whole_text", "Answer with the answer only.")


def told(facts: Facts) -> str:
    """What is asked, in the words of the task and of the shape of its right answers."""
    return f"{cut(facts.description, 1500)}\n\n{settled(facts).words}".strip()


def filled(facts: Facts, code: str, **values: object) -> str:
    """Code with the function for the shape of right answers and the options of a call for one put in."""
    return code.format(call=settled(facts).call, options=reply_options(facts), **values)


def name_of(code: str) -> str:
    """The function that a part defines."""
    return code.split("def ", 1)[1].split("(", 1)[0]


def asked_first(source: str, facts: Facts, code: str, *parts: str, **values: object) -> str | None:
    """The program that first asks as `code` does, which may use TASK and the function for the shape."""
    needed = (*settled(facts).parts, constant("TASK", told(facts)), *parts, filled(facts, code, **values))
    return answered_first(source, name_of(code), needed)


def reply_options(facts: Facts) -> str:
    """The keyword arguments of a call whose reply is the answer alone: room for it, and where it ends."""
    longest = max((len(answer) for _, answer in facts.examples), default=200)
    one_line = facts.shape not in ("json", "text")
    return f"max_tokens={min(1024, 24 + longest * 2 // 3)}" + (', stop="\\n"' if one_line else "")


def _date_parts(facts: Facts) -> tuple[str, ...]:
    code = f'''
def date_in(reply):
    """The first date in a reply, in the form of right answers."""
    return as_date(reply, {facts.form!r})
'''
    return ("import re", "from datetime import datetime", DATES, DATE, code)


def _seen(facts: Facts) -> str:
    return facts.examples[0][1] if facts.examples else facts.form
