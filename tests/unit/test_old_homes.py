"""A home that release 0.2 wrote reads as it did then: reports, histories and versions.

It holds an adaptation that a cap ended, one that accepted a revision, one that left a candidate, a comparison
of three modes, a tag and a revert. `expected.json` is what that release said of it.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from loriner.cli import documents
from loriner.report.document import document
from loriner.report.pages import facts_of
from loriner.search.history import history, outcome
from loriner.store.check import check
from loriner.store.database import Store
from loriner.store.registry import Registry

ARCHIVE = Path(__file__).parent.parent / "data" / "home_of_0.2.tar.xz"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "home"


@pytest.fixture
def expected(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home.parent / "expected.json").read_text())
    return found


def test_reports_are_what_they_were(home: Path, expected: dict[str, Any]) -> None:
    store = Store.open(home)
    found = {run: document(facts_of(store, run)) for run in expected["reports"]}
    store.close()
    assert _without_sentences(found) == _without_sentences(expected["reports"])


def _without_sentences(reports: dict[str, Any]) -> dict[str, Any]:
    """The reports without the verdict: a release may put the same figures into other words."""
    found = json.loads(json.dumps(reports))
    return {run: {key: each[key] for key in each if key != "verdict"} for run, each in found.items()}


def test_the_outcome_of_an_adaptation_is_what_it_was(home: Path, expected: dict[str, Any]) -> None:
    store = Store.open(home)
    for run, printed in expected["printed"].items():
        found = documents.adaptation(outcome(store, run), "solver", store.spent(run))
        assert json.loads(json.dumps(found)) == printed
    store.close()


def test_a_comparison_keeps_its_arms(home: Path, expected: dict[str, Any]) -> None:
    store = Store.open(home)
    (run,) = (run for run, report in expected["reports"].items() if "arms" in report)
    arms = expected["reports"][run]["arms"]
    assert [arm.run_id for arm in history(store, run).arms] == [each["run"] for each in arms]
    store.close()


def _told(registry: Registry, task: str) -> list[dict[str, Any]]:
    """The versions as that release knew them: without the solver, which their runs tell."""
    found: list[dict[str, Any]] = json.loads(json.dumps([each.as_json() for each in registry.log(task)]))
    assert [each["evidence"].pop("solver") for each in found] == [""] * len(found)
    return found


def test_versions_of_the_repository_are_now_rows(home: Path, expected: dict[str, Any]) -> None:
    registry = Registry.open(home)
    log = {task: _told(registry, task) for task in registry.tasks()}
    assert log == expected["versions"]
    assert [registry.solver_of(each) for each in registry.log("words")] == ["solver"] * len(log["words"])
    assert {name: registry.resolve(name).sha for name in expected["names"]} == expected["names"]
    shutil.rmtree(registry.path)
    again = Registry.open(home)
    assert {name: again.resolve(name).sha for name in expected["names"]} == expected["names"]
    assert _told(again, "words") == expected["versions"]["words"]
    assert check(home).problems == ()
