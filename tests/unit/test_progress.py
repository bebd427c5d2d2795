"""What is said while a run works."""

from __future__ import annotations

import asyncio

import pytest

from loriner.cli import progress
from loriner.events import RoundBegan


async def test_silence_is_told_and_each_time_more_patiently(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "SILENCE_S", 0.6)
    with progress.watching(0) as observe:
        for _ in range(10):
            await asyncio.sleep(0.05)
            observe(RoundBegan(number=1, parent_id=""))
        assert capsys.readouterr().err == ""
        await asyncio.sleep(2.7)
    told = capsys.readouterr().err.splitlines()
    assert all(line.startswith("no result for ") for line in told)
    assert 2 <= len(told) <= 4, "after 0.6, 1.2 and 2.4 s"


async def test_quiet_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "SILENCE_S", 0.05)
    with progress.watching(-1):
        await asyncio.sleep(0.4)
    assert capsys.readouterr().err == ""
