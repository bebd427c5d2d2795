"""Adapt a frozen language model to a task by rewriting the program around it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loriner.api import *  # noqa: F403 - for type checkers: `__getattr__` gives these names

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """The public names, loaded on first use: the command line's help must not pay for the engine."""
    if name == "__all__" or not (name.startswith("_") or find_spec(f"{__name__}.{name}")):
        from loriner import api

        if name in ("__all__", *api.__all__):
            return getattr(api, name)
    raise AttributeError(f"module 'loriner' has no attribute {name!r}")


def __dir__() -> list[str]:
    from loriner import api

    return sorted({"__version__", *api.__all__})
