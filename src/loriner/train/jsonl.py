"""JSON lines on disk: whole files appear at once or not at all, and a torn last line is no end of the road.

Lines end with a line feed alone: a text may hold other characters that count as line ends elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from loriner.errors import ConfigError


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Puts a file of these rows in the place of whatever was there."""
    write_text(path, "".join(map(_line, rows)))


def write_text(path: Path, text: str) -> None:
    """Puts a file of this text in the place of whatever was there; a kill leaves one or the other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8", newline="\n")
    partial.replace(path)


def append(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Adds rows at the end."""
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write("".join(map(_line, rows)))


def read(path: Path, *, torn: bool = False) -> list[dict[str, Any]]:
    """The rows of a file. `torn` leaves out a last line that was cut off while it was written.

    Raises:
        ConfigError: a line is no JSON object; it is named.
        OSError: the file cannot be read.
    """
    try:
        lines = split(path.read_bytes().decode(errors="replace" if torn else "strict"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            if torn and number == len(lines):
                break
            raise ConfigError(f"{path}, line {number}: not JSON ({error})") from None
        if not isinstance(row, dict):
            raise ConfigError(f"{path}, line {number}: expected an object, found {line[:40]!r}")
        rows.append(row)
    return rows


def split(text: str) -> list[str]:
    """The lines of a text, which only line feeds end."""
    return text.removesuffix("\n").split("\n") if text else []


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
