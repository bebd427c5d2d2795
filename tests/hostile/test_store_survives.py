"""What was acknowledged survives: kills, a full disk, a damaged file, other writers, other releases."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loriner.errors import StoreError
from loriner.records import Status, Trial
from loriner.store.check import check
from loriner.store.connection import FILE_NAME, connect, migrate, migrations, schema_version
from loriner.store.database import Store
from loriner.store.packing import pack

N_KILLS = 15

WRITER = """
import asyncio, os, sys
from pathlib import Path
from loriner.errors import StoreError
from loriner.records import Call, Status, Trial
from loriner.store.database import Store

home, run, name, n_trials = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])

async def worker(store, place):
    for n in range(place, n_trials, 8):
        question = f"{name}-{n}"
        call = Call(kind="model", request={"prompt": question}, reply="4" * 200, usd=0.0)
        trial = Trial(
            task="t", harness_id="h" * 64, question_id=question, status=Status.OK, score=1.0, calls=(call,)
        )
        await store.add_trial(run, "grade", trial)
        os.write(1, question.encode() + b"\\n")  # the acknowledgement, out of this process at once

async def main():
    store = Store.open(home)
    os.write(1, b"open\\n")
    await asyncio.gather(*(worker(store, place) for place in range(8)))
    store.close()

try:
    asyncio.run(main())
except StoreError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


def writer(home: Path, run: str, name: str, n_trials: int, *, file_bytes: int = 0) -> subprocess.Popen[str]:
    """A process that records trials and prints the question of each one that was acknowledged."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({file_bytes}, {file_bytes}))\n"
    script = (limit if file_bytes else "") + WRITER
    arguments = [sys.executable, "-c", script, str(home), run, name, str(n_trials)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def recorded(home: Path, run: str) -> dict[str, Trial]:
    store = Store.open(home)
    trials = {trial.question_id: trial for trial in store.trials(run, with_calls=True)}
    store.close()
    return trials


def integrity(home: Path) -> str:
    connection = sqlite3.connect(home / FILE_NAME)
    try:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()


def new_run(home: Path) -> str:
    store = Store.open(home)
    run = store.start_run("evaluate", config={}, seed=0)
    store.close()
    return run


def test_kill_9_at_random_moments_loses_nothing_acknowledged(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    chance = random.Random(20261129)
    acknowledged: set[str] = set()
    for n in range(N_KILLS):
        process = writer(tmp_path, run, f"kill{n}", 1_000_000)
        assert process.stdout is not None and process.stdout.readline() == "open\n"
        time.sleep(chance.uniform(0.0, 0.25))
        process.kill()
        out, _ = process.communicate()
        acknowledged |= set(out.splitlines())
    assert len(acknowledged) > N_KILLS, "the writers got some work done"
    found = recorded(tmp_path, run)
    assert acknowledged - set(found) == set()
    assert all(trial.calls[0].request == {"prompt": question} for question, trial in found.items())
    assert integrity(tmp_path) == "ok"


def test_several_processes_write_one_run(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    own = [writer(tmp_path, run, f"own{n}", 150) for n in range(3)]
    both = [writer(tmp_path, run, "shared", 150) for _ in range(2)]
    for process in own + both:
        assert process.communicate()[1] == ""
        assert process.returncode == 0
    wanted = {f"{name}-{n}" for name in ("own0", "own1", "own2", "shared") for n in range(150)}
    found = recorded(tmp_path, run)
    assert set(found) == wanted
    assert all(len(trial.calls) == 1 for trial in found.values())


def test_another_process_reads_while_one_writes(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    process = writer(tmp_path, run, "busy", 1_000_000)
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(50)]
        reader = Store.open(tmp_path)
        seen = {trial.question_id for trial in reader.trials(run)}
        assert {line.strip() for line in lines[1:]} <= seen
        later = next(line.strip() for line in process.stdout if line.strip() not in seen)
        assert later in {trial.question_id for trial in reader.trials(run)}
        reader.close()
    finally:
        process.kill()
        process.communicate()


def test_a_file_that_may_not_grow_ends_in_words(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    process = writer(tmp_path, run, "grow", 1_000_000, file_bytes=400_000)
    out, error = process.communicate()
    assert process.returncode == StoreError.exit_code
    assert "Nothing acknowledged is lost" in error and str(tmp_path) in error
    found = recorded(tmp_path, run)
    acknowledged = set(out.splitlines()) - {"open"}
    assert acknowledged and acknowledged <= set(found)
    assert integrity(tmp_path) == "ok"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of its own of 2 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small disk needs root and the right to mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_ends_in_words_and_space_lets_it_go_on(small_disk: Path) -> None:
    run = new_run(small_disk)
    (small_disk / "ballast").write_bytes(b"x" * 500_000)
    process = writer(small_disk, run, "full", 1_000_000)
    out, error = process.communicate()
    assert process.returncode == StoreError.exit_code
    assert "disk is full" in error
    acknowledged = set(out.splitlines()) - {"open"}

    (small_disk / "ballast").unlink()
    assert acknowledged and acknowledged <= set(recorded(small_disk, run))
    assert integrity(small_disk) == "ok"
    after = writer(small_disk, run, "after", 50)
    out, error = after.communicate()
    assert (after.returncode, error) == (0, "")
    assert {f"after-{n}" for n in range(50)} <= set(recorded(small_disk, run))


async def test_the_writer_goes_on_after_a_refused_row(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run = store.start_run("evaluate", config={}, seed=0)
    blocker = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    blocker.execute("CREATE TRIGGER t BEFORE INSERT ON trials BEGIN SELECT raise(FAIL, 'not now'); END")
    trial = Trial(task="t", harness_id="h" * 64, question_id="q", status=Status.OK, score=1.0)
    with pytest.raises(StoreError, match="not now"):
        await store.add_trial(run, "grade", trial)
    blocker.execute("DROP TRIGGER t")
    blocker.close()
    await asyncio.gather(*(store.add_trial(run, "grade", trial) for _ in range(3)))
    assert store.trials(run) == [trial]
    store.close()


def test_a_file_that_is_no_database_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"not a database at all, but long enough to look at" * 100)
    with pytest.raises(StoreError, match="no SQLite database"):
        Store.open(tmp_path)


def test_a_damaged_page_is_reported_in_words(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    writer(tmp_path, run, "rows", 400).communicate()
    path = tmp_path / FILE_NAME
    assert not path.with_name(FILE_NAME + "-wal").exists()
    content = bytearray(path.read_bytes())
    content[4096:] = random.Random(3).randbytes(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"damaged.*\.recover"):
        recorded(tmp_path, run)


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / FILE_NAME)
    other.execute("CREATE TABLE photos (id INTEGER)")
    other.commit()
    other.close()
    with pytest.raises(StoreError, match="another program's database"):
        Store.open(tmp_path)


def test_a_store_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    new_run(tmp_path)
    newer = sqlite3.connect(tmp_path / FILE_NAME)
    newer.execute("INSERT INTO schema_version VALUES (99, '2030-01-01')")
    newer.commit()
    newer.close()
    with pytest.raises(StoreError, match=r"newer release \(schema 99"):
        Store.open(tmp_path)


def test_a_place_that_cannot_be_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="another --home"):
        Store.open(tmp_path / "file" / "home")


def test_migrations_lead_from_each_version_to_the_newest(tmp_path: Path) -> None:
    steps = migrations()
    shapes = set()
    for version in range(len(steps) + 1):
        path = tmp_path / f"{version}.db"
        connection = connect(path)
        migrate(connection, path, steps[:version])
        assert schema_version(connection) == version
        migrate(connection, path, steps)
        assert schema_version(connection) == len(steps)
        shapes.add(tuple(connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()))
        connection.close()
    assert len(shapes) == 1


def test_an_old_store_tells_the_task_of_each_trial(tmp_path: Path) -> None:
    """Runs over several tasks had it behind the purpose, others in an event or in the summary."""
    path, steps = tmp_path / FILE_NAME, migrations()
    connection = connect(path)
    migrate(connection, path, steps[:1])
    connection.executescript("""
        INSERT INTO runs (id, command, status, config, seed, started, summary) VALUES
            ('one', 'adapt', 'done', '{}', 0, '', '{"task": "wrong"}'),
            ('many', 'evaluate', 'done', '{}', 0, '', '{"task": "suite"}'),
            ('old', 'evaluate', 'done', '{}', 0, '', '{"task": "rg:lcm"}'),
            ('bare', 'evaluate', 'failed', '{}', 0, '', '{}');
        INSERT INTO events VALUES (1, 1, 'task', '{"task": "rg:gcd", "digests": {}}');
        INSERT INTO harnesses (id) VALUES ('h');
        INSERT INTO questions (id) VALUES ('q');
        INSERT INTO trials VALUES
            (1, 1, 1, 'grade', 1, 0, 0, 'ok', '', 1.0, 0, 0),
            (2, 2, 1, 'grade rg:gcd', 1, 0, 0, 'ok', '', 0.5, 0, 0),
            (3, 2, 1, 'grade my task', 1, 0, 0, 'ok', '', 0.25, 0, 0),
            (4, 3, 1, 'test', 1, 0, 0, 'ok', '', 0.125, 0, 0),
            (5, 4, 1, 'grade', 1, 0, 0, 'ok', '', 0.0, 0, 0);
    """)
    body = pack(["4", "", ""])
    connection.executemany("INSERT INTO payloads VALUES (?, ?, NULL)", [(n, body) for n in range(1, 6)])
    connection.execute("INSERT INTO calls VALUES (2, 0, 3, 0, 'model', 'stop', 7, 1, 0.5, 1.0, 0)")
    connection.commit()
    connection.close()
    store = Store.open(tmp_path)
    found = [
        (run, trial.task, trial.score)
        for run in ("one", "many", "old", "bare")
        for trial in store.trials(run, purpose="test" if run == "old" else "grade")
    ]
    assert found == [
        ("one", "rg:gcd", 1.0),
        ("many", "my task", 0.25),
        ("many", "rg:gcd", 0.5),
        ("old", "rg:lcm", 0.125),
        ("bare", "", 0.0),
    ]
    assert store.usage("many").prompt_tokens == 7
    assert [each.started for each in store.trials("many")] == [None, None], "nobody noted it then"
    store.close()
    assert not check(tmp_path).problems


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    run = new_run(tmp_path)
    steps = [*migrations(), "CREATE TABLE extra (id INTEGER); INSERT INTO missing VALUES (1);"]
    connection = connect(path)
    with pytest.raises(StoreError, match="upgrading"):
        migrate(connection, path, steps)
    assert schema_version(connection) == len(steps) - 1
    assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'extra'").fetchone()
    connection.close()
    assert recorded(tmp_path, run) == {}
