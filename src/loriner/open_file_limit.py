"""How many files this process may have open, and so how many trials may run at once."""

from __future__ import annotations

import resource
from contextlib import suppress

_OWN = 32
"""Files of the store, the registry, the loop, the sandbox and the libraries."""
_A_TRIAL = 5
"""A channel and an output for the program and for what it has run, and a connection to the model."""


def raise_limit() -> None:
    """Lifts this process's limit as far as the machine allows it without asking anyone."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS names no limit and has one
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def trials_at_once() -> int:
    """As many trials as have files enough, at least one."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 2**20 if soft == resource.RLIM_INFINITY else soft
    return max(1, (most - _OWN) // _A_TRIAL)
