"""What the training tests share. The tests that need a trainer are skipped where its extra is not
installed.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from stub_server import Stub, serving

os.environ.update(
    HF_HUB_OFFLINE="1",
    TRL_EXPERIMENTAL_SILENCE="1",
    TOKENIZERS_PARALLELISM="false",
    OMP_NUM_THREADS="1",
    CUDA_VISIBLE_DEVICES="",
)

MISSING = [name for name in ("torch", "trl", "peft", "datasets") if importlib.util.find_spec(name) is None]
NEEDS_TRAINER = {"test_training_line.py", "test_sft.py", "test_grpo.py", "test_training_guards.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips, with the reason, what cannot run here. Nothing else of this folder runs at the same time."""
    reason = f"training needs the extra [train]: {', '.join(MISSING)} not installed"
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        item.add_marker(pytest.mark.xdist_group("train"))
        if MISSING and item.path.name in NEEDS_TRAINER:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving(Stub()) as running:
        yield running


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a tiny random policy."""
    from tiny import make_policy

    return make_policy(tmp_path_factory.mktemp("policy"))
