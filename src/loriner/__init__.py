"""Adapt a frozen language model to a task by rewriting the program around it."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loriner.api import Budget, LorinerError, Model, Price, Run, Score, Scored, Task, adapt, evaluate

__version__ = "0.2.0"
__all__ = ["Budget", "LorinerError", "Model", "Price", "Run", "Score", "Scored", "Task", "adapt", "evaluate"]


class _Package(ModuleType):
    """The package, whose functions `adapt` and `evaluate` stay apart from the modules of those names."""

    def __getattr__(self, name: str) -> Any:
        """The public names, loaded on first use: the command line's help must not pay for the engine."""
        if name in __all__:
            from loriner import api

            return getattr(api, name)
        raise AttributeError(f"module 'loriner' has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
