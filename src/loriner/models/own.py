"""A model that is a function of the caller's own, or an object with a `chat` method."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from loriner.errors import ConfigError, LorinerError, ModelRefused, PromptRefused
from loriner.models.base import Model, ModelReply, ModelRequest, further_asked, sent
from loriner.models.tokens import about, prompt_about


class OwnModel:
    """Replies with what a function returns, plain or async. Tokens are estimated, and no price is known.

    A function is called with the prompt: the messages' texts with a blank line between them. The `chat` of an
    object is called with the messages, each a dict of `role` and `content`. Both also get `temperature`,
    `max_tokens`, `stop`, `seed` and `system`, as far as they have parameters of these names.
    """

    def __init__(self, function: Callable[..., Any], name: str, *, chat: bool = False) -> None:
        self._function = function
        self._name = name
        self._chat = chat
        self._taken = _parameters(function)

    @property
    def name(self) -> str:
        return self._name

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply. What the function raises is a refusal of this request, unless it is an error of ours."""
        self._require(request)
        first, further = self._arguments(request)
        try:
            if inspect.iscoroutinefunction(self._function):
                text = await self._function(first, **further)
            else:
                text = await asyncio.to_thread(self._function, first, **further)
                text = await text if inspect.isawaitable(text) else text
        except LorinerError:
            raise
        except Exception as error:
            raise ModelRefused(f"{self._name} raised {type(error).__name__}: {error}") from error
        if not isinstance(text, str):
            raise ModelRefused(f"{self._name} returned {type(text).__name__}; expected the reply as text")
        return ModelReply(
            text=text,
            prompt_tokens=prompt_about(request),
            completion_tokens=about(len(text)),
            counted=False,
        )

    def _require(self, request: ModelRequest) -> None:
        """Raises `PromptRefused` where a request asks for what the function does not take."""
        asked = [name for name in request.further if name not in self._taken]
        if not self._chat:
            asked += [kind for kind in further_asked(request) if kind not in request.further]
        if asked:
            raise PromptRefused(f"{self._name} does not take {', '.join(asked)}: it is a function of texts")

    def _arguments(self, request: ModelRequest) -> tuple[Any, dict[str, Any]]:
        system = next((each.content for each in request.messages if each.role == "system"), None)
        known = {
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "stop": list(request.stop) or None,
            "seed": request.seed,
            "system": system,
            **request.further,
        }
        apart = not self._chat and "system" in self._taken
        messages = [each for each in request.messages if not (apart and each.role == "system")]
        first: Any = [sent(each) for each in messages]
        if not self._chat:
            first = "\n\n".join(each.content for each in messages)
        return first, {name: known[name] for name in known if name in self._taken}

    async def close(self) -> None:
        """The caller's own object is the caller's to close."""


def as_model(given: Any) -> Model:
    """The object as a model: one that is a model already, one with `chat`, or a function of the prompt.

    Raises:
        ConfigError: it is none of these.
    """
    if callable(getattr(given, "complete", None)) and isinstance(getattr(given, "name", None), str):
        model: Model = given
        return model
    name = getattr(given, "name", None) or getattr(given, "__name__", None) or type(given).__name__
    if callable(getattr(given, "chat", None)):
        return OwnModel(given.chat, name, chat=True)
    if callable(given):
        return OwnModel(given, name)
    raise ConfigError(
        f"{given!r:.80} is not a model: expected a name, lo.Model(url, name), a function of the prompt or an "
        "object with a name and an async `complete` or `chat`"
    )


def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some builtins have none
        return frozenset()
