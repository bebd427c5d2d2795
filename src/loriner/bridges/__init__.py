"""Other frameworks, one module each, which imports its framework when it is imported. Nothing else does.

Import them as `from loriner.bridges.dspy import Loriner`. What each one does is in docs/bridges/.
"""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from loriner.errors import ConfigError


def framework(module: str, package: str, tried: str, *needed: str) -> Any:
    """The module of a framework, which has all the `needed` names, such as `Teleprompter.compile`.

    `tried` is the version of `package` that the bridge was last tested with.

    Raises:
        ConfigError: it is not installed, or its interface is another one.
    """
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise ConfigError(
            f"this bridge needs {package}, which is not installed: pip install {package}"
        ) from error
    if missing := [name for name in needed if not _has(found, name)]:
        raise ConfigError(
            f"{package} {_version(package)} has another interface than this bridge was written for: expected "
            f"{module}.{f', {module}.'.join(missing)}, found no such name: pip install {package}=={tried}"
        )
    return found


def _has(found: Any, path: str) -> bool:
    for name in path.split("."):
        if not hasattr(found, name):
            return False
        found = getattr(found, name)
    return True


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"
