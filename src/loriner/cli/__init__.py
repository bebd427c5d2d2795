"""The command line: a thin face over the engine. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import errno
import signal
import sys
import threading
from collections.abc import Callable, Iterator

from loriner.cli.globals import hoisted, verb
from loriner.errors import ConfigError, Interrupted, LorinerError, StoreError

_INTERRUPTED = 130
"""What typer makes of Ctrl-C."""
_BEGIN_RUNS = ("adapt", "demo", "evaluate", "propose", "compare", "compare-proposers")
_FULL = (errno.ENOSPC, errno.EDQUOT)


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns its exit code (docs/cli.md)."""
    from loriner.cli.app import app_for

    given = hoisted(sys.argv[1:] if arguments is None else arguments)
    if threading.current_thread() is threading.main_thread():  # being told to end is as good as Ctrl-C
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    asked = verb(given)
    return exit_code(lambda: app_for(asked)(args=given, prog_name="loriner"), begins_run=asked in _BEGIN_RUNS)


def exit_code(command: Callable[[], object], *, begins_run: bool = False) -> int:
    """Runs a command, says what stopped it, and returns its exit code. `begins_run`: it makes a run."""
    try:
        command()
    except LorinerError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
    except OSError as error:
        if error.filename is None:
            raise
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return StoreError.exit_code if error.errno in _FULL else ConfigError.exit_code
    except KeyboardInterrupt as stop:
        return _interrupted(stop, begins_run)
    except SystemExit as done:
        if done.code == _INTERRUPTED:
            return _interrupted(done, begins_run)
        return done.code if isinstance(done.code, int) else int(bool(done.code))
    except _cancelled() as stop:  # an interrupt that asyncio did not turn back into one
        return _interrupted(stop, begins_run)
    return 0


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
