"""A reply that was not read: the advice that follows mends it, and it is shown where people look."""

from __future__ import annotations

import json
from pathlib import Path

from test_complaints import SIZES, revising, runs

from command import Command
from stub_server import Stub

REFUSED = """I ask for a \x1b[31mprogram.

<<<<<<< SEARCH
def solve(model, question): =======
def solve(model, question):
    return "refused, and shown"
>>>>>>> REPLACE
"""
ADVICE = "The line 'def solve(model, question): =======' is no marker: '=======' stands alone on its line."


def test_a_refused_reply_is_shown_and_its_advice_mends_it(
    loriner: Command, folder: Path, stub: Stub, tmp_path: Path
) -> None:
    stub.mind = revising(REFUSED)
    asked = (str(folder), "--solver", stub.url, "--proposer", stub.url)
    done = loriner("adapt", *asked, "--rounds", "2", *SIZES, "--json")
    assert done.returncode == 0, done.stderr
    second = [body["messages"][-1]["content"] for body in stub.calls if "round 1:" in str(body)][-1]
    assert ADVICE in second and "write it as" not in second
    run = runs(loriner)[0]["run"]
    candidates = json.loads(loriner("runs", "show", run, "--json").stdout)["candidates"]
    assert {each["code"] for each in candidates} == {"marker_sequence"}
    assert {each["reply"] for each in candidates} == {REFUSED}
    loriner("report", run, "-o", "report.html")
    shown = [loriner("runs", "show", run).stdout, loriner("propose", *asked).stdout]
    for each in (*shown, (tmp_path / "report.html").read_text()):
        assert "refused, and shown" in each and "\x1b" not in each
