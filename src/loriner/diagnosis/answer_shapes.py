"""What right answers are made of: the fields of an object, the options of a choice, the form of a date.

Not guaranteed: a choice is inferred from answers that repeat; a date is read in the first form that fits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from loriner.diagnosis.answer_formats import same

DATE_FORMS = (
    "%Y-%m-%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%Y/%m/%d",
    "%d %B %Y",
    "%d %b %Y",
    "%B %d, %Y",
    "%b %d, %Y",
    "%-d.%-m.%Y",
    "%-d/%-m/%Y",
    "%-m/%-d/%Y",
    "%-d %B %Y",
    "%-d %b %Y",
    "%B %-d, %Y",
    "%b %-d, %Y",
)
"""As `strftime` names them; where several fit, the first is taken."""
MOST_OPTIONS = 30
"""Most right answers that a choice may have."""
LONGEST_OPTION = 60
"""Most characters that an option may have."""


@dataclass(frozen=True, slots=True)
class FieldFault:
    """One field of an object that is not as in the right one."""

    name: str
    how: Literal["missing", "extra", "format", "value"]
    found: str = ""
    wanted: str = ""

    def __str__(self) -> str:
        if self.how in ("missing", "extra"):
            return f"{self.name} {self.how}"
        return f"{self.name} ({self.how}): {self.found[:60]!r} for {self.wanted[:60]!r}"


def object_of(text: str) -> dict[str, object] | None:
    """The JSON object that a text is; None for any other text, and for an empty object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found else None


def fields_apart(answer: Mapping[str, object], target: Mapping[str, object]) -> tuple[FieldFault, ...]:
    """The fields that differ, those of the target first, in its order."""
    missing = [FieldFault(name, "missing") for name in target if name not in answer]
    extra = [FieldFault(name, "extra") for name in answer if name not in target]
    shared = [name for name in target if name in answer and answer[name] != target[name]]
    other = [_differs(name, answer[name], target[name]) for name in shared]
    return (*other, *missing, *extra)


def _differs(name: str, found: object, wanted: object) -> FieldFault:
    ours, theirs = _text(found), _text(wanted)
    alike = same(ours, theirs) or (day_of(ours) is not None and day_of(ours) == day_of(theirs))
    return FieldFault(name, "format" if alike else "value", ours, theirs)


def date_form(texts: Sequence[str]) -> str:
    """The form of a date that all texts have, or an empty string."""
    return next((form for form in DATE_FORMS if texts and all(_is_date(each, form) for each in texts)), "")


def day_of(text: str) -> date | None:
    """The day that a text names in one of the known forms."""
    return next((day for form in DATE_FORMS if (day := _day(text.strip(), form)) is not None), None)


def options_of(answers: Iterable[str]) -> frozenset[str]:
    """The answers, where they are a choice: few, short, of one line, no numbers, met 1.5 times on average."""
    given = list(answers)
    options = frozenset(given)
    few = 1 < len(options) <= min(MOST_OPTIONS, len(given) / 1.5)
    return options if few and all(map(_is_option, options)) else frozenset()


def _is_option(text: str) -> bool:
    number = re.fullmatch(r"-?\d+(\.\d+)?", text)
    return 0 < len(text) <= LONGEST_OPTION and "\n" not in text and not number and object_of(text) is None


def _is_date(text: str, form: str) -> bool:
    day = _day(text, form)
    return day is not None and day.strftime(form) == text


def _day(text: str, form: str) -> date | None:
    if len(text) > LONGEST_OPTION or not re.search(r"\d", text):
        return None
    try:
        return datetime.strptime(text, form.replace("%-", "%")).date()
    except ValueError:
        return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
