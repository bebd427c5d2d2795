"""Models made of a Python function, for tests and dry runs of the plumbing."""

from __future__ import annotations

from collections.abc import Callable

from loriner.errors import ConfigError, ModelUnavailable, PromptRefused
from loriner.models.base import ModelReply, ModelRequest, further_asked

Script = Callable[[ModelRequest], str]


class ScriptedModel:
    """Replies with what `script` returns; what it raises is raised. A token is a word; it costs nothing."""

    def __init__(self, name: str, script: Script) -> None:
        self._name = name
        self._script = script

    @property
    def name(self) -> str:
        return self._name

    async def complete(self, request: ModelRequest) -> ModelReply:
        if asked := further_asked(request):
            raise PromptRefused(f"{self._name} writes texts: it has no {', '.join(asked)}")
        text = self._script(request)
        return ModelReply(
            text=text,
            prompt_tokens=sum(len(message.content.split()) for message in request.messages),
            completion_tokens=len(text.split()),
            usd=0.0,
        )

    async def close(self) -> None:
        """Holds nothing."""


def scripted(name: str) -> ScriptedModel:
    """The model `scripted:NAME`.

    Raises:
        ConfigError: no such script; lists those there are.
    """
    if name not in SCRIPTS:
        raise ConfigError(f"no script is called {name!r}; there are {', '.join(SCRIPTS)}")
    return ScriptedModel(f"scripted:{name}", SCRIPTS[name])


def _prompt(request: ModelRequest) -> str:
    """The last message of the user."""
    return next((m.content for m in reversed(request.messages) if m.role == "user"), "")


def _echo(request: ModelRequest) -> str:
    return (_prompt(request).splitlines() or [""])[-1]


def _count(request: ModelRequest) -> str:
    return str(len(_prompt(request).split()))


def _empty(request: ModelRequest) -> str:
    return ""


def _down(request: ModelRequest) -> str:
    raise ModelUnavailable("scripted:down never answers; choose another model")


SCRIPTS: dict[str, Script] = {"echo": _echo, "count": _count, "empty": _empty, "down": _down}
"""`echo`: the last line of the prompt. `count`: its number of words. `empty`: nothing. `down`: fails."""
