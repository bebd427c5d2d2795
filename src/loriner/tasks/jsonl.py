"""A user's own task: a JSONL file of items and one scorer function, or a folder that names both.

Each line is an object with `id` (text or a whole number), `question` (text), `answer` (any JSON), optionally
`split`, and whatever else the scorer needs. Where no line has an `answer`, the scorer judges alone. A file
that is wrong anywhere is refused, with the line.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from loriner.errors import TaskError
from loriner.tasks import strict_json
from loriner.tasks.base import Tool
from loriner.tasks.function_signature import how_called
from loriner.tasks.items import Card, Item, ItemTask
from loriner.tasks.judge import Judge, JudgeScorer
from loriner.tasks.scorer import InProcess, InWorker, ScoreFunction, Scorer, Worker, WorkerSpec
from loriner.tasks.splits import DEFAULT_SHARES, SPLIT_WORDS, by_hash, read_shares

_KEYS = ("name", "items", "scorer", "judge", "split", "description", "tools", "seed_harness")


def from_jsonl(
    path: str | Path,
    scorer: ScoreFunction | Judge | str,
    *,
    name: str | None = None,
    description: str = "",
    split: Mapping[str, float] = DEFAULT_SHARES,
    seed_harness: str = "minimal",
) -> ItemTask:
    """The task of a JSONL file, named after the file unless told otherwise.

    `scorer` is a function of (item, answer), called in this process, `FILE.py:FUNCTION`, called in a worker
    process, or a `Judge`.

    Raises:
        TaskError: the file, the split or the scorer's file is wrong.
    """
    file = Path(path)
    card = Card(name=name or file.stem, description=description or describe(name), seed_harness=seed_harness)
    return from_items(read_items(file), scorer, card, split, str(file))


def from_items(
    items: Sequence[Item],
    scorer: ScoreFunction | Judge | str,
    card: Card,
    split: Mapping[str, float] = DEFAULT_SHARES,
    origin: str = "the items",
) -> ItemTask:
    """The task of items that were read. `origin` is what they are called in an error."""
    shares = read_shares(split, f"the split of {origin}")
    return ItemTask(card, by_hash(items, shares), _scorer_of(scorer))


def _scorer_of(given: ScoreFunction | Judge | str) -> Scorer:
    if isinstance(given, Judge):
        return JudgeScorer(given)
    return InWorker(function_spec(given, Path(), "scorer")) if isinstance(given, str) else InProcess(given)


def load_folder(path: str | Path) -> ItemTask:
    """The task of a folder with a `task.toml`: `name`, `items`, `scorer = "score.py:score"`, and optionally
    `split`, `description`, `seed_harness` and `tools = ["tools.py:lookup"]`.

    The scorer and the tools run in workers, never in this process. The tools' workers cannot read the items
    and the scorer, where the machine can refuse it (`hidden_files.lack` says why not).

    Raises:
        TaskError: a file is missing or wrong, with its place.
    """
    folder = Path(path)
    file = folder / "task.toml"
    settings = _read_settings(file)
    scorer = _scorer_in(settings, folder, file)
    specs = [function_spec(text, folder, f"a tool in {file}") for text in settings.get("tools", [])]
    scored_by = None if isinstance(scorer, JudgeScorer) else scorer.spec.file
    hidden = _hidden(folder / settings["items"], scored_by, {spec.file for spec in specs})
    workers = [Worker(replace(spec, hidden=hidden)) for spec in specs]
    card = Card(
        name=settings["name"],
        description=settings.get("description") or describe(settings["name"]),
        seed_harness=settings.get("seed_harness", "minimal"),
        tools={worker.spec.function: _tool(worker) for worker in workers},
    )
    shares = read_shares(settings.get("split", DEFAULT_SHARES), f"[split] in {file}")
    splits = by_hash(read_items(folder / settings["items"]), shares)
    return ItemTask(card, splits, scorer, workers)


def _scorer_in(settings: Mapping[str, Any], folder: Path, file: Path) -> InWorker | JudgeScorer:
    """The scorer that a task.toml names: a function, or a judge. Raises `TaskError` for a wrong one."""
    if "judge" not in settings:
        return InWorker(function_spec(settings["scorer"], folder, f"scorer in {file}"))
    judge = settings["judge"]
    if judge.keys() != {"model", "rubric"} or not all(isinstance(each, str) for each in judge.values()):
        raise TaskError(f"[judge] in {file}: expected model and rubric, each a text; found {judge!r:.120}")
    return JudgeScorer(Judge(judge["model"], judge["rubric"]))


def _hidden(items: Path, scorer: Path | None, tools: Collection[Path]) -> tuple[Path, ...]:
    """The files that hold answers, or may, and are no tool's own."""
    if scorer is None or scorer in tools:
        return (items.resolve(),)
    compiled = Path(importlib.util.cache_from_source(str(scorer)))
    older = compiled.parent.glob(f"{scorer.stem}.*.pyc")
    return (items.resolve(), scorer, *{compiled, *older})


def read_items(path: Path) -> list[Item]:
    """The items of a JSONL file, ids as text, blank lines left out.

    Raises:
        TaskError: the file cannot be read, holds no item, or a line is wrong.
    """
    text = _read_text(path)
    if shape := _other_shape(text):
        raise TaskError(f"{path} is {shape}; expected JSON Lines: one object per line")
    return items_in(
        text.split("\n"), f"{path}, line", f"{path} holds no item; expected one JSON object per line"
    )


def items_in(texts: Iterable[str], place: str, lacking: str) -> list[Item]:
    """The items of JSON texts, ids as text, blank texts left out.

    `place` and a number from 1 name a text in an error; `lacking` is the error where there is no item.

    Raises:
        TaskError: there is none, or a text is wrong.
    """
    items: dict[str, Item] = {}
    numbers: dict[str, int] = {}
    for number, text in enumerate(texts, 1):
        if not text.strip():
            continue
        item = _read_item(text, f"{place} {number}")
        if item["id"] in items:
            first = f"{place.rpartition(' ')[2]} {numbers[item['id']]}"
            raise TaskError(f"{place} {number}: the id {item['id']!r} stands in {first} already")
        items[item["id"]], numbers[item["id"]] = item, number
    if not items:
        raise TaskError(lacking)
    _require_answers_alike(place, items, numbers)
    return list(items.values())


def _require_answers_alike(place: str, items: Mapping[str, Item], numbers: Mapping[str, int]) -> None:
    """Refuses items where some items have a right answer and others have none."""
    lacking = [name for name, item in items.items() if "answer" not in item]
    if lacking and len(lacking) < len(items):
        found, unit = ", ".join(sorted(items[lacking[0]])[:8]), place.rpartition(" ")[2]
        raise TaskError(
            f"{place} {numbers[lacking[0]]}: no 'answer', which other {unit}s have; expected one in every "
            f"{unit}, or in none for a scorer that needs no right answer; found the keys {found}"
        )


def function_spec(text: str, folder: Path, where: str) -> WorkerSpec:
    """The function that `FILE.py:FUNCTION` names, the file relative to `folder`.

    Raises:
        TaskError: the text has another form, or there is no such file.
    """
    file, colon, function = text.rpartition(":")
    if not colon or not file.endswith(".py") or not function.isidentifier():
        raise TaskError(f"{where} is {text!r}; expected FILE.py:FUNCTION, such as score.py:score")
    path = (folder / file).resolve()
    if not path.is_file():
        raise TaskError(f"{where} names {path}, which is no file")
    return WorkerSpec(file=path, function=function)


def describe(name: str | None) -> str:
    """What is said of a task that says nothing of itself."""
    about = f" of the task {name}" if name else ""
    return f"Questions{about}. Each answer is text and is scored from 0 to 1 by the task's own scorer."


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise TaskError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise TaskError(f"{path}, line {line}: not UTF-8 (byte {error.object[error.start]:#04x})") from error


def _other_shape(text: str) -> str:
    """What a file is that is no JSON Lines, and how to make it so; empty where its lines should be read."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines or lines[0].lstrip()[0] not in "[{":
        return _table_shape(lines)
    try:
        value = strict_json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if isinstance(value, list):
        return f"one JSON array of {len(value)} items (jq -c '.[]' FILE writes its items as lines)"
    return "one JSON object over several lines" if len(lines) > 1 else ""


def _table_shape(lines: Sequence[str]) -> str:
    head = lines[0].casefold() if lines else ""
    for separator, name in ((",", "commas"), ("\t", "tabs"), (";", "semicolons")):
        columns = {each.strip().strip('"') for each in head.split(separator)}
        if "question" in columns and len(columns) > 1:
            return f"a table with {name} (loriner tasks new NAME --from FILE.csv makes a task of a CSV file)"
    return ""


def _read_item(line: str, where: str) -> Item:
    try:
        item = strict_json.loads(line)
    except ValueError as error:
        raise TaskError(f"{where}: expected a JSON object; {error}") from error
    except RecursionError as error:
        raise TaskError(f"{where}: nested too deeply") from error
    if not isinstance(item, dict):
        raise TaskError(f"{where}: expected a JSON object; found {_kind(item)}")
    for key in ("id", "question"):
        if key not in item:
            found = ", ".join(sorted(item)[:8]) or "none"
            raise TaskError(f"{where}: no {key!r}; expected id, question and answer; found the keys {found}")
    if isinstance(item["id"], bool) or not isinstance(item["id"], str | int) or item["id"] == "":
        raise TaskError(f"{where}: expected 'id' as text or a whole number; found {_kind(item['id'])}")
    if not isinstance(item["question"], str) or not item["question"].strip():
        raise TaskError(f"{where}: expected 'question' as text; found {_kind(item['question'])}")
    if "answer" in item and item["answer"] is None:
        raise TaskError(f"{where}: 'answer' is null; expected the right answer")
    if "split" in item and (not isinstance(item["split"], str) or item["split"] not in SPLIT_WORDS):
        words = ", ".join(SPLIT_WORDS)
        raise TaskError(f"{where}: 'split' is {json.dumps(item['split'])[:60]}; expected one of {words}")
    return {**item, "id": str(item["id"])}


def _kind(value: Any) -> str:
    names = {type(None): "null", bool: "true or false", list: "a list", dict: "an object", str: "text"}
    return f"{names.get(type(value), 'a number')} ({json.dumps(value)[:60]})"


def _read_settings(file: Path) -> dict[str, Any]:
    try:
        settings = tomllib.loads(_read_text(file))
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{file}: {error}") from error
    for key in settings:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected {', '.join(_KEYS)}"
            raise TaskError(f"{file}: unknown key {key!r}; {hint}")
    for key in ("name", "items"):
        if key not in settings:
            raise TaskError(f"{file}: no {key!r}; expected name, items and scorer, or [judge]")
    if ("scorer" in settings) == ("judge" in settings):
        found = "both" if "judge" in settings else "no 'scorer'"
        raise TaskError(f'{file}: {found}; expected scorer = "score.py:score", or a table [judge]')
    for key, value in settings.items():
        _check_type(key, value, file)
    return settings


def _check_type(key: str, value: Any, file: Path) -> None:
    if key == "split":
        fits, expected = isinstance(value, dict), "a table of shares"
    elif key == "judge":
        fits, expected = isinstance(value, dict), "a table of model and rubric"
    elif key == "tools":
        fits = isinstance(value, list) and all(isinstance(each, str) for each in value)
        expected = "a list of FILE.py:FUNCTION"
    else:
        fits, expected = isinstance(value, str) and bool(value.strip()), "text"
    if not fits:
        raise TaskError(f"{file}: expected {key!r} as {expected}; found {value!r:.80}")


def _tool(worker: Worker) -> Tool:
    async def tool(**arguments: Any) -> Any:
        reply = await worker.call(**arguments)
        if "error" in reply:
            raise ValueError(f"{worker.spec.function}: {reply['message']}")
        return reply["returned"]

    tool.__doc__ = how_called(worker.spec.file, worker.spec.function)
    return tool
