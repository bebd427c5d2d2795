"""The hostile programs again, under other users and on machines that have less."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import loriner

SUITE = Path(__file__).parent / "hostile_suite.py"
PACKAGE = Path(loriner.__file__).parent
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", "sh", "-c", 'exec "$@"', "sh")
"""Through a shell, since `setpriv` itself still has the powers of root when it starts a command."""


pytestmark = pytest.mark.slow


def run(command: Sequence[str | Path], source: Path) -> dict[str, Any]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=280, check=False, cwd="/"
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome


def check(outcome: dict[str, Any]) -> None:
    assert outcome["complaints"] == {}
    assert outcome["ordinary_wrong"] == []
    assert not any(outcome["left"].values()), outcome["left"]


def works(*command: str) -> bool:
    return (
        shutil.which(command[0]) is not None and subprocess.run(command, capture_output=True).returncode == 0
    )


def test_without_user_namespaces_the_kernel_level_holds() -> None:
    off = (
        'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all "$@"'
    )
    unshare = ("unshare", "--user", "--map-root-user", "sh", "-c", off, "sh")
    if not works(*unshare, "true"):
        pytest.skip("user namespaces cannot be switched off for a process on this machine")
    outcome = run([*unshare, sys.executable, SUITE, "auto"], PACKAGE.parent)
    if outcome["level"] < 2:
        pytest.skip("this machine has no Landlock or no seccomp")
    assert outcome["isolation"] == "kernel"
    check(outcome)


@pytest.fixture(scope="module")
def for_everyone() -> Iterator[tuple[Path, str]]:
    """A copy of what the suite needs that every user can read, and an interpreter that every user can run."""
    if os.geteuid() != 0:
        pytest.skip("the whole suite runs as an ordinary user already")
    for interpreter in (os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"):
        if works(*NOBODY, interpreter, "-c", "import sys; assert sys.version_info >= (3, 11)"):
            break
    else:
        pytest.skip("no Python >= 3.11 on this machine can be run by an ordinary user")
    with tempfile.TemporaryDirectory() as folder:  # not pytest's own, which only its user may enter
        copy_for_everyone(Path(folder))
        yield Path(folder), interpreter


def copy_for_everyone(root: Path) -> None:
    copy = root / "loriner"
    shutil.copytree(PACKAGE / "runtime", copy / "runtime", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(SUITE.parent, root / "hostile", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "__init__.py").touch()
    for name in ("records.py", "errors.py", "landlock_rules.py"):
        shutil.copy(PACKAGE / name, copy / name)
    root.chmod(0o755)


def test_as_an_ordinary_user_the_best_level_holds(for_everyone: tuple[Path, str]) -> None:
    root, interpreter = for_everyone
    outcome = run([*NOBODY, interpreter, root / "hostile" / SUITE.name, "auto"], root)
    assert outcome["level"] >= 2
    check(outcome)


def test_as_an_ordinary_user_an_older_landlock_is_enough(for_everyone: tuple[Path, str]) -> None:
    root, interpreter = for_everyone
    outcome = run([*NOBODY, interpreter, root / "hostile" / SUITE.name, "kernel", "1"], root)
    assert (outcome["isolation"], outcome["abi"]) == ("kernel", 1)
    check(outcome)


def test_as_root_without_namespaces_the_kernel_level_holds() -> None:
    if os.geteuid() != 0:
        pytest.skip("not root")
    outcome = run([sys.executable, SUITE, "kernel", "5"], PACKAGE.parent)
    assert (outcome["isolation"], outcome["abi"]) == ("kernel", 5)
    check(outcome)
