"""Builds the distributions, checks them, and runs the command from the wheel in a fresh environment.

python .ci/release_check.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
WANTED = (
    "loriner/py.typed",
    "loriner/tasks/primes/items.jsonl",
    "loriner/store/schema.sql",
    "loriner/propose/system.txt",
    "loriner/models/adapters/trained.gguf",
    "loriner/models/adapters/trained.gguf.NOTICE",
    "loriner/models/adapters/trained.md",
)
"""Files that are no modules: the easiest ones to leave out of a wheel."""


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        dist, fresh = Path(scratch, "dist"), Path(scratch, "fresh")
        run(sys.executable, "-m", "build", "--outdir", dist, ROOT)
        run(sys.executable, "-m", "twine", "check", "--strict", *dist.iterdir())
        (wheel,) = dist.glob("*.whl")
        held = zipfile.ZipFile(wheel).namelist()
        if missing := [name for name in WANTED if name not in held]:
            sys.exit(f"{wheel.name} lacks {', '.join(missing)}")
        venv.create(fresh, with_pip=True)
        run(fresh / "bin" / "python", "-m", "pip", "install", "--quiet", wheel)
        command = fresh / "bin" / "loriner"
        version = run(command, "--version", cwd=scratch).split()[-1]
        if version != wheel.name.split("-")[1]:
            sys.exit(f"{wheel.name} says that it is version {version}")
        run(command, "tasks", "check", "primes", cwd=scratch)
        run(command, "doctor", "--require", "0", cwd=scratch)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {len(held)} files, installs and runs")


def run(*command: str | Path, cwd: str | Path = ROOT) -> str:
    """What a command prints. Ends this program if it fails."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    main()
