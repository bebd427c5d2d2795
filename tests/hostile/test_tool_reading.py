"""A task's own tool looks for the answers: in the items, in the scorer, and by every other name of theirs."""

from __future__ import annotations

import json
import py_compile
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from loriner.errors import TaskError
from loriner.tasks import hidden_files
from loriner.tasks.items import ItemTask
from loriner.tasks.jsonl import load_folder
from loriner.tasks.scorer import Worker, WorkerSpec

pytestmark = pytest.mark.skipif(
    bool(hidden_files.lack()), reason="files can be hidden from workers with Landlock alone"
)

TOOLS = """
import os
import sqlite3
import subprocess
from pathlib import Path

HERE = Path(__file__).parent


def read(path):
    return Path(path).read_text()


def cat(path):
    return subprocess.run(["cat", path], capture_output=True, text=True).stdout


def copied(path):
    os.link(path, HERE / "linked")
    return (HERE / "linked").read_text()


def renamed(path):
    os.rename(path, HERE / "renamed.jsonl")
    try:
        return (HERE / "renamed.jsonl").read_text()
    finally:
        os.rename(HERE / "renamed.jsonl", path)


def of_the_host(path):
    return Path(f"/proc/{os.getppid()}/root{path}").read_text()


def listed():
    return sorted(os.listdir(HERE))


def handbook(name):
    return next(line for line in (HERE / "handbook.jsonl").open() if name in line)


def database(name):
    with sqlite3.connect(HERE / "facts.sqlite") as facts:
        return facts.execute("SELECT value FROM facts WHERE name = ?", [name]).fetchone()[0]
"""
NAMES = ("read", "cat", "copied", "renamed", "of_the_host", "listed", "handbook", "database")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "task"
    made.mkdir()
    items = [{"id": n, "question": f"What is {n}?", "answer": f"sealed {n}"} for n in range(40)]
    (made / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    (made / "score.py").write_text("KEY = 'sealed'\ndef score(item, answer):\n    return 1.0\n")
    (made / "tools.py").write_text(TOOLS)
    (made / "handbook.jsonl").write_text('{"name": "leave", "text": "30 days"}\n')
    with sqlite3.connect(made / "facts.sqlite") as facts:
        facts.execute("CREATE TABLE facts (name TEXT, value TEXT)")
        facts.execute("INSERT INTO facts VALUES ('leave', '30 days')")
    facts.close()
    (made / "link.jsonl").symlink_to(made / "items.jsonl")
    (tmp_path / "way").symlink_to(made)
    tools = ", ".join(f'"tools.py:{name}"' for name in NAMES)
    (made / "task.toml").write_text(
        f'name = "facts"\nitems = "items.jsonl"\nscorer = "score.py:score"\ntools = [{tools}]\n'
    )
    return made


@pytest.fixture
async def task(folder: Path) -> AsyncIterator[ItemTask]:
    opened = load_folder(folder)
    yield opened
    await opened.close()


@pytest.mark.parametrize("way", ["read", "copied", "renamed", "of_the_host"])
@pytest.mark.parametrize("file", ["items.jsonl", "score.py"])
async def test_a_tool_cannot_read_the_items_or_the_scorer(
    task: ItemTask, folder: Path, way: str, file: str
) -> None:
    with pytest.raises(ValueError, match="PermissionError") as raised:
        found = await task.tools[way](path=str(folder / file))
        assert "sealed" not in found, found
    assert "sealed" not in str(raised.value)
    if way == "read":
        assert "a tool cannot read items.jsonl and score.py; give it what it needs in a file" in str(
            raised.value
        )


@pytest.mark.parametrize(
    "path", ["task/link.jsonl", "way/items.jsonl", "way/link.jsonl", "task/../task/items.jsonl"]
)
async def test_no_other_name_leads_there(task: ItemTask, folder: Path, path: str) -> None:
    with pytest.raises(ValueError, match="PermissionError"):
        await task.tools["read"](path=str(folder.parent / path))


async def test_a_second_name_of_the_file_opens_neither(folder: Path) -> None:
    (folder / "second.jsonl").hardlink_to(folder / "items.jsonl")
    task = load_folder(folder)
    for name in ("second.jsonl", "items.jsonl"):
        with pytest.raises(ValueError, match="PermissionError"):
            await task.tools["read"](path=str(folder / name))
    await task.close()


async def test_a_compiled_scorer_is_hidden_too(folder: Path) -> None:
    compiled = Path(py_compile.compile(str(folder / "score.py")) or "")
    assert compiled.suffix == ".pyc"
    task = load_folder(folder)
    with pytest.raises(ValueError, match="PermissionError"):
        await task.tools["read"](path=str(compiled))
    await task.close()


async def test_a_process_that_the_tool_starts_cannot_either(task: ItemTask, folder: Path) -> None:
    assert await task.tools["cat"](path=str(folder / "items.jsonl")) == ""
    assert "30 days" in await task.tools["cat"](path=str(folder / "handbook.jsonl"))


async def test_what_a_tool_needs_in_the_folder_and_beyond_it_reads(task: ItemTask, folder: Path) -> None:
    assert "30 days" in await task.tools["handbook"](name="leave")
    assert await task.tools["database"](name="leave") == "30 days"
    assert "items.jsonl" in await task.tools["listed"]()
    assert await task.tools["read"](path="/etc/passwd")


async def test_the_scorer_reads_its_file_as_before(task: ItemTask) -> None:
    assert (await task.score(task.questions("grade")[0], "x")).value == 1.0


async def test_a_tool_that_imports_the_scorer_is_refused_in_words(folder: Path) -> None:
    (folder / "tools.py").write_text("from score import KEY\ndef read(path):\n    return KEY\n")
    (folder / "task.toml").write_text(
        'name = "facts"\nitems = "items.jsonl"\nscorer = "score.py:score"\ntools = ["tools.py:read"]\n'
    )
    task = load_folder(folder)
    with pytest.raises(TaskError, match=r"cannot load 'read'.*a tool cannot read items.jsonl and score.py"):
        await task.tools["read"](path="")
    await task.close()


async def test_a_tool_in_the_scorers_own_file_reads_that_file_but_no_item(folder: Path) -> None:
    (folder / "score.py").write_text((folder / "score.py").read_text() + TOOLS)
    (folder / "task.toml").write_text(
        'name = "facts"\nitems = "items.jsonl"\nscorer = "score.py:score"\ntools = ["score.py:read"]\n'
    )
    task = load_folder(folder)
    with pytest.raises(ValueError, match="PermissionError"):
        await task.tools["read"](path=str(folder / "items.jsonl"))
    await task.close()


async def test_where_nothing_is_hidden_a_worker_reads_all(folder: Path) -> None:
    worker = Worker(WorkerSpec(file=folder / "tools.py", function="read"))
    reply = await worker.call(path=str(folder / "items.jsonl"))
    assert "sealed 7" in reply["returned"], "so the tests above would notice"
    await worker.close()
