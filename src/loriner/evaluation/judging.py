"""What a judge asks its model: a metered call that is recorded with the trial that it scores."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from loriner.models.base import Model, ModelRequest, call_of, facts_of, message_of
from loriner.records import Call

MAX_TOKENS = 256
_WARM = 0.7
"""Temperature at which a verdict is asked for again: greedily it would be the same."""


async def ask_judge(model: Model, messages: Sequence[Mapping[str, str]], seed: int) -> Call:
    """The call, of the kind `judge`. Raises as `Model.complete`."""
    request = ModelRequest(
        messages=tuple(map(message_of, messages)),
        temperature=_WARM if seed else 0.0,
        max_tokens=MAX_TOKENS,
        seed=seed,
    )
    started = time.time()
    call = call_of(facts_of(request), await model.complete(request), started)
    return replace(call, kind="judge")
