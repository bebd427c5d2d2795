"""A harness as a folder that runs with plain Python, without this package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from loriner.errors import ConfigError, StoreError
from loriner.records import Harness

BESIDE = ("tools.py", "run_me.py", "README.md")
"""What stands beside `harness.py`."""


def export_harness(harness: Harness, out_dir: Path) -> list[Path]:
    """The written files: the harness, its source untouched, and what it needs to run.

    Raises:
        ConfigError: the folder holds another harness, which is left alone.
        StoreError: the folder cannot be written.
    """
    target = out_dir / "harness.py"
    try:
        if target.exists() and target.read_bytes() != harness.source.encode():
            raise ConfigError(f"{target} is another harness: choose another folder, or delete it")
        out_dir.mkdir(parents=True, exist_ok=True)
        target.write_bytes(harness.source.encode())
        for name in BESIDE:
            (out_dir / name).write_bytes(files("loriner.store").joinpath("exported", name).read_bytes())
    except OSError as error:
        raise StoreError(f"writing the harness to {out_dir}: {error.strerror}") from error
    return [target, *(out_dir / name for name in BESIDE)]
