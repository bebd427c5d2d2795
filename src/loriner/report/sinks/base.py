"""The seam to a tracker of experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol


class Sink(Protocol):
    """A tracker with one run open."""

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Keeps figures by name. Steps grow."""
        ...

    def close(self) -> None:
        """Ends the run in the tracker."""
        ...


Open = Callable[[str, Path], Sink]
"""Opens a tracker for a run id; what it keeps on disk goes below the folder."""
