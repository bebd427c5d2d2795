"""Trackers are told of rounds and scores, and nothing that they do reaches the run."""

from __future__ import annotations

import importlib.util
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

import pytest

from guessing import SEED, Words, improving, opened
from loriner.errors import MissingExtra
from loriner.events import silent
from loriner.report.sinks.base import Open, Sink
from loriner.report.sinks.telling import MODULES, chosen, sinking
from loriner.search.adapt import adapt
from loriner.search.plan import Plan


class Kept:
    """A sink that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, dict[str, float]]] = []
        self.closed = False

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        self.told.append((step, dict(figures)))

    def close(self) -> None:
        self.closed = True


async def adapted(home: Path, sinks: Mapping[str, Open], close_s: float = 120.0) -> float:
    """The best grade score of an adaptation that tells these sinks."""
    place = opened(home, improving)
    with (
        place.run("adapt") as (run_id, _),
        sinking(sinks, run_id, silent, home=home, close_s=close_s) as observe,
    ):
        lab = place.evaluator(run_id, place.model("solver"), observe)
        plan = Plan(rounds=2, feedback=2, grade=12, test=8)
        found = await adapt(
            Words(12), SEED, lab, place.proposer("writer"), plan=plan, registry=place.registry
        )
    assert place.store.run(run_id).status == "done"
    place.store.close()
    return fmean(found.best.grade.values())


async def test_a_sink_is_told_of_each_round_and_of_the_end(tmp_path: Path) -> None:
    sink = Kept()
    best = await adapted(tmp_path, {"kept": lambda run_id, home: sink})
    assert sink.closed
    steps, told = zip(*sink.told, strict=True)
    assert list(steps) == list(range(len(told)))
    assert [each["round"] for each in told[:2]] == [1.0, 2.0]
    names = [[f"{name}_grade", f"{name}_test"] for name in ("seed", "best", "candidate")]
    assert [sorted(each) for each in told[2:]] == names[: len(told) - 2]
    assert told[3]["best_grade"] == best


async def test_sinks_that_fail_anywhere_leave_the_run_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken(Kept):
        def log(self, step: int, figures: Mapping[str, float]) -> None:
            raise ValueError("the tracker is full")

    def down(run_id: str, home: Path) -> Sink:
        raise ConnectionError("no tracker here")

    kept = Kept()
    sinks: dict[str, Open] = {"down": down, "broken": lambda *_: Broken(), "kept": lambda *_: kept}
    assert await adapted(tmp_path / "with", sinks) == await adapted(tmp_path / "without", {})
    said = capsys.readouterr().err
    assert "sink down failed" in said and "no tracker here" in said and "the tracker is full" in said
    assert said.count("sink broken") == 1
    assert kept.closed


async def test_a_sink_that_hangs_is_left_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release = threading.Event()

    def stuck(run_id: str, home: Path) -> Sink:
        release.wait(60)
        return Kept()

    await adapted(tmp_path, {"stuck": stuck}, close_s=0.5)
    assert "did not close within" in capsys.readouterr().err
    release.set()


def test_a_missing_library_is_said_before_anything_starts() -> None:
    absent = [name for name, module in MODULES.items() if importlib.util.find_spec(module) is None]
    if not absent:
        pytest.skip("all trackers are installed")
    with pytest.raises(MissingExtra, match=rf"pip install 'loriner\[{absent[0]}\]'"):
        chosen(absent[:1])


@pytest.mark.filterwarnings("ignore")
async def test_mlflow_keeps_the_figures_in_a_local_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("alembic")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    best = await adapted(tmp_path, chosen(["mlflow"]))
    with sqlite3.connect(tmp_path / "mlflow.db") as database:
        rows = database.execute("SELECT key, step, value FROM metrics ORDER BY key, step").fetchall()
        (status,) = database.execute("SELECT status FROM runs").fetchone()
    database.close()
    assert status == "FINISHED"
    assert [row for row in rows if row[0] == "round"] == [("round", 0, 1.0), ("round", 1, 2.0)]
    assert [row[2] for row in rows if row[0] == "best_grade"] == [best]


@pytest.mark.filterwarnings("ignore")
async def test_tensorboard_files_are_written_below_the_home(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    await adapted(tmp_path, chosen(["tensorboard"]))
    (file,) = (tmp_path / "tensorboard").rglob("events.out.*")
    assert b"best_test" in file.read_bytes()


@pytest.mark.filterwarnings("ignore")
async def test_weights_and_biases_writes_offline_below_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    await adapted(tmp_path, chosen(["wandb"]))
    (file,) = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    assert b"best_test" in file.read_bytes()


@pytest.mark.filterwarnings("ignore")
async def test_trackio_keeps_the_figures_in_its_local_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    pytest.importorskip("trackio")
    await adapted(tmp_path, chosen(["trackio"]))
    files = [each for each in (tmp_path / "trackio").rglob("*") if each.is_file()]
    assert any(b"best_test" in each.read_bytes() for each in files)
