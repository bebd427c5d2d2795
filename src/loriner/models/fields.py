"""What an endpoint has refused of a request's fields, and how requests are written for it since.

A field that an endpoint does not know is learned from its first refusal: renamed, or left out from then on.
What a program chose beyond the defaults, and the endpoint does not take, is that program's fault.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection
from dataclasses import fields
from typing import Any

from loriner.models.base import ModelRequest, further_asked
from loriner.models.reply import Failed

logger = logging.getLogger("loriner")

_UNSUPPORTED = re.compile(
    r"un(supported|known|recogni[sz]ed|expected)|not[ _](supported|permitted|allowed|recogni[sz]ed)"
    r"|not (support|accept|allow|recogni[sz]e)\b|n't (support|accept|allow|recogni[sz]e)\b"
    r"|(cannot find|no such) (field|parameter|argument)|extra (inputs|fields)|extra_forbidden",
    re.IGNORECASE,
)
"""How endpoints say that they do not take a field at all; other words are about its value."""
_OF_THE_REQUEST = (400, 404, 415, 422, 501)
"""How endpoints refuse a request that asks for more than they have, as an image of a model for texts."""
_LATER_NAME = {"max_tokens": "max_completion_tokens"}
_CONSEQUENCE = {
    "stop": "replies are cut here instead",
    "seed": "equal requests may bring unequal replies",
    "temperature": "the endpoint samples at its own",
    "max_completion_tokens": "replies may be longer than was asked for",
}
_DEFAULTS = {each.name: each.default for each in fields(ModelRequest)}


class Fields:
    """The sampling fields of requests to one endpoint."""

    def __init__(self, endpoint: str, settled: Collection[str] = ()) -> None:
        """
        Args:
            endpoint: what it is called where something is told.
            settled: fields that the settings give; they are neither written nor learned here.
        """
        self._endpoint = endpoint
        self._settled = frozenset(settled)
        self._refused: set[str] = set()
        self._lacking: set[str] = set()
        """What a program may ask for, and is not to be had here."""
        self._refused_stops: set[tuple[str, ...]] = set()

    def of(self, request: ModelRequest) -> dict[str, Any]:
        """The fields of a request, as far as the endpoint takes them."""
        wanted: dict[str, Any] = {
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "seed": request.seed,
        }
        if request.stop and request.stop not in self._refused_stops:
            wanted["stop"] = list(request.stop)
        wanted |= request.further
        for name, later in _LATER_NAME.items():
            if name in self._refused:
                wanted[later] = wanted[name]
        return {name: wanted[name] for name in wanted if name not in self._refused | self._settled}

    def learn(self, failed: Failed, request: ModelRequest, sent: Collection[str]) -> bool:
        """Whether the refusal is of a field that was sent, and the request may go again without it."""
        name = _named(failed, [each for each in sent if each not in self._settled])
        if name in request.further:  # without it the reply would not be what was asked for
            if _UNSUPPORTED.search(failed.message + " " + failed.code):
                self._lacking.add(name)
            return False
        if name and _UNSUPPORTED.search(failed.message + " " + failed.code):
            self._leave_out(name)
            return True
        if name == "stop":
            self._refused_stops.add(request.stop)
        return name == "stop"

    def chosen(self, failed: Failed, request: ModelRequest) -> bool:
        """Whether the refusal is of a value that whoever wrote the request chose."""
        if failed.status in _OF_THE_REQUEST and further_asked(request):
            return True
        asked = {"temperature": request.temperature, "max_tokens": request.max_tokens}
        asked |= {later: asked[name] for name, later in _LATER_NAME.items()}
        name = _named(failed, [each for each in asked if each not in self._settled])
        earlier = {later: first for first, later in _LATER_NAME.items()}.get(name, name)
        return bool(name) and asked[name] != _DEFAULTS[earlier]

    def lacks(self, request: ModelRequest) -> str:
        """Why a request need not be sent: it asks for what the endpoint is known not to have. Else empty."""
        name = next((each for each in request.further if each in self._lacking), "")
        return f"{self._endpoint} has no {name}, as it said before" if name else ""

    def _leave_out(self, name: str) -> None:
        if name in self._refused:  # by a request that was sent beside this one
            return
        self._refused.add(name)
        if later := _LATER_NAME.get(name):
            instead = f"it is sent as {later}"
        else:
            instead = f"it is no longer sent, and {_CONSEQUENCE[name]}"
        logger.warning("%s does not take the field %s: %s", self._endpoint, name, instead)


def cut(text: str, stop: Collection[str]) -> str:
    """The text before the first of these that it holds."""
    places = [place for each in stop if each and (place := text.find(each)) >= 0]
    return text[: min(places)] if places else text


def _named(failed: Failed, names: Collection[str]) -> str:
    """The field that a refusal is about: the one it gives as `param`, else the first that it names."""
    if failed.status not in (400, 422):
        return ""
    if failed.param in names:
        return failed.param
    found = re.search(rf"(?<!\w)({'|'.join(names)})(?!\w)", failed.message) if names else None
    return found[1] if found else ""
