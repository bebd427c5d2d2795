"""verl: `reward.custom_reward_function.path` is this file, `.name=compute_score`; keep the manager `naive`.

The manager `rate_limited` turns every error into a reward of 0. The data set's `ground_truth` is the id of
the context.
"""

from __future__ import annotations

import asyncio
from typing import Any

from loriner.serving.clients.patient import scored


async def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None, **_: Any
) -> dict[str, float]:
    """The reward under `score`, with its parts beside it. Source: verl 0.9.1."""
    row = await asyncio.to_thread(scored, ground_truth, solution_str)
    parts = {name: float(row[name]) for name in ("parsed", "applied", "completion_rate")}
    return {"score": row["reward"], "harness_score": row["score"], **parts}
