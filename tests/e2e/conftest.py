"""A small task, a local endpoint, and the command in an empty directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from additions import additions
from command import Command, command
from stub_server import Stub, serving


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving(Stub()) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task of 90 additions."""
    return additions(tmp_path)


@pytest.fixture
def loriner(tmp_path: Path) -> Command:
    return command(tmp_path, tmp_path / "home")
