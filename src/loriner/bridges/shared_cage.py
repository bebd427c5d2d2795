"""Sandboxes that stay open for the whole process: frameworks call a program whenever they like."""

from __future__ import annotations

import atexit
from functools import cache

from loriner.api.cage import Cage
from loriner.errors import RuntimeUnavailable
from loriner.runtime.base import Limits
from loriner.runtime.levels import NEEDED


@cache
def shared_cage(limits: Limits = Limits()) -> Cage:  # noqa: B008 - Limits are frozen
    """The process's sandbox with these limits, started at the first call and closed when the process ends.

    Raises:
        RuntimeUnavailable: this machine offers no isolation by the kernel.
    """
    cage = Cage(limits=limits).__enter__()
    if (level := cage.level) < NEEDED:
        cage.__exit__(None, None, None)
        raise RuntimeUnavailable(
            f"programs of a bridge need sandbox level {NEEDED}; this machine reaches {level}: "
            "`loriner doctor` says what is missing"
        )
    atexit.register(cage.__exit__, None, None, None)
    return cage
