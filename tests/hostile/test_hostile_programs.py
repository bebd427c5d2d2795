"""Hostile programs beside ordinary ones: each gets its verdict, the others stay right, nothing is left."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
from pathlib import Path

import pytest
from hostile_suite import Case, Outcome, cases, is_slow, run_suite

from loriner.runtime.levels import NEEDED

pytestmark = pytest.mark.xdist_group("hostile")


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    found = asyncio.run(run_suite("auto", cases()))
    if found.level < NEEDED:
        pytest.skip(f"this machine reaches sandbox level {found.level}; `loriner doctor` says why")
    return found


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_a_hostile_program_is_contained_and_judged(case: Case, outcome: Outcome) -> None:
    assert case.name not in outcome.complaints, outcome.complaints[case.name]


def test_ordinary_runs_alongside_stay_right(outcome: Outcome) -> None:
    assert outcome.n_ordinary == len(cases())
    assert not outcome.ordinary_wrong


def test_no_process_file_or_descriptor_is_left(outcome: Outcome) -> None:
    assert outcome.left == dict.fromkeys(outcome.left, "") | {"files": []}


def test_every_kind_of_the_catalogue_is_tried() -> None:
    assert {case.kind for case in cases()} == set(range(1, 29))
    assert len(cases()) >= 75


@pytest.mark.slow
def test_a_thousand_hostile_runs_leave_nothing_and_memory_flat() -> None:
    quick = [case for case in cases() if not is_slow(case)]
    asyncio.run(run_suite("auto", quick))
    gc.collect()
    before = _resident_bytes()
    found = asyncio.run(run_suite("auto", quick, repeat=-(-1000 // len(quick)), n_ordinary=200))
    gc.collect()
    if found.level < NEEDED:
        pytest.skip(f"this machine reaches sandbox level {found.level}")
    assert not found.complaints
    assert not found.ordinary_wrong
    assert found.left == dict.fromkeys(found.left, "") | {"files": []}
    assert _resident_bytes() - before < 16 * 2**20


def _resident_bytes() -> int:
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
