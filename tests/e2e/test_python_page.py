"""docs/python.md says what runs: its pieces, in their order, against a scripted endpoint."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from additions import TRAINING
from stub_server import Stub

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def pieces() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_the_page_runs_from_top_to_bottom(
    folder: Path,
    stub: Stub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, _, name = stub.url.partition("::")
    (tmp_path / "items.jsonl").write_bytes((folder / "items.jsonl").read_bytes())
    texts = ({"id": n, "question": f"A text of {n} words."} for n in range(60))
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(each) + "\n" for each in texts))
    (tmp_path / "training.toml").write_text(TRAINING.format(output="trained", solver=stub.url, folder=folder))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for piece in pieces():
        exec(piece.replace("http://localhost:8000/v1", url).replace("Qwen3.5-4B", name), names)
    told = capsys.readouterr().out
    assert names["run"].best.test.mean == 1.0 and names["again"].id != names["run"].id
    assert (names["before"].mean_score, names["after"].mean_score) == (0.0, 1.0)
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert "\n35\n" in told and "\n42\n<Ran ok: '2'" in told and "(n = 4) 15\n" in told
    assert "TrialDone(" in told and "\n35\n" in told
    assert "\nA remark.\n" in told
    assert (names["ran"].status, names["ran"].answer, len(names["ran"].calls)) == ("ok", "Abb", 2)
    assert (tmp_path / "trained" / "contexts.jsonl").exists()
