"""A filter as a person spells it, on the command line or in the address of a page."""

from __future__ import annotations

from collections.abc import Mapping

from loriner.errors import ConfigError
from loriner.records import Fault
from loriner.report.trials.viewer import Filter
from loriner.tasks.splits import split_named

FAULTS = tuple(map(str, Fault))


def choice(given: Mapping[str, str], *, wrong: bool = False, round: int | None = None) -> Filter:
    """The filter of the keys `fault`, `task`, `split`, `program` and `question`.

    Raises:
        ConfigError: there is no such fault.
        TaskError: there is no such split.
    """
    fault, split = given.get("fault", ""), given.get("split", "")
    if fault and fault not in FAULTS:
        raise ConfigError(f"no fault is called {fault!r}; expected one of {', '.join(FAULTS)}")
    return Filter(
        wrong=wrong,
        fault=fault,
        task=given.get("task", ""),
        purpose=split_named(split) if split else "",
        round=round,
        program=given.get("program", ""),
        question=given.get("question", ""),
    )
