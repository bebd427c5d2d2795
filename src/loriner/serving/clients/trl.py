"""TRL: `reward_funcs=[reward]`, with a data set of `prompt` and `context`, as `GET /contexts` gives them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from loriner.serving.clients.patient import scored_all


async def reward(completions: Sequence[Any], context: Sequence[str], **_: Any) -> list[float]:
    """The rewards, in order. Source: TRL 1.16, custom reward functions."""
    texts = [each if isinstance(each, str) else each[-1]["content"] for each in completions]
    rows = await asyncio.to_thread(scored_all, list(zip(context, texts, strict=True)))
    return [row["reward"] for row in rows]
