"""OpenRLHF: `--reward.remote_url` is this file; the label of each row is the id of its context.

Without any file, `--reward.remote_url http://HOST:PORT/openrlhf` asks the service itself: then OpenRLHF gives
up after a few tries of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loriner.serving.clients.patient import scored_all


def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[str]) -> dict[str, Any]:
    """The rewards, in order. Source: OpenRLHF 0.11.2, remote reward functions."""
    texts = [query.removeprefix(prompt) for query, prompt in zip(queries, prompts, strict=True)]
    rows = scored_all(list(zip(labels, texts, strict=True)))
    rewards = [row["reward"] for row in rows]
    applied = [float(row["applied"]) for row in rows]
    return {"rewards": rewards, "scores": rewards, "extra_logs": {"applied": applied}}
