"""The pages that are made when the site is built: the reference, from the code, and the root folder's texts.

A hook of MkDocs: they exist in the site only, so they cannot differ from what they are made of.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pydantic import BaseModel

from loriner import api
from loriner.cli.app import COMMANDS, GROUPS, app_for
from loriner.train.settings import TrainConfig

ROOT = Path(__file__).parents[1]
TEXTS = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
    "CHANGELOG.md": "changes.md",
}
"""Files of the root folder, and what they are called in the site."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """All pages, with the generated ones."""
    reference = {"commands": commands, "training-settings": training_settings, "python": python}
    pages = {f"reference/{name}.md": made() for name, made in reference.items()}
    pages |= {page: _for_the_site((ROOT / name).read_text(encoding="utf-8")) for name, page in TEXTS.items()}
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def _for_the_site(text: str) -> str:
    """A text whose links lead from the root folder, with links that lead inside the site."""
    text = re.sub(r"\]\(docs/", "](", text)
    for name, page in TEXTS.items():
        text = text.replace(f"]({name})", f"]({page})")
    return re.sub(r"\[([^\]]+)\]\((?:examples|CITATION\.cff)[^)]*\)", r"\1", text)


def commands() -> str:
    """Every command with its arguments and options."""
    lines = [
        "# Commands",
        "",
        "This page is made from the program; `loriner COMMAND --help` prints the same. Global options, exit "
        "codes and the documents of `--json` are on [another page](../cli.md).",
    ]
    for name in (*COMMANDS, *GROUPS):
        found = typer.main.get_command(app_for(name)).commands[name]
        lines += _command(f"loriner {name}", found)
    return "\n".join(lines)


def _command(name: str, command: Any) -> Iterator[str]:
    below = getattr(command, "commands", None)
    if below is not None:
        yield from ("", f"## {name}", "", command.help or "")
        for each, inner in below.items():
            yield from _command(f"{name} {each}", inner)
        return
    parameters = [each for each in command.params if not getattr(each, "hidden", False)]
    arguments = [each for each in parameters if each.param_type_name == "argument"]
    usage = " ".join(
        [name, *("[OPTIONS]" for _ in parameters[len(arguments) :][:1]), *map(_placed, arguments)]
    )
    yield from ("", f"{'##' if name.count(' ') == 1 else '###'} {name}", "", f"```\n{usage}\n```", "")
    yield _prose(command.help or "")
    if parameters:
        yield from ("", "| | |", "| --- | --- |")
        yield from (_row(each) for each in parameters)


def _placed(argument: Any) -> str:
    name = argument.name.upper() + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        names = [_placed(parameter)]
    else:
        value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
        names = [f"{each}{value}" for each in (*parameter.opts, *parameter.secondary_opts)]
    return "| {} | {} |".format(
        ", ".join(map(_code, names)), _prose(parameter.help or "").replace("|", "&#124;")
    )


def _code(text: str) -> str:
    return f"<code>{html.escape(text).replace('|', '&#124;')}</code>"


def _prose(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;")


def training_settings() -> str:
    """Every table of a training file, with the words that stand under its fields."""
    lines = [
        "# Settings of training",
        "",
        "This page is made from the program. The file is named on the command line: `loriner train sft FILE` "
        "([how to train](../training.md)).",
    ]
    return "\n".join([*lines, *_tables("", TrainConfig)])


def _tables(place: str, table: type[BaseModel]) -> Iterator[str]:
    yield from ("", f"## `[{place}]`" if place else "## The file", "", _prose(table.__doc__ or ""), "")
    yield from ("| key | default | |", "| --- | --- | --- |")
    inner = []
    for name, field in table.model_fields.items():
        if found := _table_in(field.annotation):
            inner.append((f"{place}.{name}".lstrip("."), found))
        else:
            default = (
                "required" if field.is_required() else _default(field.get_default(call_default_factory=True))
            )
            yield f"| `{name}` | {default} | {_prose(field.description or '')} |"
    for each in inner:
        yield from _tables(*each)


def _default(value: Any) -> str:
    return "" if value is None or value is MISSING else f"`{value}`"


def _table_in(annotation: Any) -> type[BaseModel] | None:
    """The record that a field holds, also where it may be None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_table_in, getattr(annotation, "__args__", ()))), None)


def python() -> str:
    """The public names of the package, in their order."""
    names = "\n\n".join(f"::: loriner.api.{name}" for name in api.__all__)
    return (
        f"# Python\n\n```python\nimport loriner as lo\n```\n\nThis page is made from the code.\n\n{names}\n"
    )
