"""A cap on money holds, and a run under one can always be resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Command
from stub_server import Stub

A_CALL = 20 * 5e-6 + 5 * 20e-6
"""US dollars of one call to the stub, at the price below."""


@pytest.fixture
def asked(folder: Path, stub: Stub, tmp_path: Path) -> list[str]:
    url, _, model = stub.url.rpartition("::")
    (tmp_path / "loriner.toml").write_text(
        f'[models.paid]\nbase_url = "{url}"\nmodel = "{model}"\n'
        "price = { input = 5.0, output = 20.0 }\ntimeout_s = 1.0\n"
    )
    return [str(folder), "--solver", "paid"]


def usage(loriner: Command) -> dict[str, float | None]:
    (run,) = json.loads(loriner("runs", "list", "--json").stdout)
    spent: dict[str, float | None] = run["usage"]
    return spent


def test_calls_that_queue_for_their_place_do_not_pass_the_cap(
    loriner: Command, asked: list[str], stub: Stub
) -> None:
    stub.delay_s = 0.05
    done = loriner("evaluate", *asked, "--max-usd", "0.0030")
    assert done.returncode == 4, done.stderr
    assert "0.003 US dollars is reached" in done.stderr
    assert 0.0020 < (usage(loriner)["usd"] or 0) <= 0.0030
    assert len(stub.calls) * A_CALL <= 0.0030 + 1e-9, "what the endpoint bills"


def test_a_cap_smaller_than_one_call_is_refused_before_it_is_sent(
    loriner: Command, asked: list[str], stub: Stub
) -> None:
    done = loriner("evaluate", *asked, "--max-usd", "0.0001")
    assert done.returncode == 2, done.stderr
    assert "holds no call" in done.stderr and "Give more" in done.stderr
    assert stub.calls == []


def test_an_adaptation_under_a_cap_scores_its_best_and_holds_it(
    loriner: Command, asked: list[str], stub: Stub
) -> None:
    sizes = ("--rounds", "9", "--feedback", "4", "--grade", "16", "--test", "10", "--accept", "mean")
    done = loriner("adapt", *asked, *sizes, "--max-usd", "0.0150", "--json")
    assert done.returncode == 4, done.stderr
    document = json.loads(done.stdout)
    assert document["stopped"]["missing"] == []
    assert [document[name]["test"]["n"] for name in ("seed", "best")] == [10, 10]
    assert len(stub.calls) * A_CALL <= 0.0150 + 1e-9


def test_a_cap_on_tokens_is_not_void_where_the_endpoint_counts_none(
    loriner: Command, asked: list[str], stub: Stub
) -> None:
    stub.counts = False
    done = loriner("evaluate", *asked, "--max-tokens", "300")
    assert done.returncode == 4, done.stderr
    assert done.stderr.count("reports no usage: tokens are estimated") == 1
    assert 0 < len(stub.calls) < 20
    spent = usage(loriner)
    assert spent["usd"] is None and (spent["prompt_tokens"] or 0) > 0


def test_a_prompt_that_is_too_long_leaves_the_run_priced_and_resumable(
    loriner: Command, asked: list[str], stub: Stub
) -> None:
    stub.status, stub.error = (
        lambda number, prompt: 400 if number == 1 else 200,
        "maximum context length is 9",
    )
    assert loriner("evaluate", *asked, "--max-usd", "0.0030").returncode == 4
    spent = usage(loriner)
    assert spent["usd"] == pytest.approx(((spent["calls"] or 0) - 1) * A_CALL)
    _resumed(loriner)


def test_a_call_that_timed_out_leaves_the_run_priced_and_resumable(
    loriner: Command, asked: list[str], stub: Stub
) -> None:
    stub.delay_s = 1.5
    assert loriner("evaluate", *asked, "--max-usd", "9").returncode == 3
    spent = usage(loriner)["usd"]
    assert spent is not None and spent >= 512 * 20e-6, "counted at the most that it may have cost"
    stub.delay_s = 0.0
    _resumed(loriner)


def _resumed(loriner: Command) -> None:
    (run,) = json.loads(loriner("runs", "list", "--json").stdout)
    resumed = loriner("evaluate", "--resume", run["run"], "--max-usd", "9", "--json")
    assert resumed.returncode == 0, resumed.stderr
