"""Writes values from the feedback as Python code, whatever characters they contain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

WIDTH = 96
"""Characters of a line of code."""


def constant(name: str, value: str) -> str:
    """The assignment of a text, a line of code for each of its lines."""
    lines = value.splitlines(keepends=True) or [""]
    pieces = [piece for line in lines for piece in _pieces(line)]
    if len(pieces) == 1:
        return f"{name} = {pieces[0]!r}"
    return "\n".join([f"{name} = (", *(f"    {piece!r}" for piece in pieces), ")"])


def constants(name: str, values: Iterable[object]) -> str:
    """The assignment of a list, one value a line."""
    return "\n".join([f"{name} = [", *(f"    {value!r}," for value in values), "]"])


def table(name: str, values: Mapping[str, object]) -> str:
    """The assignment of a dict, one key a line."""
    return "\n".join([f"{name} = {{", *(f"    {key!r}: {value!r}," for key, value in values.items()), "}"])


def cut(text: str, limit: int) -> str:
    """The text, its middle left out where it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit * 2 // 3]} … {text[len(text) - limit // 3 :]}"


def _pieces(line: str) -> list[str]:
    return [line[at : at + WIDTH] for at in range(0, len(line), WIDTH)] or [""]
