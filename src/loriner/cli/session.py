"""A verb carried out for one command: in a workspace of its own, watched on stderr."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from loriner.cli.globals import Globals
from loriner.cli.progress import watching
from loriner.config import Settings
from loriner.runtime.levels import NEEDED
from loriner.verbs.workspace import workspace

R = TypeVar("R")
Verb = Callable[..., Coroutine[Any, Any, R]]
"""Called with the open workspace, the settings and an observer."""

CANDIDATES_RUN = {"adapting": NEEDED, "comparing": NEEDED, "training": NEEDED}
"""The sandbox level that a purpose needs; others only warn."""


def carried_out(
    given: Globals, settings: Settings, verb: Verb[R], purpose: str = "evaluating", **more: Any
) -> R:
    """What the verb returns."""

    async def work() -> R:
        async with workspace(settings, purpose, needed_level=CANDIDATES_RUN.get(purpose, 0)) as lab:
            with watching(given.verbosity) as observe:
                return await verb(lab, settings, observe, **more)

    return asyncio.run(work())
