"""How results look where they stand alone on a line of a notebook: as a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

Row = Sequence[object]


def table(header: Row, rows: Sequence[Row], caption: str = "") -> str:
    """An HTML table. Every cell is escaped: a program or an answer may hold markup."""
    head = "".join(f"<th>{escape(str(each))}</th>" for each in header)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def folded(summary: str, text: str) -> str:
    """A text that opens at a click."""
    return f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>"


def _cell(value: object) -> str:
    return f"<td>{'' if value is None else escape(str(value))}</td>"
