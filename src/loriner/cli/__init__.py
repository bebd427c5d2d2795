"""The command line: a thin face over the engine. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial

from loriner.cli.globals import hoisted, verb
from loriner.errors import ConfigError, Interrupted, LorinerError, StoreError

_INTERRUPTED = 130
"""What typer makes of Ctrl-C."""
_BEGIN_RUNS = ("adapt", "demo", "evaluate", "propose", "transfer", "compare", "compare-proposers")
_FULL = (errno.ENOSPC, errno.EDQUOT)


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns its exit code (docs/cli.md)."""
    from loriner.cli.app import app_for

    given = hoisted(sys.argv[1:] if arguments is None else arguments)
    if threading.current_thread() is threading.main_thread():  # being told to end is as good as Ctrl-C
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    os.umask(os.umask(0) | 0o002)  # what others may write, they can have us run
    _write_whatever_comes()
    asked, json = verb(given), "--json" in given
    command = partial(app_for(asked), args=given, prog_name="loriner")
    return exit_code(command, begins_run=asked in _BEGIN_RUNS, json=json)


def _write_whatever_comes() -> None:
    """Lets the streams spell what their encoding lacks: a command must not fail over its last line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def exit_code(command: Callable[[], object], *, begins_run: bool = False, json: bool = False) -> int:
    """Runs a command, says what stopped it, and returns its exit code.

    `begins_run`: the command makes a run; `json`: an error is a document on stdout too.
    """
    told = _told_as_document if json else _told
    try:
        command()
    except LorinerError as error:
        return told(type(error).__name__, str(error), error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
    except OSError as error:
        if error.filename is None:
            raise
        kind = StoreError if error.errno in _FULL else ConfigError
        return told(kind.__name__, f"{error.filename}: {error.strerror}", kind.exit_code)
    except KeyboardInterrupt as stop:
        return _interrupted(stop, begins_run)
    except SystemExit as done:
        if done.code == _INTERRUPTED:
            return _interrupted(done, begins_run)
        if json and (usage := getattr(done.__context__, "format_message", None)) is not None:
            _document("UsageError", usage(), ConfigError.exit_code)  # its words are on stderr already
        return done.code if isinstance(done.code, int) else int(bool(done.code))
    except _cancelled() as stop:  # an interrupt that asyncio did not turn back into one
        return _interrupted(stop, begins_run)
    return 0


def _told(kind: str, message: str, code: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    return code


def _told_as_document(kind: str, message: str, code: int) -> int:
    _document(kind, message, code)
    return _told(kind, message, code)


def _document(kind: str, message: str, code: int) -> None:
    from loriner.cli import documents

    documents.emit({"error": {"kind": kind, "message": message, "exit_code": code}})


def _cancelled() -> type[BaseException]:
    """Looked up only when an exception comes by: asyncio takes a while to import."""
    from asyncio import CancelledError

    return CancelledError


def _interrupted(stop: BaseException, begins_run: bool) -> int:
    """A run that had begun has said its name and how to go on with it."""
    exec(
        ""
    )  # Python forgets an interrupt that it saw within a generated class, and leaves the exit code to us
    early = begins_run and not any(map(_names_run, _led_to(stop)))
    print(f"error: interrupted{' before a run began: nothing was spent' * early}", file=sys.stderr)
    return Interrupted.exit_code


def _led_to(stop: BaseException) -> Iterator[BaseException]:
    each: BaseException | None = stop
    while each is not None:
        yield each
        each = each.__cause__ or each.__context__


def _names_run(error: BaseException) -> bool:
    return any(note.startswith("run ") for note in getattr(error, "__notes__", ()))
