"""Options made of the settings: what a command can set is described once, in `loriner.config`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer
from typer.models import ParameterInfo

from loriner.setting_docs import Setting, at

Command = Callable[..., None]

_PREFIX = {"budget": "max-"}
"""What the names of a table's options begin with."""


def settled(
    *places: str, without: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator for a command that takes the settings at `places` as options.

    The function is called with the global options, the settings with what was given laid over the file, and
    its own parameters. A place is a setting or a table of them: `adapt.solver`, `budget`, `cache`.
    """
    settings = [each for place in places for each in at(place) if _has_option(each, without)]

    def decorate(function: Command) -> Command:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[2:]

        def command(context: typer.Context, **given: Any) -> None:
            told = replace(context.obj, flags=_nested(settings, given))
            function(told, told.settings(**told.flags), **{each.name: given[each.name] for each in own})

        context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
        flags = [_parameter(each) for each in settings]
        signature = inspect.Signature([context, *flags, *keyword])
        command.__signature__ = signature  # type: ignore[attr-defined]  # which typer reads
        command.__annotations__ = {}
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return decorate


def _has_option(setting: Setting, without: tuple[str, ...]) -> bool:
    """Whether one word can give the setting: a record stands in the file, or in `--set`."""
    return setting.place not in without and not is_dataclass(setting.kind)


def spelt(setting: Setting) -> list[str]:
    """The option's names: `--max-usd`, or `-k` and `--candidates`; a switch says what it changes."""
    table, _, name = setting.place.rpartition(".")
    no = "no-" if setting.default is True else ""
    long = f"--{no}{_PREFIX.get(table, '')}{setting.flag.name or name}".replace("_", "-")
    return [setting.flag.short, long] if setting.flag.short else [long]


def _parameter(setting: Setting) -> inspect.Parameter:
    kind, info, default = _read_as(setting)
    annotation = Annotated[kind, info]  # type: ignore[valid-type]  # known when the command is made
    return inspect.Parameter(
        _key(setting), inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _read_as(setting: Setting) -> tuple[Any, ParameterInfo, bool | None]:
    """The type that the command line reads, the option, and what it holds where it is not given."""
    if setting.kind is bool:
        return bool, typer.Option(*spelt(setting), help=_help(setting), show_default=False), False
    if setting.flag.argument:
        many = get_origin(setting.kind) is list or setting.name == "suite"
        info = typer.Argument(help=_help(setting), show_default=False, metavar="TASK")
        return (list[str] if many else str) | None, info, None
    kind, shape = _KINDS.get(setting.kind, (str, "|".join(setting.choices) or "TEXT"))
    if get_origin(setting.kind) is list:
        kind, shape = list[str], "NAMES"
    least = setting.least if setting.kind in (int, float) else None
    info = typer.Option(*spelt(setting), help=_help(setting), show_default=False, min=least, metavar=shape)
    return kind | None, info, None


_KINDS: dict[Any, tuple[Any, str]] = {int: (int, "N"), float: (float, "X"), Path: (Path, "PATH")}


def _help(setting: Setting) -> str:
    """The words under the field, with the default unless they say it, or it is none or a switch."""
    default = setting.default
    about = setting.words if get_origin(setting.kind) is list else setting.about
    if setting.kind is bool:
        return setting.flag.off if default else setting.about
    if default in (None, [], "") or "efault: " in about:
        return about
    return f"{about} Default: {'all' if isinstance(default, list) else default}."


def _key(setting: Setting) -> str:
    return setting.place.replace(".", "_")


def _nested(settings: list[Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, as `changed` takes it: values by name, those of tables by table."""
    nested: dict[str, Any] = {}
    for each in settings:
        value = given[_key(each)]
        if value is None or value is False or value == []:  # 0 is a value
            continue
        table, _, name = each.place.rpartition(".")
        within = nested.setdefault(table, {}) if table else nested
        within[name] = value if each.kind is not bool else not each.default
    return nested
