"""The one file that imports reasoning_gym; it only ever runs in a process of its own.

As a script it freezes items; in a worker (`worker.py`) it scores answers. The library scores some
answers by running them, prints, keeps state on its objects and draws from global generators: hence one fresh
process, one thread, PYTHONHASHSEED=0, and every generator seeded for each item.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import hashlib
import json
import math
import os
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

MAX_DRAWS = 1000
"""Draws of one split, and the `size` of every data set: acre's items depend on it."""

MAX_ANSWER = 20_000
"""Characters; a longer answer scores 0 unread."""


def scorer_for(argument: str) -> Callable[..., dict[str, Any]]:
    """The scorer of a family: `argument` is JSON with `family`, `settings`, `strict`, `runs_answers`."""
    options = json.loads(argument)
    dataset = _dataset(options["family"], 0, 10, options["settings"])

    def score(item: Mapping[str, Any], answer: Any) -> dict[str, Any]:
        if not isinstance(answer, str):
            return _verdict(0.0, options, "type_miss")
        text = answer.strip()
        if not text:
            return _verdict(0.0, options, "empty")
        if len(text) > MAX_ANSWER:
            return _verdict(0.0, options, "too_long")
        if options["runs_answers"]:
            sys.addaudithook(_refuse_side_effects)  # this process is a fork that ends with the call
        raw = float(dataset.score_answer(answer=text, entry=_as_scored(copy.deepcopy(dict(item)))))
        return _verdict(raw, options) if math.isfinite(raw) else _verdict(0.0, options, "not_finite")

    return score


def freeze(order: Mapping[str, Any]) -> None:
    """Writes the items of a family to `directory`, split after split, none with an earlier one's question.

    `order` holds family, settings, directory, version, n and `splits`: name, first seed and, where a family
    is split by its code, the share (from, to) of code hashes, in the order that decides who keeps a question.
    """
    directory = Path(order["directory"])
    manifest_file = directory / "manifest.json"
    manifest = json.loads(manifest_file.read_text()) if manifest_file.exists() else {"splits": {}}
    manifest |= {key: order[key] for key in ("family", "version", "settings", "n")}
    seen: set[str] = set()
    for split in order["splits"]:
        file = directory / f"{split['name']}.jsonl"
        if split["name"] not in manifest["splits"] or not file.exists():
            with _scratch_directory():
                drawn = _draw(order, split, seen)
            _write(file, drawn.pop("lines"))
            manifest["splits"][split["name"]] = drawn | {"sha256": _digest(file.read_bytes())}
            _write(manifest_file, json.dumps(manifest, indent=1))
        with file.open(encoding="utf-8") as lines:
            seen.update(_question_key(json.loads(line)["question"]) for line in lines)


@contextlib.contextmanager
def _scratch_directory() -> Iterator[None]:
    """An empty working directory: code samples of codeio write files."""
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        yield


def _draw(order: Mapping[str, Any], split: Mapping[str, Any], seen: set[str]) -> dict[str, Any]:
    lines: list[str] = []
    content = hashlib.sha256()
    counts = {"draws": 0, "repeated": 0, "unfit": 0}
    mine = set(seen)
    for index, entry in _entries(order["family"], order["settings"], split):
        if len(lines) == order["n"]:
            break
        counts["draws"] += 1
        key = _question_key(entry["question"]) if entry else ""
        if entry is None or key in mine:
            counts["unfit" if entry is None else "repeated"] += 1
            continue
        mine.add(key)
        item = {"id": f"{order['family']}/{split['name']}/{index:04d}"} | _json_data(entry)
        lines.append(json.dumps(item, ensure_ascii=False))
        content.update(json.dumps([item["question"], item["answer"]]).encode() + b"\n")
    if counts["unfit"] == counts["draws"]:
        raise RuntimeError(f"none of {counts['draws']} draws gave an item whose right answer scores 1")
    text = "".join(line + "\n" for line in lines)
    return {"lines": text, "n": len(lines), **counts, "digest": content.hexdigest()}


def _entries(
    family: str, settings: Mapping[str, Any], split: Mapping[str, Any]
) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """The draws of a split by index; None for one that cannot be used, or that the library fails to make."""
    dataset = _dataset(family, split["first_seed"], MAX_DRAWS, settings)
    for index in range(MAX_DRAWS):
        try:
            entry = _make(dataset, index)
            fits = _belongs(dataset, index, entry, split) and _gold_is_right(dataset, entry)
            fits = fits and ("share" not in split or _is_steady(dataset, index, entry))
        except Exception:  # noqa: BLE001 - a code sample of codeio may raise anything
            fits = False
        yield index, entry if fits else None


def _make(dataset: Any, index: int) -> dict[str, Any]:
    """The entry, with the global generators seeded for it."""
    import numpy as np

    random.seed(dataset.seed + index)
    np.random.seed((dataset.seed + index) % 2**32)
    entry: dict[str, Any] = dataset[index]
    return entry


def _is_steady(dataset: Any, index: int, entry: dict[str, Any]) -> bool:
    """Whether the entry stays the same when made again at other addresses: sets of objects follow those."""
    told = entry["question"], entry["answer"]
    moved = []
    for turn in range(1, 6):
        moved.append([bytearray(16 * turn) for _ in range(97 * turn)])
        again = _make(dataset, index)
        if (again["question"], again["answer"]) != told:
            return False
    return True


def _belongs(dataset: Any, index: int, entry: dict[str, Any], split: Mapping[str, Any]) -> bool:
    """Whether a code sample ran, gives the same everywhere, and is this split's; any other item is."""
    if "share" not in split:
        return True
    sample = random.Random(dataset.seed + index).choice(dataset._jsonl_data)  # as the library draws it
    source = sample["code_sample"] + sample["input_generator"]
    told = entry["question"] + entry["answer"]
    if sample["code_sample"] not in told or _MACHINE.search(told):
        return False
    if _UNSTEADY.search(source) or _ELSEWHERE.search(source):
        return False
    place = int(_digest(sample["code_sample"].encode())[:16], 16) / 2**64
    return _has_data(entry) and split["share"][0] <= place < split["share"][1]


_UNSTEADY = re.compile(
    r"\b(time|datetime|date|urandom|uuid\d?|secrets|getcwd|listdir|abspath|environ|open|platform|locale|tempfile"
    r"|default_rng|SystemRandom|RandomState|getpid|threading|multiprocessing|subprocess|socket)\b"
    r"|\bid\(|\.seed\(|\b(np|numpy)\.random"
)
"""Code whose results may depend on the clock, the machine, or a generator of its own: about one sample in
eight. Without it 9 of 1,800 items differed between two runs."""

_ELSEWHERE = re.compile(r"^ *(from|import) +(scipy|Bio|six|dateutil|matplotlib)\b", re.MULTILINE)
"""Imports of what reasoning-gym does not itself require: such a sample runs only where that is installed."""

_MACHINE = re.compile(r" at 0x|\bnp\.\w+\(")
"""Addresses, and numpy's numbers in the words of one of its major versions."""


def _gold_is_right(dataset: Any, entry: dict[str, Any]) -> bool:
    """Whether the entry, as it will be read back, gives its own right answer full marks."""
    gold = entry["answer"]
    if not isinstance(gold, str) or not gold.strip():
        return False
    read_back = _as_scored(json.loads(json.dumps(_json_data(entry))))
    return float(dataset.score_answer(answer=gold.strip(), entry=read_back)) == 1.0


def _as_scored(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry as its scorer expects it: two grid families compare tuples, which JSON does not have."""
    metadata = entry["metadata"]
    if metadata.get("source_dataset") in ("arc_agi", "rearc"):
        metadata["output"] = tuple(tuple(row) for row in metadata["output"])
    return entry


def _has_data(entry: dict[str, Any]) -> bool:
    """Whether a code sample ran: one that failed has no input, no output and the answer {}."""
    return bool(entry["metadata"]["input_data"]) or bool(entry["metadata"]["output_data"])


def _question_key(question: str) -> str:
    return _digest(" ".join(question.split()).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _json_data(value: Any) -> Any:
    """The value as JSON data: keys as text, fractions as text, sets sorted, numpy's numbers as numbers."""
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): _json_data(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json_data(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted((_json_data(each) for each in value), key=repr)
    if isinstance(value, Fraction):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _write(file: Path, text: str) -> None:
    """Writes whole or not at all, so that two runs that freeze the same thing do not meet."""
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(file)


def _verdict(raw: float, options: Mapping[str, Any], detail: str = "") -> dict[str, Any]:
    partial, strict = min(1.0, max(0.0, raw)), float(raw == 1.0)
    value = strict if options["strict"] else partial
    return {"value": value, "detail": detail, "extra": {"partial": partial, "strict": strict}}


def _dataset(family: str, seed: int, size: int, settings: Mapping[str, Any]) -> Any:
    import reasoning_gym

    return reasoning_gym.create_dataset(family, seed=seed, size=size, **settings)


_REFUSED = ("os.", "subprocess.", "socket.", "shutil.", "ctypes.", "pty.", "signal.", "sys.addaudithook")
_ALLOWED = ("os.listdir", "os.scandir", "os.walk")


def _refuse_side_effects(event: str, arguments: tuple[Any, ...]) -> None:
    """Stops an answer that a scorer runs from writing files, starting processes or opening sockets.

    A belt, not a wall: such an answer may still invent its own score.
    """
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if writes or (event.startswith(_REFUSED) and event not in _ALLOWED):
        raise PermissionError(f"an answer may not do {event}")


def freeze_all(orders: list[dict[str, Any]]) -> None:
    """Carries out the orders, each in a fork of its own: one import, and a clean start for each."""
    import reasoning_gym  # noqa: F401

    builtins.sum = _plain_sum
    for order in orders:
        pid = os.fork()
        if pid == 0:
            _freeze_and_exit(order)
        if os.waitpid(pid, 0)[1] != 0:
            sys.exit(1)


def _plain_sum(values: Iterable[Any], /, start: Any = 0) -> Any:
    """The sum from left to right, as before Python 3.12, which gives floats other last digits."""
    if isinstance(start, str | bytes | bytearray):
        raise TypeError("sum() can't sum text")
    for value in values:
        start = start + value
    return start


def _freeze_and_exit(order: dict[str, Any]) -> None:
    try:
        freeze(order)
    except BaseException as error:  # noqa: BLE001 - the fork ends here, whatever happened
        print(f"rg:{order['family']}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - some families print; open until the process ends
    freeze_all(json.load(sys.stdin))
