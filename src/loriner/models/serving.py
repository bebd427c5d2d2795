"""What a server serves, and where: looked up once an address answers and brings no completion."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from yarl import URL

from loriner.models.reply import Failed

_MOST_NAMED = 10
_NO_SUCH_MODEL = re.compile(
    r"\bmodel.*(not found|not exist|not available|no such|unknown|invalid|not a valid|could not find)"
    r"|(not find|unknown|invalid|not a valid|no such) model",
    re.IGNORECASE,
)
"""How endpoints say that they serve no model of a name."""
_TAILS = re.compile(r"/(chat/completions|completions|chat|models)$")
"""What people copy with the address."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a look at a server brought."""

    models: tuple[str, ...] = ()
    """Names at the address that answered with a list of them."""
    elsewhere: str = ""
    """That address, where it is not the one that was given."""

    def advice(self, model: str) -> str:
        """What to change; empty where nothing is known to be wrong."""
        if self.elsewhere:
            here = " and serves " + self._named(model) if self.models and model not in self.models else ""
            return f"An endpoint is at {self.elsewhere}{here}: change the address to that"
        if self.models and model not in self.models:
            return f"It does not serve {model!r} but {self._named(model)}"
        return ""

    def _named(self, model: str) -> str:
        near = difflib.get_close_matches(model, self.models, n=_MOST_NAMED)
        ordered = [*near, *(each for each in self.models if each not in near)]
        more = len(ordered) - _MOST_NAMED
        return ", ".join(ordered[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


async def look(base_url: str, get: Callable[[str], Awaitable[bytes | None]]) -> Found:
    """What is served at an address, or at those that may have been meant."""
    for url in [base_url, *_meant(base_url)]:
        models = _names(await get(f"{url}/models"))
        if models is not None:
            return Found(models, "" if url == base_url else url)
    return Found()


def is_misplaced(failed: Failed) -> bool:
    """Whether the address answers, and not as one that serves the model."""
    if failed.status in (400, 422):
        return _NO_SUCH_MODEL.search(failed.message) is not None or failed.code == "model_not_found"
    return failed.status in (404, 405) or (failed.status == 200 and not failed.usage and not failed.final)


def _meant(base_url: str) -> list[str]:
    """Addresses beside this one, likely ones first."""
    bare = _TAILS.sub("", base_url)
    origin = str(URL(base_url).origin())
    candidates = [bare, f"{bare}/v1", f"{origin}/v1", f"{origin}/api/v1"]
    return [each for each in dict.fromkeys(candidates) if each != base_url]


def _names(payload: bytes | None) -> tuple[str, ...] | None:
    """The names in a list of models; None where it is none."""
    try:
        listed = json.loads(payload or b"")
        found = listed["data"] if isinstance(listed, dict) else listed
        return tuple(str(each["id"]) for each in found)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
