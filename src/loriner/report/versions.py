"""What a report was made with: versions of this package, of Python and of the core libraries."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from loriner import __version__

_LIBRARIES = ("aiohttp", "dulwich", "jinja2", "pydantic", "reasoning-gym", "xllamacpp")


def versions() -> tuple[tuple[str, str], ...]:
    """Names with versions; a library that is not installed is left out."""
    found = [("loriner", __version__), ("Python", platform.python_version()), ("system", platform.system())]
    return (*found, *((name, each) for name in _LIBRARIES if (each := _version(name))))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
