"""What every test shares: hypothesis without a clock, since the machine may be busy, and no unknown skip."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

import pytest
from hypothesis import settings

from skips import allowed

settings.register_profile("loriner", deadline=None, database=None)
settings.load_profile("loriner")

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _judged((yield))


def _judged(report: Report) -> Report:
    """The report, failed if it is a skip whose reason is not on the list."""
    if report.skipped and not hasattr(report, "wasxfail") and isinstance(report.longrepr, tuple):
        file, line, reason = report.longrepr
        if not allowed(reason):
            report.outcome = "failed"
            report.longrepr = (
                f"{file}:{line}: skipped for a reason that tests/skips.py does not allow: {reason}"
            )
    return report
