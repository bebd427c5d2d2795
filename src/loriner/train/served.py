"""Completions of a policy that an endpoint serves, as an adapter beside its base or as a model of its own.

The chat template is the server's, and so are its arguments (`policy.chat`): it must render prompts as in
training.
"""

from __future__ import annotations

from collections.abc import Sequence

from loriner.evaluation.evaluator import gathered
from loriner.models.base import Model, ModelRequest
from loriner.seeding import derive
from loriner.train.exercise import Exercise


async def completions(
    model: Model, exercises: Sequence[Exercise], n: int, max_tokens: int, seed: int
) -> list[list[str]]:
    """So many completions in each exercise at temperature 1: shape (exercises, n).

    Raises:
        ModelError: the endpoint failed, or has no model of this name.
    """

    async def one(exercise: Exercise, index: int) -> str:
        request = ModelRequest(
            messages=exercise.messages,
            temperature=1.0,
            max_tokens=max_tokens,
            seed=derive(seed, "choose", exercise.context.id, index),
        )
        return (await model.complete(request)).text

    texts = await gathered(one(each, index) for each in exercises for index in range(n))
    return [texts[at : at + n] for at in range(0, len(texts), n)]
