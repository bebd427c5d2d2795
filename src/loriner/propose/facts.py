"""What the feedback shows of a task. A known revision knows these facts and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from loriner.records import Fault

UNKNOWN = (Fault.REASONING, Fault.WRONG_CHOICE, Fault.WRONG_FIELDS, Fault.MISREAD)
"""Faults of an answer that is simply wrong."""

Shape = Literal["integer", "number", "date", "choice", "json", "line", "text"]


_KINDS = {"text": "a text", "integer": "a whole number", "number": "a number", "list": "a list"}
_SIGNS = {"%Y": "YYYY", "%m": "MM", "%d": "DD", "%-d": "D", "%-m": "M", "%B": "Month", "%b": "Mon"}


def date_in_words(form: str) -> str:
    """`YYYY-MM-DD` for a form as `strftime` names it."""
    for sign, word in _SIGNS.items():
        form = form.replace(sign, word)
    return form


@dataclass(frozen=True, slots=True)
class Field:
    """One key of the right answers, where these are JSON objects."""

    name: str
    kind: str
    """`date`, `text`, `integer`, `number`, `boolean`, `list`, `object` or `null`; `date` is a text."""
    form: str = ""
    """How a date is written, as `strftime` names it; empty for the rest."""
    options: tuple[str, ...] = ()
    """The values seen, if they are few and repeat."""
    always: bool = True
    """Whether every right answer has it."""

    @property
    def in_words(self) -> str:
        """What a value is, in words for a model."""
        if self.form:
            return f"a date written as {date_in_words(self.form)}"
        if self.options:
            return "one of " + ", ".join(f'"{each}"' for each in self.options[:12])
        return _KINDS.get(self.kind, self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the feedback shows of a task. It holds feedback questions and their answers, and no others."""

    shape: Shape
    """The narrowest shape that all right answers have."""
    description: str = ""
    tools: frozenset[str] = frozenset()
    examples: tuple[tuple[str, str], ...] = ()
    """(question, right answer), unlike answers first."""
    options: Mapping[str, int] = field(default_factory=dict)
    """The right answers and how often each was seen, the most frequent first."""
    fields: tuple[Field, ...] = ()
    """Of JSON objects, in the order of the first one."""
    form: str = ""
    """How dates are written, where the right answers are dates, as `strftime` names it."""
    frame: tuple[str, str] = ("", "")
    """What all questions begin and end with."""
    lost: Mapping[Fault, float] = field(default_factory=dict)
    """The score lost to each fault, as a share of all that was lost; empty where nothing was."""
    wrong_fields: Mapping[str, int] = field(default_factory=dict)
    """How often each field of an object answer was wrong."""
    cut: float = 0.0
    """The share of model replies that were cut at their length limit."""
    mean_score: float = 0.0
    told: bool = False
    """Whether the program asks in the words of the task already, as a revision of the catalogue does."""

    def share(self, *faults: Fault) -> float:
        """The share of what was lost that these faults lost; 1.0 where nothing was lost."""
        return sum(self.lost.get(fault, 0.0) for fault in faults) if self.lost else 1.0

    @property
    def fresh(self) -> float:
        """How much a further way to ask is still worth: half if it would replace another."""
        return 0.5 if self.told else 1.0

    @property
    def searches(self) -> bool:
        """Whether documents can be searched."""
        return "search" in self.tools
